"""How simulated containers behave: scripted per pod by annotations, or for many by a file of stages.

An annotation ``kubewright.dev/NAME`` is for all containers of a pod, ``kubewright.dev/NAME.CONTAINER`` for one of
them. Durations are written ``90s``, ``1m30s``, ``500ms`` or as seconds. Without any, a container starts at once, is
ready at once, does what its command says (see ``command``), and ends at once when it is told to.

======================  ================================================================================
``start-after``         how long it takes from its turn until it runs (pulling the image included)
``image-pull-error``    the image cannot be pulled, with this text (``true``: the usual one)
``image-pull-failures`` how many tries to pull fail; then it works (for ever if left out)
``run-for``             how long it runs before it ends by itself
``exit-code``           with which code it ends (by itself, or at once if ``run-for`` is left out)
``crashes``             how many runs end so; those after them go on for ever (all, if left out)
``oom-killed``          ``true``: it ends killed for want of memory (137, OOMKilled)
``termination-message`` what it leaves as its last words
``startup-after``       from when its startup probe succeeds
``ready-after``         from when it is ready (its readiness probe succeeds)
``ready-until``         until when it is ready
``never-ready``         ``true``: it never gets ready
``live-until``          until when its liveness probe succeeds
``stop-after``          how long it takes to end when told to; longer than the grace period means killed
``stop-exit-code``      with which code it ends then (0)
``evicted-after``       the node drives the pod out so long after its start
``evicted-for``         for want of which resource (``memory``)
``output``              lines that it prints; ``+5s text`` is printed five seconds after the start
======================  ================================================================================

A file of stages is YAML: a list ``stages``, each with ``match`` (``namespace``, ``name``, ``container``, ``image`` as
shell patterns, ``labels`` as a selector; what is left out matches all) and ``behaviour`` (the names above in
camelCase). Later stages win over earlier ones, annotations over stages::

    stages:
    - match: {namespace: shop, image: "*/flaky:*"}
      behaviour: {startAfter: 5s, runFor: 1m, exitCode: 3}

Of a *node*: the annotation ``kubewright.dev/lost`` with any value on the Node object silences it, heartbeats and pods,
until it is taken away; ``kubewright.dev/not-ready`` makes it say that it is not ready, for the reason given.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import msgspec

from kubewright.api import LabelSelector
from kubewright.controlplane.kubelet.duration import read_duration
from kubewright.errors import ConfigError
from kubewright.kinds.core_v1 import Container, EphemeralContainer, Pod

__all__ = ["LOST", "NOT_READY", "PREFIX", "Behaviour", "Match", "Script", "Stage", "read_stages"]

PREFIX: Final = "kubewright.dev/"
"""What the names of annotations that script a pod begin with."""

LOST: Final = f"{PREFIX}lost"
"""The annotation of a Node whose kubelet is silent."""

NOT_READY: Final = f"{PREFIX}not-ready"
"""The annotation of a Node whose kubelet says that it is not ready, and why."""


class Behaviour(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How one container behaves; None where nothing is said. The module's docstring tells each name."""

    start_after: timedelta | None = None
    image_pull_error: str | None = None
    image_pull_failures: int | None = None
    run_for: timedelta | None = None
    exit_code: int | None = None
    crashes: int | None = None
    oom_killed: bool | None = None
    termination_message: str | None = None
    startup_after: timedelta | None = None
    ready_after: timedelta | None = None
    ready_until: timedelta | None = None
    never_ready: bool | None = None
    live_until: timedelta | None = None
    stop_after: timedelta | None = None
    stop_exit_code: int | None = None
    evicted_after: timedelta | None = None
    evicted_for: str | None = None
    output: str | None = None

    def over(self, other: Behaviour) -> Behaviour:
        """The other behaviour with what this one says in its place."""
        said = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(other, **said) if said else other


