"""What tests of an operator stand on: virtual time, faults, and a control plane of the real Kubernetes binaries.

``make real`` builds the binaries; ``find_binaries`` says where they are.
"""

from kubewright.testing.binaries import KUBERNETES_VERSION, Binaries, BinariesNotFound, find_binaries
from kubewright.testing.control_plane import MissingExtra, RealControlPlane
from kubewright.testing.embedded import embedded_server
from kubewright.testing.jumping_loop import Deadlock, JumpingLoop, Livelock, OutsideVirtualTime, TimeLimitPassed
from kubewright.testing.kubectl import KubectlFailed
from kubewright.testing.launcher import StartFailed
from kubewright.testing.running import EmbeddedCluster, embedded_cluster, running
from kubewright.testing.trace import Trace
from kubewright.testing.virtual_time import (
    LeakedTasks,
    UnhandledErrors,
    VirtualTime,
    elapse,
    run_virtual,
    virtual_time,
    wait_idle,
)

__all__ = [
    "KUBERNETES_VERSION",
    "Binaries",
    "BinariesNotFound",
    "Deadlock",
    "EmbeddedCluster",
    "JumpingLoop",
    "KubectlFailed",
    "LeakedTasks",
    "Livelock",
    "MissingExtra",
    "OutsideVirtualTime",
    "RealControlPlane",
    "StartFailed",
    "TimeLimitPassed",
    "Trace",
    "UnhandledErrors",
    "VirtualTime",
    "elapse",
    "embedded_cluster",
    "embedded_server",
    "find_binaries",
    "run_virtual",
    "running",
    "virtual_time",
    "wait_idle",
]
