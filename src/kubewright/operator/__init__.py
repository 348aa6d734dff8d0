"""The operator: controllers as one value, and their life as one process."""

from kubewright.operator.background import Background
from kubewright.operator.blueprint import Lifespan
from kubewright.operator.cached import Cached
from kubewright.operator.crds import install_crds
from kubewright.operator.operator import Operator
from kubewright.operator.running import RunningOperator

__all__ = ["Background", "Cached", "Lifespan", "Operator", "RunningOperator", "install_crds"]
