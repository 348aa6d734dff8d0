"""Operations over several reconciles: how far one is, told through the status; reads apart from writes; operands."""

from kubewright.operation.operand import load_operand, read_operand
from kubewright.operation.progress import PROGRESS, Phase, Progress, revision_of
from kubewright.operation.snapshot import Operation, Performed, ReadElsewhere, Writes, perform

__all__ = [
    "PROGRESS",
    "Operation",
    "Performed",
    "Phase",
    "Progress",
    "ReadElsewhere",
    "Writes",
    "load_operand",
    "perform",
    "read_operand",
    "revision_of",
]