class Match(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which containers a stage is for: shell patterns, and a selector of the pod's labels."""

    namespace: str = "*"
    name: str = "*"
    container: str = "*"
    image: str = "*"
    labels: str = ""

    def includes(self, pod: Pod, container: Container | EphemeralContainer) -> bool:
        """Whether the stage is for that container."""
        patterns = (self.namespace, self.name, self.container, self.image)
        values = (pod.namespace, pod.name, container.name, container.image or "")
        if not all(fnmatch.fnmatchcase(value, pattern) for value, pattern in zip(values, patterns, strict=True)):
            return False
        return not self.labels or LabelSelector.parse(self.labels).matches(pod.metadata.labels)


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule of a file of stages."""

    match: Match = Match()
    behaviour: Behaviour = Behaviour()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stages: list[Stage]


class Script:
    """What stages and annotations say about one pod; ``problems`` tell annotations that cannot be understood."""

    __slots__ = ("_annotated", "_pod", "_stages", "problems")

    def __init__(self, pod: Pod, stages: Sequence[Stage] = ()) -> None:
        self._pod = pod
        self._stages = stages
        self.problems: list[str] = []
        self._annotated: dict[str, Behaviour] = _annotated(pod.metadata.annotations, self.problems)

    def of(self, container: Container | EphemeralContainer) -> Behaviour:
        """How one container of the pod behaves."""
        behaviour = _NOTHING
        for stage in self._stages:
            if stage.match.includes(self._pod, container):
                behaviour = stage.behaviour.over(behaviour)
        for name in ("", container.name):
            if name in self._annotated:
                behaviour = self._annotated[name].over(behaviour)
        return behaviour


_NOTHING: Final = Behaviour()
_WIRE_NAMES: Final = {
    name.replace("_", "-"): wire
    for name, wire in zip(Behaviour.__struct_fields__, Behaviour.__struct_encode_fields__, strict=True)
}


def _annotated(annotations: Mapping[str, str], problems: list[str]) -> dict[str, Behaviour]:
    said: dict[str, dict[str, str]] = {}
    for key, value in annotations.items():
        if key.startswith(PREFIX):
            name, _, container = key.removeprefix(PREFIX).partition(".")
            if name in _WIRE_NAMES:
                said.setdefault(container, {})[_WIRE_NAMES[name]] = value
    return {container: _read_each(fields, container, problems) for container, fields in said.items()}


def _read_each(fields: Mapping[str, str], container: str, problems: list[str]) -> Behaviour:
    """The behaviour that the annotations say, without those that make no sense."""
    behaviour = _NOTHING
    for wire, value in fields.items():
        try:
            behaviour = _convert({wire: value}, Behaviour).over(behaviour)
        except msgspec.ValidationError as error:
            name = next(name for name, found in _WIRE_NAMES.items() if found == wire)
            key = f"{PREFIX}{name}.{container}" if container else f"{PREFIX}{name}"
            problems.append(f"annotation {key}: {_plain(error)}; it is ignored")
    return behaviour


def read_stages(path: str | Path) -> list[Stage]:
    """The stages in a file; raises ``ConfigError`` that names the file and the field that is wrong."""
    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        stages: list[Stage] = _convert(content, _File).stages
        for number, stage in enumerate(stages):
            _check_labels(stage, f"stages[{number}].match.labels")
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: is no YAML: {error}") from error
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$.")
        where = f"{place.rstrip('`')}: " if place else ""
        raise ConfigError(f"{path}: {where}{text}") from error
    return stages


def _check_labels(stage: Stage, place: str) -> None:
    try:
        LabelSelector.parse(stage.match.labels)
    except ValueError as error:
        raise msgspec.ValidationError(f"{error} - at `$.{place}`") from error


def _convert(value: Any, kind: type[Any]) -> Any:
    # Not strict: annotations are text, and YAML has numbers where durations may stand.
    return msgspec.convert(_durations_read(value), kind, strict=False)


_DURATIONS: Final = frozenset(
    wire
    for wire, field in zip(Behaviour.__struct_encode_fields__, msgspec.structs.fields(Behaviour), strict=True)
    if "timedelta" in str(field.type)
)


def _durations_read(value: Any, places: Iterable[str] = ()) -> Any:
    """The same value with durations as msgspec reads them: ISO 8601."""
    if isinstance(value, list):
        return [_durations_read(item, [*places, f"[{number}]"]) for number, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    found: dict[Any, Any] = {}
    for key, item in value.items():
        if key in _DURATIONS and isinstance(item, str | int | float):
            found[key] = _duration(item, [*places, str(key)])
        else:
            found[key] = _durations_read(item, [*places, str(key)])
    return found


def _duration(value: str | float, places: Sequence[str]) -> timedelta:
    try:
        return read_duration(str(value))
    except ValueError as error:
        place = "".join(part if part.startswith("[") else f".{part}" for part in places)
        raise msgspec.ValidationError(f"{error} - at `${place}`") from error


def _plain(error: msgspec.ValidationError) -> str:
    return str(error).partition(" - at `")[0]
