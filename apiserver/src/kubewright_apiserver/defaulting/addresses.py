"""``ServiceAddresses``: the cluster addresses and node ports that Services share out among them.

One lives in each server; ``allocate_service`` takes from it, and what is stored keeps it true.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from random import Random
from typing import Any

__all__ = ["Allocation", "ServiceAddresses", "Unavailable", "family_of"]

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


class Unavailable(Exception):
    """An address or port cannot be had, with the reason in kube-apiserver's words."""

    @property
    def is_full(self) -> bool:
        """Whether nothing at all is left."""
        return str(self) == "range is full"


def family_of(address: str) -> str:
    """``IPv4`` or ``IPv6``."""
    return "IPv6" if ":" in address else "IPv4"


class ServiceAddresses:
    """Addresses of one range, or of one for each family, and node ports.

    As in kube-apiserver, what is chosen by chance comes from the upper part of a range as long as there is some: the
    lower part is for those who ask for a certain address.
    """

    def __init__(
        self,
        range: str = "10.0.0.0/24",
        node_ports: tuple[int, int] = (30000, 32767),
        *,
        random: Random,
        second_range: str = "",
    ) -> None:
        self._networks: list[Network] = [ip_network(cidr) for cidr in (range, second_range) if cidr]
        self._random = random
        self._first_port, self._last_port = node_ports
        self._addresses: set[str] = set()
        self._ports: set[int] = set()
        self.families: tuple[str, ...] = tuple(f"IPv{network.version}" for network in self._networks)
        """The families that the cluster has, the default one first."""

    def add_range(self, cidr: str) -> None:
        """Serve another range of a family that there is already, as a further ServiceCIDR does."""
        network = ip_network(cidr)
        if network not in self._networks:
            self._networks.append(network)

    def remove_range(self, cidr: str) -> None:
        """Take nothing more from a range; addresses taken stay taken."""
        network = ip_network(cidr)
        if network in self._networks:
            self._networks.remove(network)

    def adopt(self, service: dict[str, Any]) -> None:
        """Count what a stored Service has as taken."""
        self._addresses.update(_cluster_addresses(service))
        self._ports.update(_ports(service))

    def release(self, service: dict[str, Any]) -> None:
        """Give back what a deleted Service had."""
        self._addresses.difference_update(_cluster_addresses(service))
        self._ports.difference_update(_ports(service))

    def is_taken(self, address: str) -> bool:
        """Whether a Service has that address."""
        return str(ip_address(address)) in self._addresses

    def _network_of(self, address: Address) -> Network | None:
        return next((network for network in self._networks if _holds(network, address)), None)

    def _take_address(self, text: str) -> None:
        address = ip_address(text)
        if self._network_of(address) is None:
            raise Unavailable("the provided network does not match the current range")
        if str(address) in self._addresses:
            raise Unavailable("provided IP is already allocated")
        self._addresses.add(str(address))

    def _next_address(self, family: str) -> str:
        for network in self._networks:
            if f"IPv{network.version}" != family:
                continue
            for offset in self._offsets(_size(network), _reserved(network)):
                address = str(network[1 + offset])
                if address not in self._addresses:
                    self._addresses.add(address)
                    return address
        raise Unavailable("range is full")

    def _take_port(self, port: int) -> None:
        if not self._first_port <= port <= self._last_port:
            valid = f"{self._first_port}-{self._last_port}"
            raise Unavailable(f"provided port is not in the valid range. The range of valid ports is {valid}")
        if port in self._ports:
            raise Unavailable("provided port is already allocated")
        self._ports.add(port)

    def _next_port(self) -> int:
        size = self._last_port - self._first_port + 1
        for offset in self._offsets(size, _reserved_ports(size)):
            port = self._first_port + offset
            if port not in self._ports:
                self._ports.add(port)
                return port
        raise Unavailable("range is full")

    def _offsets(self, size: int, reserved: int) -> Iterator[int]:
        """All offsets in a range: first the upper part from a random place on, then the reserved lower part."""
        for first, count in ((reserved, size - reserved), (0, reserved)):
            if count > 0:
                start = self._random.randrange(count)
                for step in range(count):
                    yield first + (start + step) % count


