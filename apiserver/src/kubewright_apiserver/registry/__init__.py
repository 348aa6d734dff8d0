"""What is served: built-in resources, those of CRDs, and how their objects behave."""

from kubewright_apiserver.registry.registry import Registry
from kubewright_apiserver.registry.served import Served, Subresource

__all__ = ["Registry", "Served", "Subresource"]
