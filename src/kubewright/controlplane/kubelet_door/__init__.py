"""What API servers ask of simulated kubelets: logs, exec, attach and port-forward, in this process or by HTTPS."""

from kubewright.controlplane.kubelet_door.door import Exec, KubeletDoor, Port
from kubewright.controlplane.kubelet_door.listening import ListeningDoor
from kubewright.controlplane.kubelet_door.ports import PortStream
from kubewright.controlplane.kubelet_door.remote_command import Streams
from kubewright.controlplane.kubelet_door.shell import simulated_exec

__all__ = ["Exec", "KubeletDoor", "ListeningDoor", "Port", "PortStream", "Streams", "simulated_exec"]
