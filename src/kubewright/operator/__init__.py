"""The operator: controllers as one value, and their life as one process."""

from kubewright.operator.background import Activity, Background
from kubewright.operator.blueprint import Lifespan
from kubewright.operator.cached import Cached
from kubewright.operator.crds import install_crds
from kubewright.operator.operator import Operator
from kubewright.operator.required import Required
from kubewright.operator.running import RunningOperator

__all__ = ["Activity", "Background", "Cached", "Lifespan", "Operator", "Required", "RunningOperator", "install_crds"]
