"""Who may ask: certificates, tokens, users."""

from kubewright_apiserver.access.authentication import ANONYMOUS, Authenticator, User
from kubewright_apiserver.access.certificates import Authority, KeyPair, server_context

__all__ = ["ANONYMOUS", "Authenticator", "Authority", "KeyPair", "User", "server_context"]
