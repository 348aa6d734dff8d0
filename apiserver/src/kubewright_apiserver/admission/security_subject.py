"""``Subject``: a pod, or a template of one, as the checks of PodSecurity look at it; and the words that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from kubewright_apiserver.admission.attributes import Object

__all__ = ["Check", "Container", "Subject", "Violation", "blamed", "counted", "quoted", "subject_of"]


class Container(NamedTuple):
    """A container of any kind."""

    name: str
    context: Object
    """Its security context, empty if it has none."""
    fields: Object


class Subject(NamedTuple):
    """What is checked."""

    annotations: dict[str, str]
    spec: Object
    context: Object
    """The pod's own security context, empty if it has none."""
    containers: Sequence[Container]

    @property
    def is_windows(self) -> bool:
        """Whether the pod says that it is for Windows."""
        return (self.spec.get("os") or {}).get("name") == "windows"

    @property
    def has_own_users(self) -> bool:
        """Whether the users in the pod are not those of its node."""
        return self.spec.get("hostUsers") is False

    def named(self, is_bad: Callable[[Container], Any]) -> list[str]:
        """The names of the containers of which that is true."""
        return [container.name for container in self.containers if is_bad(container)]


class Violation(NamedTuple):
    """What is wrong: in a few words, and with the names of what is."""

    reason: str
    detail: str


Check = Callable[[Subject], Violation | None]


def subject_of(template: Object) -> Subject:
    """A pod or a template as it is checked."""
    spec = template.get("spec") or {}
    kinds = ("initContainers", "containers", "ephemeralContainers")
    containers = [
        Container(one.get("name", ""), one.get("securityContext") or {}, one)
        for kind in kinds
        for one in spec.get(kind) or ()
    ]
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return Subject(annotations, spec, spec.get("securityContext") or {}, containers)


def quoted(words: Iterable[str]) -> str:
    """Words in quotes."""
    return ", ".join(f'"{word}"' for word in words)


def counted(names: Sequence[str], one: str = "container") -> str:
    """``container "a"`` or ``containers "a", "b"``."""
    return f"{one if len(names) == 1 else f'{one}s'} {quoted(names)}"


def blamed(is_pod: object, containers: Sequence[str]) -> str:
    """Who did it: the pod, containers, or both; empty if nobody did."""
    return " and ".join([*(["pod"] if is_pod else []), *([counted(containers)] if containers else [])])
