"""What a client takes as an answer: JSON, YAML, or only metadata."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubewright_apiserver.status import Refusal

__all__ = ["Accepted", "accepted_by", "accepts_aggregated"]

_JSON: Final = "application/json"
_YAML: Final = "application/yaml"
_AVAILABLE: Final = (
    "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)
_PARTIALS: Final = frozenset(("PartialObjectMetadata", "PartialObjectMetadataList"))


class Accepted(NamedTuple):
    """The answer that a client gets: its content type, and which representation of objects."""

    content_type: str = _JSON
    representation: str = ""
    """``""`` for whole objects, ``metadata`` for their metadata alone."""
    kind: str = ""
    """PartialObjectMetadata or its list, as asked for."""


class _Clause(NamedTuple):
    media: str
    parameters: dict[str, str]


def _clauses(header: str) -> list[_Clause]:
    weighted: list[tuple[float, int, _Clause]] = []
    for index, text in enumerate(header.split(",")):
        media, *rest = (part.strip() for part in text.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        weighted.append((-quality, index, _Clause(media, parameters)))
    return [clause for _, _, clause in sorted(weighted, key=lambda entry: entry[:2])]


def accepted_by(header: str) -> Accepted:
    """The best that we have of what the Accept header names; raises 406 if we have none of it."""
    for clause in _clauses(header or "*/*"):
        kind = clause.parameters.get("as", "")
        if kind:
            if kind in _PARTIALS and clause.media in (_JSON, _YAML) and clause.parameters.get("v") == "v1":
                return Accepted(_JSON, "metadata", kind)
            continue
        if clause.media in (_JSON, "*/*"):
            return Accepted()
        if clause.media == _YAML:
            return Accepted(_YAML)
        if clause.media == "application/*":
            raise _not_acceptable(_AVAILABLE.partition(", application/json;stream")[0])
    raise _not_acceptable(_AVAILABLE)


def _not_acceptable(available: str) -> Refusal:
    message = f"406: Not Acceptable\n\nAvailable representations: {available}"
    return Refusal(406, "NotAcceptable", message, details={})


def accepts_aggregated(header: str) -> bool:
    """Whether a client prefers aggregated discovery in its current form."""
    for clause in _clauses(header):
        wanted = (clause.parameters.get("as"), clause.parameters.get("v"))
        if clause.media == _JSON and clause.parameters.get("g") == "apidiscovery.k8s.io":
            if wanted == ("APIGroupDiscoveryList", "v2"):
                return True
        elif clause.media in (_JSON, "*/*", "application/*"):
            return False
    return False
