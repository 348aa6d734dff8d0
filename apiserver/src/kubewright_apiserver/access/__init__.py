"""Who may ask: users and what they show, roles, tokens, certificates; ``Access`` is asked first of all."""

from kubewright_apiserver.access.accounts import Claimed, Lifetime
from kubewright_apiserver.access.attributes import Attributes, is_plain
from kubewright_apiserver.access.audit import Trail, check_policy
from kubewright_apiserver.access.authorization import MODES, Decision, read_modes
from kubewright_apiserver.access.certificates import Authority, KeyPair, write_private
from kubewright_apiserver.access.control import LOCAL, Access, AccessOptions, Asked, Peer, Visit
from kubewright_apiserver.access.credentials import read_token_file
from kubewright_apiserver.access.escalation import check_escalation
from kubewright_apiserver.access.front_proxy import FrontProxy
from kubewright_apiserver.access.openid import openid_document
from kubewright_apiserver.access.policy import bootstrap_policy
from kubewright_apiserver.access.serving import Certificates
from kubewright_apiserver.access.tokens import BadToken, new_signing_key, public_keys
from kubewright_apiserver.access.user import ADMIN, ANONYMOUS, MASTERS, User

__all__ = [
    "ADMIN",
    "ANONYMOUS",
    "LOCAL",
    "MASTERS",
    "MODES",
    "Access",
    "AccessOptions",
    "Asked",
    "Attributes",
    "Authority",
    "BadToken",
    "Certificates",
    "Claimed",
    "Decision",
    "FrontProxy",
    "KeyPair",
    "Lifetime",
    "Peer",
    "Trail",
    "User",
    "Visit",
    "bootstrap_policy",
    "check_escalation",
    "check_policy",
    "is_plain",
    "new_signing_key",
    "openid_document",
    "public_keys",
    "read_modes",
    "read_token_file",
    "write_private",
]
