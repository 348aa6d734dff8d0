"""What a client takes as an answer: JSON, YAML, protobuf, or only metadata; written for people or for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qs

import orjson
import yaml

from kubewright_apiserver.protobuf import MAGIC, written_object
from kubewright_apiserver.status import Refusal

__all__ = [
    "Accepted",
    "Form",
    "accepted_by",
    "accepts_gzip",
    "aggregated_media",
    "check_route",
    "form_for",
    "form_of_refusal",
    "unstreamed",
]

_JSON: Final = "application/json"
_YAML: Final = "application/yaml"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_MEDIA: Final = (_JSON, _YAML, _PROTOBUF)
_STREAMS: Final = (f"{_JSON};stream=watch", f"{_PROTOBUF};stream=watch")
_PARTIALS: Final = frozenset(("PartialObjectMetadata", "PartialObjectMetadataList"))
_TABLE: Final = "Table"
_PARTIAL_VERSIONS: Final = frozenset(("v1", "v1beta1"))
_PEOPLE: Final = ("curl", "Wget", "Mozilla/5.0")


class Accepted(NamedTuple):
    """The answer that a client gets: its content type, and which representation of objects."""

    content_type: str = _JSON
    representation: str = ""
    """``""`` for whole objects, else the version of PartialObjectMetadata or Table that is shown of them."""
    kind: str = ""
    """PartialObjectMetadata, its list or Table, as asked for."""
    is_pretty: bool = False


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


@lru_cache(maxsize=256)
def accepted_by(
    header: str, *, is_routed: bool = True, is_list: bool = False, has_protobuf: bool = True, has_tables: bool = False
) -> Accepted:
    """The best that we have of what the Accept header names; raises 406 if we have none of it.

    ``is_routed`` is for the addresses of built-in kinds, whose routes ask for a media type first; ``is_list`` for those
    that can be watched too. Without ``has_protobuf`` there are no whole objects in protobuf, with ``has_tables`` there
    are tables.
    """
    clauses = _clauses(header or "*/*")
    if is_routed:
        check_route(header, (*_MEDIA, *_STREAMS) if is_list else _MEDIA)
    for clause in clauses:
        found = _taken(clause)
        if found is None or (found.kind == _TABLE and not has_tables):
            continue
        if has_protobuf or found.kind or found.content_type != _PROTOBUF:
            return found
    raise _unaccepted(_MEDIA)


def check_route(header: str, media: Sequence[str]) -> None:
    """Refuse (406) a client that takes none of the media types of a route."""
    if not any(clause.media in media or clause.media == "*/*" for clause in _clauses(header or "*/*")):
        message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(media)}"
        raise Refusal(406, "NotAcceptable", message, details={})


def _unaccepted(media: Sequence[str]) -> Refusal:
    return Refusal(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(media)}")


def unstreamed() -> Refusal:
    """406: the answer to a watch in a format that has no streams."""
    return _unaccepted(_STREAMS)


def _taken(clause: _Clause) -> Accepted | None:
    """What a clause gets, or None if it asks for something that we do not have."""
    media = clause.media if clause.media in _MEDIA else _JSON
    if clause.media not in (*_MEDIA, "application/*", "*/*"):
        return None
    parameters = clause.parameters
    if parameters.get("stream", "watch") not in ("", "watch") or parameters.get("sv"):
        return None
    is_pretty = parameters.get("pretty") == "1"
    kind, group, version = (parameters.get(name) for name in ("as", "g", "v"))
    if kind is None and group is None and version is None:
        return Accepted(media, is_pretty=is_pretty)
    is_shown = kind in _PARTIALS or (kind == _TABLE and media != _PROTOBUF)
    if is_shown and group == "meta.k8s.io" and version in _PARTIAL_VERSIONS:
        return Accepted(media, f"{group}/{version}", kind or "", is_pretty)
    return None


def aggregated_media(header: str) -> str:
    """The media type in which a client takes aggregated discovery in its current form; empty if it does not."""
    wanted = {"as": "APIGroupDiscoveryList", "g": "apidiscovery.k8s.io", "v": "v2"}
    for clause in _clauses(header):
        if clause.media in (_JSON, _PROTOBUF, "application/*", "*/*") and wanted.items() <= clause.parameters.items():
            return _PROTOBUF if clause.media == _PROTOBUF else _JSON
    return ""


class Form(NamedTuple):
    """How an answer is written."""

    is_yaml: bool = False
    is_pretty: bool = False
    is_protobuf: bool = False

    def written(self, body: Any) -> bytes:
        """An object, or one that is JSON already or what is sent, as it is sent."""
        if self.is_protobuf:
            return _in_protobuf(body)
        if self.is_yaml:
            document = orjson.loads(body) if isinstance(body, bytes) else body
            return yaml.safe_dump(document, allow_unicode=True).encode()
        if self.is_pretty:
            return orjson.dumps(orjson.loads(body) if isinstance(body, bytes) else body, option=orjson.OPT_INDENT_2)
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        return data if data.endswith(b"\n") else data + b"\n"

    @property
    def content_type(self) -> str:
        """The media type."""
        if self.is_protobuf:
            return _PROTOBUF
        return _YAML if self.is_yaml else _JSON

    @property
    def stream_type(self) -> str:
        """The media type of a watch."""
        return f"{_PROTOBUF};stream=watch" if self.is_protobuf else _JSON


def _in_protobuf(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body if body.startswith(MAGIC) else written_object(orjson.loads(body))
    return written_object(body)


_PLAIN: Final = Form()
_PROTOBUF_FORM: Final = Form(is_protobuf=True)


def form_for(headers: Mapping[str, str], query: str, accepted: Accepted | None = None) -> Form:
    """How to write to a client: people get it pretty, by the name of their program or because they ask for it."""
    if accepted is None:
        try:
            accepted = accepted_by(headers.get("accept", ""), is_routed=False)
        except Refusal:
            return _PLAIN
    if accepted.content_type == _PROTOBUF:
        return _PROTOBUF_FORM
    is_pretty = accepted.is_pretty
    if not is_pretty:
        asked = parse_qs(query).get("pretty") if "pretty" in query else None
        is_pretty = asked[0] in ("1", "t", "T", "true", "TRUE", "True") if asked else _is_of_people(headers)
    is_yaml = accepted.content_type == _YAML
    return Form(is_yaml, is_pretty) if is_yaml or is_pretty else _PLAIN


def form_of_refusal(headers: Mapping[str, str], query: str) -> Form:
    """How to write a refusal: as nothing but itself, and for people if the client takes it in no way."""
    for clause in _clauses(headers.get("accept", "") or "*/*"):
        found = _taken(clause)
        if found is not None and not found.kind:
            return form_for(headers, query, found)
    return Form(is_pretty=True)


def _is_of_people(headers: Mapping[str, str]) -> bool:
    return headers.get("user-agent", "").startswith(_PEOPLE)


def accepts_gzip(header: str) -> bool:
    """Whether a client takes compressed answers; weights are not looked at."""
    return "gzip" in header and any(token.strip() == "gzip" for token in header.split(","))
