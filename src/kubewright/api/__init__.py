"""What an object is: models, resources, metadata, conditions, selectors, quantities, patches. No I/O."""

from kubewright.api.clock import now, using_clock
from kubewright.api.column import Column, ScalePaths
from kubewright.api.condition import Condition, Status
from kubewright.api.key import Key
from kubewright.api.merge import Merge, MergeConflict, three_way_merge, two_way_merge
from kubewright.api.metadata import ListMetadata, ManagedFieldsEntry, Metadata, OwnerReference
from kubewright.api.microtime import MicroTime
from kubewright.api.model import UNSET, ListMap, ListSet, Model, UnsetType, field, omit_empty
from kubewright.api.overlay import Shape, overlay, shape_of
from kubewright.api.patch import (
    PatchError,
    apply_json_patch,
    apply_merge_patch,
    json_patch,
    merge_patch,
    same,
)
from kubewright.api.quantity import Quantity
from kubewright.api.resource import ApiResource, MetadataOnly, Resource, Unstructured
from kubewright.api.selector import (
    FieldSelector,
    LabelSelector,
    LabelSelectorRequirement,
    field_selector_text,
    label_selector_text,
)
from kubewright.api.wire import base_of, changes, decode, encode, read_version, to_dict

__all__ = [
    "UNSET",
    "ApiResource",
    "Column",
    "Condition",
    "FieldSelector",
    "Key",
    "LabelSelector",
    "LabelSelectorRequirement",
    "ListMap",
    "ListMetadata",
    "ListSet",
    "ManagedFieldsEntry",
    "Merge",
    "MergeConflict",
    "Metadata",
    "MetadataOnly",
    "MicroTime",
    "Model",
    "OwnerReference",
    "PatchError",
    "Quantity",
    "Resource",
    "ScalePaths",
    "Shape",
    "Status",
    "UnsetType",
    "Unstructured",
    "apply_json_patch",
    "apply_merge_patch",
    "base_of",
    "changes",
    "decode",
    "encode",
    "field",
    "field_selector_text",
    "json_patch",
    "label_selector_text",
    "merge_patch",
    "now",
    "omit_empty",
    "overlay",
    "read_version",
    "same",
    "shape_of",
    "three_way_merge",
    "to_dict",
    "two_way_merge",
    "using_clock",
]
