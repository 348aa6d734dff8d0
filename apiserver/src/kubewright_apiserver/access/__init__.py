"""Who may ask: certificates, tokens, users."""

from kubewright_apiserver.access.authentication import ANONYMOUS, Authenticator, User
from kubewright_apiserver.access.certificates import Authority, KeyPair, write_private
from kubewright_apiserver.access.serving import Certificates

__all__ = ["ANONYMOUS", "Authenticator", "Authority", "Certificates", "KeyPair", "User", "write_private"]
