"""kubewright: a Kubernetes operator framework for Python.

Objects and the client are here; built-in kinds are imported from their group's module, for example
``from kubewright.kinds.apps_v1 import Deployment``; exceptions from ``kubewright.errors``.
"""

from kubewright.api import (
    UNSET,
    Condition,
    FieldSelector,
    LabelSelector,
    ListMap,
    ListSet,
    Metadata,
    MetadataOnly,
    MicroTime,
    Model,
    OwnerReference,
    Quantity,
    Resource,
    Status,
    UnsetType,
    Unstructured,
    field,
)
from kubewright.client import (
    ALL_NAMESPACES,
    Client,
    InProcessTransport,
    JsonPatch,
    MergePatch,
    Options,
    RateLimit,
    Retry,
    StrategicPatch,
)
from kubewright.config import Config, Impersonation

__version__ = "0.1.0"

__all__ = [
    "ALL_NAMESPACES",
    "UNSET",
    "Client",
    "Condition",
    "Config",
    "FieldSelector",
    "Impersonation",
    "InProcessTransport",
    "JsonPatch",
    "LabelSelector",
    "ListMap",
    "ListSet",
    "MergePatch",
    "Metadata",
    "MetadataOnly",
    "MicroTime",
    "Model",
    "Options",
    "OwnerReference",
    "Quantity",
    "RateLimit",
    "Resource",
    "Retry",
    "Status",
    "StrategicPatch",
    "UnsetType",
    "Unstructured",
    "field",
]
