"""From a Python type to the CustomResourceDefinition that a cluster needs to serve it."""

from kubewright.crd.definition import crd_of
from kubewright.crd.schema import schema_of

__all__ = ["crd_of", "schema_of"]
