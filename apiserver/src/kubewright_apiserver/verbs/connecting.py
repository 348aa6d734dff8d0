"""log, exec, attach and portforward, which kubelets answer; and proxy, for which no backend is found.

A pod that is on no node has an empty log and takes no connection. At the address of a pod or a service nobody listens.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlencode

import orjson

from kubewright_apiserver.access import Attributes
from kubewright_apiserver.answer import Answer, Socket, Upgraded, Whole
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.kubelets import Unreachable
from kubewright_apiserver.status import Refusal, bad_request, forbidden, internal_error, not_found
from kubewright_apiserver.store import Row
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.log_options import check_log_options

__all__ = ["connect", "proxy", "read_log"]

Object = dict[str, Any]

_KUBELET_PORT: Final = 10250
_TRANSLATED: Final = "v5.channel.k8s.io"
_SPEAKS_WEB_SOCKETS: Final = "ExtendWebSocketsToKubelet"
_STREAMS: Final = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_ERROR_CHANNEL: Final = b"\x03"
_HIGHEST_PORT: Final = 65535
_PORT_DIGITS: Final = 5
_OK: Final = 200
_PARTIAL: Final = 206
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_SCHEMED: Final = 3


async def read_log(call: Call) -> Reply:
    """The log of a container, which is empty while its pod is on no node."""
    check_log_options(call)
    pod = _found(call, "pods", call.key).obj
    container = _container(pod, call.parameter("container"))
    if not pod["spec"].get("nodeName"):
        return Reply(204)
    host, _ = _kubelet(call, pod["spec"]["nodeName"])
    asked = [(name, "true") for name in ("follow", "previous", "timestamps") if call.flag(name)]
    asked += [(name, call.parameter(name)) for name in ("sinceSeconds", "sinceTime", "tailLines", "limitBytes")]
    path = f"/containerLogs/{call.address.namespace}/{call.address.name}/{container}"
    target = _target(path, [pair for pair in asked if pair[1]])
    try:
        answer = await call.engine.kubelets.fetch(host, target)
    except Unreachable as error:
        raise internal_error(f'Get "https://{host}{target}": {error}') from None
    if not _OK <= answer[0] <= _PARTIAL:
        raise await _unfit_log(call, answer)
    return Reply(200, stream=answer[2], headers=[("Content-Type", "text/plain")], as_it_is=True)


async def _unfit_log(call: Call, answer: Answer) -> Refusal:
    """What is said of an answer that is no log."""
    status, text = answer[0], await _text(answer)
    if status == 400:
        return bad_request(text)
    if status == 500:
        return _internal(text)
    details = {"name": call.address.name, "kind": "pods/log"}
    if status == 404:
        message = f"the server could not find the requested resource ( pods/log {call.address.name})"
        return Refusal(404, "NotFound", message, details=details)
    message = f"the server responded with the status code {status} but did not return more information"
    return Refusal(status, "Unknown", f"{message} ( pods/log {call.address.name})", details=details)


async def connect(call: Call) -> Reply:
    """A WebSocket to the kubelet, for exec, attach and portforward."""
    ports = _ports(call.query.get("ports", ()))
    _check_may_create(call)
    pod = _found(call, "pods", call.key).obj
    part = call.address.subresource
    path = f"{call.address.namespace}/{call.address.name}"
    if part != "portforward":
        path += f"/{_container(pod, call.parameter('container'))}"
    if not pod["spec"].get("nodeName"):
        raise bad_request(f"pod {call.address.name} does not have a host assigned")
    host, node = _kubelet(call, pod["spec"]["nodeName"])
    if "upgrade" not in call.headers.get("connection", "").lower():
        raise bad_request("Upgrade request required")
    if part == "portforward":
        target = _target(f"/portForward/{path}", [("port", ",".join(ports))] if ports else [])
    else:
        asked = [(told, "1") for name, told in _STREAMS.items() if call.flag(name)]
        command = [("command", word) for word in call.query.get("command", ()) if part == "exec"]
        target = _target(f"/{part}/{path}", [*asked, *command])
    protocols = _protocols(call.headers.get("sec-websocket-protocol", ""))
    is_translated = _TRANSLATED in protocols and part != "portforward" and not _speaks_web_sockets(node)
    try:
        found = await _dial(call, host, target, protocols)
    except Unreachable as error:
        if not is_translated:
            raise internal_error(f"error dialing backend: {error}") from None
        found = _Excuse(f'error sending request: Post "https://{host}{target}": {error}', _greeting(call))
    if isinstance(found, tuple):
        if not is_translated:
            kind = next((value for name, value in found[1] if name.lower() == "content-type"), "text/plain")
            text = Whole((await _text(found)).encode())
            return Reply(found[0], stream=text, headers=[("Content-Type", kind)], as_it_is=True)
        found = _Excuse(f"unable to upgrade connection: {await _text(found)}", _greeting(call))
    return Reply(101, stream=Upgraded(found), as_it_is=True)


async def _dial(call: Call, host: str, target: str, protocols: Sequence[str]) -> Socket | Answer:
    """A WebSocket to the kubelet or its refusal; those who speak SPDY hear at most why not."""
    kubelets = call.engine.kubelets
    if call.headers.get("upgrade", "").lower() == "websocket":
        return await kubelets.connect(host, target, protocols)
    answer = await kubelets.fetch(host, target)
    if answer[0] == 400 and "pgrade" in (text := await _text(answer)):
        raise bad_request(f"{text.strip()}: only WebSockets are spoken here, not {call.headers.get('upgrade', '')}")
    return answer


class _Excuse:
    """A WebSocket on which is said only, in a Status, why nothing came about; ``greeting`` is an empty message."""

    subprotocol = _TRANSLATED

    def __init__(self, why: str, greeting: bytes) -> None:
        status = {key: value for key, value in _internal(why).body.items() if key not in ("kind", "apiVersion")}
        self._messages = [greeting, _ERROR_CHANNEL + orjson.dumps(status)]

    async def send(self, message: bytes) -> None:
        """Nobody listens."""

    async def receive(self) -> bytes | None:
        """The greeting, then the Status."""
        return self._messages.pop(0) if self._messages else None

    async def aclose(self) -> None:
        """Nothing is left to be ended."""


def _greeting(call: Call) -> bytes:
    """Nothing, on the first channel that the client reads."""
    return b"\x01" if call.flag("stdout") else b"\x02" if call.flag("stderr") else _ERROR_CHANNEL


def _internal(text: str) -> Refusal:
    causes = {"causes": [{"message": text}]}
    return Refusal(500, "InternalError", f"Internal error occurred: {text}", details=causes)


async def _text(answer: Answer) -> str:
    return b"".join([chunk async for chunk in answer[2]]).decode(errors="replace")


def _target(path: str, asked: Sequence[tuple[str, str]]) -> str:
    query = urlencode(sorted(asked, key=lambda pair: pair[0]))
    return f"{path}?{query}" if query else path


def _protocols(header: str) -> list[str]:
    return [word.strip() for word in header.split(",") if word.strip()]


def _speaks_web_sockets(node: Object) -> bool:
    return _SPEAKS_WEB_SOCKETS in (node.get("status", {}).get("declaredFeatures") or ())


def _ports(values: Sequence[str]) -> list[str]:
    """The ports of all values, each of which may be several with commas between them."""
    words = [word for value in values for word in value.split(",")]
    for word in words:
        is_number = word.isascii() and word.isdigit()
        if not is_number or len(word.lstrip("0")) > _PORT_DIGITS or int(word) > _HIGHEST_PORT:
            trouble = "value out of range" if is_number else "invalid syntax"
            raise bad_request(f"cannot convert to []int32: strconv.ParseUint: parsing {go_quoted(word)}: {trouble}")
    return [str(int(word)) for word in words]


def _check_may_create(call: Call) -> None:
    """Who connects by GET must be allowed to by POST too."""
    user, address = call.user, call.address
    if call.method == "POST" or user.is_master:
        return
    wanted = Attributes(
        "create", address.group, address.plural, address.subresource, address.namespace, address.name, address.version
    )
    decision = call.engine.access.authorizer.decide(user, wanted)
    if not decision.allowed:
        raise forbidden("", "pods", address.name, decision.reason)


async def proxy(call: Call) -> Reply:
    """A refusal of what is asked of a pod, a service or a node: nobody listens there."""
    name, port = _name_and_port(call)
    key = f"{call.address.namespace}/{name}" if call.served.namespaced else name
    found = _found(call, call.served.plural, key).obj
    if call.served.plural == "services":
        ports = [str(part) for one in found["spec"].get("ports", ()) for part in (one["port"], one.get("name"))]
        if port and port not in ports:
            raise Refusal(503, "ServiceUnavailable", f'no service port {port} found for service "{name}"')
        raise not_found("", "services", name)
    if call.served.plural == "nodes":
        host = _kubelet(call, name, of="nodes")[0].rpartition(":")[0]
        port = port or str(_KUBELET_PORT)
    else:
        host = found.get("status", {}).get("podIP", "")
        port = port or _first_port(found)
    if not _is_reachable(host):
        raise bad_request("address not allowed")
    message = f"error trying to reach service: dial tcp {host}:{port or 80}: connect: connection refused"
    raise Refusal(503, "ServiceUnavailable", message)


def _found(call: Call, plural: str, key: str, named: str = "") -> Row:
    served = call.engine.registry.find("", "v1", plural)
    row = call.engine.table(served).get(key) if served is not None else None
    if row is None:
        raise not_found("", named or plural, key.rpartition("/")[2])
    return row


def _container(pod: Object, asked: str) -> str:
    """The container that is meant: the one that is named, or the only one."""
    name = pod["metadata"]["name"]
    names = [container["name"] for part in _CONTAINERS for container in pod["spec"].get(part) or ()]
    if asked and asked not in names:
        raise bad_request(f"container {asked} is not valid for pod {name}")
    own = pod["spec"]["containers"]
    if not asked and len(own) > 1:
        choice = " ".join(names)
        raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{choice}]")
    chosen: str = asked or own[0]["name"]
    return chosen


def _kubelet(call: Call, node: str, *, of: str = "pods") -> tuple[str, Object]:
    """Host and port of a node's kubelet, and the node; one that is not there is told of as what was asked for."""
    found = _found(call, "nodes", node, named=of).obj
    status = found.get("status", {})
    known = {address["type"]: address["address"] for address in reversed(status.get("addresses") or [])}
    host = next((known[kind] for kind in call.engine.kubelets.address_types if kind in known), None)
    if host is None:
        raise internal_error(f"no preferred addresses found; known addresses: {_as_go_prints(status)}")
    port = status.get("daemonEndpoints", {}).get("kubeletEndpoint", {}).get("Port") or _KUBELET_PORT
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}", found


def _as_go_prints(status: Object) -> str:
    addresses = [f"{{{address['type']} {address['address']}}}" for address in status.get("addresses") or ()]
    return f"[{' '.join(addresses)}]"


def _name_and_port(call: Call) -> tuple[str, str]:
    """What is addressed by ``name``, ``name:port`` or ``scheme:name:port``."""
    parts = call.address.name.split(":")
    if len(parts) > _SCHEMED or (len(parts) == _SCHEMED and parts[0] not in ("", "http", "https")):
        raise bad_request(f'invalid {call.served.singular} request "{call.address.name}"')
    name, port = (parts[1:] if len(parts) == _SCHEMED else [*parts, ""])[:2]
    return name, port


def _first_port(pod: Object) -> str:
    ports = (port["containerPort"] for container in pod["spec"]["containers"] for port in container.get("ports", ()))
    return str(next(ports, ""))


def _is_reachable(host: str) -> bool:
    """Whether an address is one that the server would dial: a name, or one of a single host elsewhere."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    return not (address.is_loopback or address.is_multicast or address.is_link_local or address.is_unspecified)
