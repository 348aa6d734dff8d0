"""Changes to objects: JSON, merge and strategic patches, server-side apply, and who owns which field."""

from kubewright_apiserver.patch.apply import apply, track
from kubewright_apiserver.patch.conflicts import Conflict, Conflicts
from kubewright_apiserver.patch.endpoint import Endpoint, Versions
from kubewright_apiserver.patch.fieldset import FieldSet
from kubewright_apiserver.patch.json import apply_json_patch, read_json_patch
from kubewright_apiserver.patch.managers import keep_times
from kubewright_apiserver.patch.merge import apply_merge_patch, read_merge_patch
from kubewright_apiserver.patch.refusals import rejected, rejected_text, sorted_json
from kubewright_apiserver.patch.scale import entries_of_parent, entries_of_scale
from kubewright_apiserver.patch.strategic import apply_strategic_patch, read_strategic_patch
from kubewright_apiserver.patch.typed import TypedError, described, equal

__all__ = [
    "Conflict",
    "Conflicts",
    "Endpoint",
    "FieldSet",
    "TypedError",
    "Versions",
    "apply",
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_patch",
    "described",
    "entries_of_parent",
    "entries_of_scale",
    "equal",
    "keep_times",
    "read_json_patch",
    "read_merge_patch",
    "read_strategic_patch",
    "rejected",
    "rejected_text",
    "sorted_json",
    "track",
]