class Allocation:
    """What one write takes and gives back: nothing is given back before ``commit``, all is undone by ``revert``.

    On a dry run nothing is taken: addresses and ports are stand-ins, as kube-apiserver's are.
    """

    def __init__(self, addresses: ServiceAddresses, *, is_dry: bool = False) -> None:
        self.addresses: ServiceAddresses = addresses
        self._is_dry = is_dry
        self._taken_addresses: list[str] = []
        self._taken_ports: list[int] = []
        self._leaving_addresses: list[str] = []
        self._leaving_ports: list[int] = []

    def take_address(self, address: str) -> None:
        """Take a certain address. Raises ``Unavailable``."""
        if self._is_dry:
            self._check_address(address)
            return
        self.addresses._take_address(address)
        self._taken_addresses.append(str(ip_address(address)))

    def _check_address(self, address: str) -> None:
        version = ip_address(address).version
        network = next(network for network in self.addresses._networks if network.version == version)
        if not _holds(network, ip_address(address)):
            text = f"the provided IP ({address}) is not in the valid range. The range of valid IPs is {network}"
            raise Unavailable(text)

    def next_address(self, family: str) -> str:
        """Take any address of a family. Raises ``Unavailable``."""
        if self._is_dry:
            networks = self.addresses._networks
            return str(next(network[0] for network in networks if f"IPv{network.version}" == family))
        address = self.addresses._next_address(family)
        self._taken_addresses.append(address)
        return address

    def take_port(self, port: int) -> None:
        """Take a certain node port. Raises ``Unavailable``."""
        if self._is_dry:
            if port in self.addresses._ports or port in self._taken_ports:
                raise Unavailable("provided port is already allocated")
        else:
            self.addresses._take_port(port)
        self._taken_ports.append(port)

    def next_port(self) -> int:
        """Take any node port. Raises ``Unavailable``."""
        port = max(self._taken_ports, default=32768) + 1 if self._is_dry else self.addresses._next_port()
        self._taken_ports.append(port)
        return port

    def give_back_address(self, address: str) -> None:
        """Give back an address when the write is done."""
        self._leaving_addresses.append(str(ip_address(address)))

    def give_back_port(self, port: int) -> None:
        """Give back a node port when the write is done."""
        self._leaving_ports.append(port)

    def commit(self) -> None:
        """The write is done."""
        if not self._is_dry:
            self.addresses._addresses.difference_update(self._leaving_addresses)
            self.addresses._ports.difference_update(self._leaving_ports)

    def revert(self) -> None:
        """The write failed: what was taken is free again."""
        if not self._is_dry:
            self.addresses._addresses.difference_update(self._taken_addresses)
            self.addresses._ports.difference_update(self._taken_ports)


def _holds(network: Network, address: Address) -> bool:
    if address.version != network.version or address not in network or address == network[0]:
        return False
    return network.version == 6 or address != network[-1]


def _size(network: Network) -> int:
    return network.num_addresses - (2 if network.version == 4 else 1)


def _reserved(network: Network) -> int:
    size = network.num_addresses
    return 0 if size <= 16 else min(max(16, size // 16), 256)


def _reserved_ports(size: int) -> int:
    return 0 if size <= 16 else min(max(16, size // 32), 128)


def _cluster_addresses(service: dict[str, Any]) -> list[str]:
    spec = service.get("spec") or {}
    return [str(ip_address(address)) for address in spec.get("clusterIPs") or () if address != "None"]


def _ports(service: dict[str, Any]) -> list[int]:
    spec = service.get("spec") or {}
    ports = [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]
    return [*ports, spec["healthCheckNodePort"]] if spec.get("healthCheckNodePort") else ports
