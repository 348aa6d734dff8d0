"""A Kubernetes API server inside a Python process: ``async with ApiServer() as server``."""

from kubewright_apiserver.access import User
from kubewright_apiserver.bootstrap import LoadError
from kubewright_apiserver.server import ApiServer

__version__ = "0.1.0"

__all__ = ["ApiServer", "LoadError", "User"]
