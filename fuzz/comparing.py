"""The same requests to the embedded server and to a real one: where their answers differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

import orjson

from conformance.exchange import Api, differences, normalised
from fuzz.author import Author, Sent
from fuzz.checking import Heard
from fuzz.corpus import Place, definitions
from fuzz.running import CRDS, SERVED, Memory, ask, prepared
from kubewright import Config
from kubewright.client import HttpTransport, Request
from kubewright.testing import RealControlPlane
from kubewright_apiserver import ApiServer

__all__ = ["compare"]

_ROUND: Final = 40
_SHOWN: Final = 400
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\d+|[a-z]+\.k8s\.io')
_JSON: Final = (("Content-Type", "application/json"), ("Accept", "application/json"))


class _Difference(NamedTuple):
    sort: str
    round: int
    what: str
    request: str
    ours: str
    theirs: str


async def compare(count: int, seed: int, say: Callable[[str], None], first: int = 0) -> int:
    """Send so many requests to both; tell what differs, the most frequent first. 1 if anything did."""
    found: list[_Difference] = []
    agreed = 0
    async with (
        RealControlPlane(runtime_config="api/ga=true,api/beta=true") as plane,
        ApiServer(listens=False, runtime_config=SERVED) as server,
    ):
        real = HttpTransport(Config.from_kubeconfig(plane.kubeconfig))
        try:
            known = await prepared(server)
            await _prepare(real)
            for number in range(first, first + max(1, count // _ROUND)):
                differing = await _round(server, real, known, seed, number)
                found += differing
                agreed += _ROUND - len(differing)
                if number % 25 == 24:
                    say(f"{agreed + len(found)} requests, {len(found)} answered differently")
        finally:
            await real.aclose()
    say(_summary(seed, agreed, found))
    return 1 if found else 0


async def _prepare(real: HttpTransport) -> None:
    for definition in definitions():
        await _ask_real(real, Sent("POST", CRDS, _JSON, b"", "", ""), orjson.dumps(definition))
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        listing = Sent("GET", f"/apis/{group}/v1/{plural}", (), b"", "", "")
        while (await _ask_real(real, listing, b"")).status != 200:
            pass


async def _ask_real(real: HttpTransport, sent: Sent, body: bytes) -> Heard:
    is_watch = "watch" in sent.target
    request = Request(
        method=sent.method,
        target=sent.target,
        headers=list(sent.headers),
        body=body,
        verb=sent.method.lower(),
        streaming=is_watch,
    )
    response = await real.send(request)
    is_stream = response.stream is not None
    await response.aclose()
    headers = [("Content-Type" if name.lower() == "content-type" else name, value) for name, value in response.headers]
    return Heard(response.status, headers, response.body, is_stream=is_stream)


async def _round(
    server: ApiServer, real: HttpTransport, known: list[Place], seed: int, number: int
) -> list[_Difference]:
    namespace = f"fuzz-{seed}-{number}"
    author = Author(known, Random(f"real/{seed}/{number}"), namespace, suffix=f"-{number}", is_careful=True)
    making = Sent("POST", "/api/v1/namespaces", _JSON, orjson.dumps({"metadata": {"name": namespace}}), "", "")
    await ask(server, making, making.body)
    await _ask_real(real, making, making.body)
    ours, theirs = Memory(), Memory()
    found = []
    for sent in author.requests(_ROUND):
        body = ours.filled(sent)
        mine = await ask(server, sent, body)
        try:
            other = await _ask_real(real, sent, theirs.filled(sent))
        except Exception as error:
            other = Heard(0, (), f"{type(error).__name__}: {error}".encode())
        ours.learn(sent, mine)
        theirs.learn(sent, other)
        sort = _difference(namespace, mine, other)
        if sort:
            shown = f"{sent.method} {sent.target} {dict(sent.headers)} {body[:1500]!r}"
            found.append(_Difference(sort, number, sent.what, shown, _shown(mine), _shown(other)))
    return found


def _shown(heard: Heard) -> str:
    document = heard.document
    if isinstance(document, dict) and document.get("kind") == "Status":
        return f"{heard.status} {document.get('reason')} {document.get('message')}"[:_SHOWN]
    return f"{heard.status} {heard.data[:_SHOWN]!r}"


def _difference(namespace: str, ours: Heard, theirs: Heard) -> str:
    """What sort of difference there is, or an empty text."""
    if ours.status != theirs.status:
        return f"{ours.status} instead of {theirs.status}: {_gist(theirs) or _gist(ours)}"
    if ours.is_stream or theirs.is_stream:
        return "" if ours.is_stream is theirs.is_stream else "only one is a stream"
    if ours.type != theirs.type:
        return f"type {ours.type!r} instead of {theirs.type!r}"
    if not isinstance(ours.document, dict) or not isinstance(theirs.document, dict):
        return ""
    lines = differences(_normal(namespace, ours.document), _normal(namespace, theirs.document))
    if not lines:
        return ""
    if theirs.status >= 400:
        return f"{theirs.status} in other words: {_gist(theirs)}"
    return f"another {theirs.status}: {_QUOTED.sub('…', lines[0])[:160]}"


def _normal(namespace: str, document: Any) -> Any:
    api = Api(_nobody, namespace)
    api.is_timed = False
    api.exchanges = [document]
    return normalised(api)


async def _nobody(request: Request) -> Any:
    raise NotImplementedError(str(request))


def _gist(heard: Heard) -> str:
    document = heard.document
    message = document.get("message", "") if isinstance(document, dict) else ""
    return _QUOTED.sub("…", str(message))[:110]


def _summary(seed: int, agreed: int, found: list[_Difference]) -> str:
    total = agreed + len(found)
    lines = [f"seed {seed}: {total} requests, {agreed} answered alike ({agreed / max(1, total):.2%})"]
    sorts = Counter(difference.sort for difference in found)
    for sort, count in sorts.most_common():
        one = next(difference for difference in found if difference.sort == sort)
        lines.append(f"{count} × {sort}\n  round {one.round}, {one.what}\n  {one.request}")
        lines.append(f"  ours: {one.ours}\n  real: {one.theirs}")
    lines.append(f"{len(found)} differences of {len(sorts)} sorts")
    return "\n".join(lines)
