"""Tables: what people see of objects, a row for each, in the columns that its kind has."""

from kubewright_apiserver.tables.ages import human_duration
from kubewright_apiserver.tables.columns import Shape
from kubewright_apiserver.tables.custom import custom_scale_shape, custom_shape
from kubewright_apiserver.tables.kinds import builtin_shape, is_untabled

__all__ = ["Shape", "builtin_shape", "custom_scale_shape", "custom_shape", "human_duration", "is_untabled"]
