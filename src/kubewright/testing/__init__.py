"""What tests of an operator stand on: a control plane of the real Kubernetes binaries, started and gone in seconds.

``make real`` builds the binaries; ``find_binaries`` says where they are.
"""

from kubewright.testing.binaries import KUBERNETES_VERSION, Binaries, BinariesNotFound, find_binaries
from kubewright.testing.control_plane import MissingExtra, RealControlPlane
from kubewright.testing.kubectl import KubectlFailed
from kubewright.testing.launcher import StartFailed

__all__ = [
    "KUBERNETES_VERSION",
    "Binaries",
    "BinariesNotFound",
    "KubectlFailed",
    "MissingExtra",
    "RealControlPlane",
    "StartFailed",
    "find_binaries",
]
