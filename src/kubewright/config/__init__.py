"""Where the API server is and as whom to talk to it: kubeconfig, credentials, TLS, proxies."""

from kubewright.config.config import Config
from kubewright.config.credentials import Anonymous, BearerToken, Credentials, Password, TokenFile
from kubewright.config.exec_plugin import ExecPlugin, PluginCommand
from kubewright.config.impersonation import Impersonation
from kubewright.config.oidc import Oidc, OidcClient
from kubewright.config.tls import TlsConfig, TlsContext

__all__ = [
    "Anonymous",
    "BearerToken",
    "Config",
    "Credentials",
    "ExecPlugin",
    "Impersonation",
    "Oidc",
    "OidcClient",
    "Password",
    "PluginCommand",
    "TlsConfig",
    "TlsContext",
    "TokenFile",
]
