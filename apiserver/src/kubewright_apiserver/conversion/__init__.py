"""Built-in objects in other versions of their kind: what both say in fields, and what one of them hides."""

from kubewright_apiserver.conversion.autoscaling import autoscaler_in_v1, autoscaler_in_v2, without_hidden
from kubewright_apiserver.conversion.versions import converted, stored_version

__all__ = ["autoscaler_in_v1", "autoscaler_in_v2", "converted", "stored_version", "without_hidden"]
