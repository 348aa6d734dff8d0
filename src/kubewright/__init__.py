"""kubewright: a Kubernetes operator framework for Python.

Objects, the client, controllers and the operator are here; built-in kinds are imported from their group's module,
for example ``from kubewright.kinds.apps_v1 import Deployment``; exceptions from ``kubewright.errors``.
"""

from kubewright.api import (
    UNSET,
    Column,
    Condition,
    FieldSelector,
    Key,
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
    ScalePaths,
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
from kubewright.controller import Context, Controller, Watch
from kubewright.errors import Terminal
from kubewright.operator import Background, Cached, Operator

__version__ = "0.1.0"

__all__ = [
    "ALL_NAMESPACES",
    "UNSET",
    "Background",
    "Cached",
    "Client",
    "Column",
    "Condition",
    "Config",
    "Context",
    "Controller",
    "FieldSelector",
    "Impersonation",
    "InProcessTransport",
    "JsonPatch",
    "Key",
    "LabelSelector",
    "ListMap",
    "ListSet",
    "MergePatch",
    "Metadata",
    "MetadataOnly",
    "MicroTime",
    "Model",
    "Operator",
    "Options",
    "OwnerReference",
    "Quantity",
    "RateLimit",
    "Resource",
    "Retry",
    "ScalePaths",
    "Status",
    "StrategicPatch",
    "Terminal",
    "UnsetType",
    "Unstructured",
    "Watch",
    "field",
]
