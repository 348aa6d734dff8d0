"""``Lodging``: what a simulated node gives its pods: addresses, and images that it has pulled before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from ipaddress import IPv4Network

from kubewright.controlplane.kubelet.simulated_node import SimulatedNode
from kubewright.errors import Terminal
from kubewright.kinds.core_v1 import Pod

__all__ = ["Lodging"]


class Lodging:
    """The pods' side of one simulated node.

    ``pods`` gives the pods that live there: their addresses are taken, also after a new start of the kubelet.
    """

    def __init__(self, node: SimulatedNode) -> None:
        self.node: SimulatedNode = node
        self._range = IPv4Network(node.pod_range)
        self._by_pod: dict[str, str] = {}
        self._taken: set[str] = set()
        self._next = 2
        self._knows_pods = False
        self._images: set[str] = set()

    @property
    def address(self) -> str:
        """The node's own address."""
        return self.node.address

    def learn(self, pods: Callable[[], Iterable[Pod]]) -> None:
        """Know who lives here already; asked once."""
        if not self._knows_pods:
            self._knows_pods = True
            for pod in pods():
                if pod.status.pod_ip and not pod.spec.host_network:
                    self._by_pod[pod.metadata.uid] = pod.status.pod_ip
                    self._taken.add(pod.status.pod_ip)

    def pod_address(self, pod: Pod) -> str:
        """The address of a pod: always the same for one pod, and of no other that lives."""
        address = self._by_pod.get(pod.metadata.uid)
        if address is None:
            address = self._by_pod[pod.metadata.uid] = self._free()
            self._taken.add(address)
        return address

    def _free(self) -> str:
        """The next free address; one that was given back is not given away at once."""
        count = self._range.num_addresses
        for _ in range(count):
            number, self._next = self._next, self._next + 1 if self._next < count - 2 else 2
            if (address := str(self._range[number])) not in self._taken:
                return address
        raise Terminal(f"node {self.node.name} has no address left in {self.node.pod_range}")

    def release(self, uid: str) -> None:
        """Give back what a pod had that is gone."""
        address = self._by_pod.pop(uid, None)
        if address is not None:
            self._taken.discard(address)

    def has_image(self, image: str) -> bool:
        """Whether an image has been pulled before."""
        return image in self._images

    def keep_image(self, image: str) -> None:
        """Note that an image was pulled."""
        self._images.add(image)
