"""Warnings about ports of containers that get in each other's way."""

from __future__ import annotations

from collections.abc import Iterator

from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.validation.rules import Object

__all__ = ["port_warnings"]


def port_warnings(containers: list[tuple[str, Object]]) -> Iterator[str]:
    """Warnings about the ports of a pod's containers."""
    ports = [
        (f"{path}.ports[{index}]", port)
        for path, container in containers
        for index, port in enumerate(container.get("ports") or ())
    ]
    known: dict[tuple[int, str], list[tuple[str, Object]]] = {}
    for path, port in ports:
        if port.get("hostIP") and not port.get("hostPort"):
            yield f"{path}: hostIP set without hostPort: {_printed(port)}"
        others = known.setdefault((port.get("containerPort", 0), port.get("protocol", "")), [])
        for where, other in others:
            if clash := _clash(port, other):
                yield f"{path}: {clash} port definition with {where}"
        others.append((path, port))
    yield from _name_warnings(ports)


def _clash(port: Object, other: Object) -> str:
    host, at = port.get("hostPort") or 0, port.get("hostIP") or ""
    other_host, other_at = other.get("hostPort") or 0, other.get("hostIP") or ""
    if (host, at) == (other_host, other_at):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    return "dangerously ambiguous" if host == other_host and bool(at) != bool(other_at) else ""


def _printed(port: Object) -> str:
    named = (("Name", "name", ""), ("HostPort", "hostPort", 0), ("ContainerPort", "containerPort", 0))
    rest = (("Protocol", "protocol", ""), ("HostIP", "hostIP", ""))
    return "{" + " ".join(f"{name}:{port.get(field) or zero}" for name, field, zero in (*named, *rest)) + "}"


def _name_warnings(ports: list[tuple[str, Object]]) -> Iterator[str]:
    known: dict[str, str] = {}
    for path, port in ports:
        name = port.get("name")
        if not name:
            continue
        if name in known:
            first = known[name]
            chosen = f"services and probes that select ports by name will use {first}"
            yield f"{path}: duplicate port name {go_quoted(name)} with {first}, {chosen}"
        else:
            known[name] = path
