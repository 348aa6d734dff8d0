"""token: a service account gets a token, bound to a pod, a secret or a node if that is asked for."""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any, Final, NamedTuple

from kubewright_apiserver.access import Claimed, Lifetime
from kubewright_apiserver.defaulting import default
from kubewright_apiserver.golang import go_quoted
from kubewright_apiserver.patch import Endpoint, Versions, track
from kubewright_apiserver.schema.decoding import normalise
from kubewright_apiserver.schema.identity import Identity
from kubewright_apiserver.schema.node import node_of_builtin
from kubewright_apiserver.status import bad_request, conflict, invalid, invalid_field, not_found
from kubewright_apiserver.validation import refusal, validate_create
from kubewright_apiserver.verbs.admission import admit_create
from kubewright_apiserver.verbs.call import Call, Reply
from kubewright_apiserver.verbs.metadata import check_place
from kubewright_apiserver.verbs.parts import read_part

__all__ = ["request_token"]

Object = dict[str, Any]

_REQUEST: Final = "io.k8s.api.authentication.v1.TokenRequest"
_IDENTITY: Final = Identity("authentication.k8s.io", "v1", "TokenRequest")
_WARNED: Final = 3607
_EXTENDED: Final = 365 * 24 * 3600


class _Bound(NamedTuple):
    """What a token is bound to."""

    pod: Object | None = None
    secret: Object | None = None
    node: Object | None = None


async def request_token(call: Call) -> Reply:
    """A token of the account at the call's address."""
    call.check_write_options("CreateOptions")
    request = read_part(call, _REQUEST, _IDENTITY)
    default(*_IDENTITY, request)
    check_place(call, request, name="")
    request |= {"kind": _IDENTITY.kind, "apiVersion": _IDENTITY.group_version}
    track(None, request, endpoint=_endpoint(), manager=call.manager, now=call.engine.timestamp())
    admit_create(call, request)
    account = _account(call, request["metadata"])
    spec, own = request["spec"], account["metadata"]
    spec["audiences"] = spec.get("audiences") or list(call.engine.access.issuer.audiences)
    errors = list(validate_create(*_IDENTITY, {**request, "status": {}}))
    if errors:
        raise refusal(_IDENTITY.group, _IDENTITY.kind, "", errors)
    bound = _bound(call, spec.get("boundObjectRef"))
    now, seconds = call.engine.now(), spec["expirationSeconds"]
    lifetime = Lifetime(seconds)
    is_for_us = all(audience in call.engine.access.issuer.audiences for audience in spec["audiences"])
    if bound.pod is not None and seconds == _WARNED and is_for_us:
        lifetime = Lifetime(_EXTENDED, seconds)
    token = call.engine.access.accounts.issue(Claimed(account, *bound), spec["audiences"], lifetime)
    ends = f"{(now + timedelta(seconds=seconds)).isoformat(timespec='seconds')[:19]}Z"
    metadata = {**request["metadata"], "name": own["name"], "namespace": own["namespace"], "uid": own["uid"]}
    metadata["creationTimestamp"] = call.engine.timestamp()
    shown = {"audiences": spec["audiences"], "expirationSeconds": seconds, "boundObjectRef": spec.get("boundObjectRef")}
    body: Object = {"kind": _IDENTITY.kind, "apiVersion": _IDENTITY.group_version, "metadata": _ordered(metadata)}
    return Reply(201, {**body, "spec": shown, "status": {"token": token, "expirationTimestamp": ends}})


@cache
def _endpoint() -> Endpoint:
    node, own = node_of_builtin(_REQUEST), _IDENTITY.group_version
    versions = Versions(node=lambda version: node if version == own else None, convert=lambda obj, version: None)
    return Endpoint(versions=versions, api_version=own, kind=_IDENTITY.kind, subresource="token")


def _ordered(metadata: Object) -> Object:
    """The metadata in Kubernetes' order of fields."""
    found: Object = normalise({"metadata": metadata}, node_of_builtin(_REQUEST))["metadata"]
    return found


def _account(call: Call, metadata: Object) -> Object:
    """The account that a token is asked for, if the request means the same."""
    address, said = call.address, metadata.get("name")
    if said and said != address.name:
        error = invalid_field("metadata.name", said, "must match the service account name if specified")
        raise invalid(_IDENTITY.group, _IDENTITY.kind, address.name, [error])
    account = call.engine.find("/serviceaccounts", call.key)
    if account is None:
        raise not_found(*call.conflict_name())
    uid, own = metadata.get("uid"), account["metadata"]["uid"]
    if uid and uid != own:
        why = f"the UID in the token request ({uid}) does not match the UID of the service account ({own})"
        raise conflict(_IDENTITY.group, _IDENTITY.kind, address.name, why)
    return account


def _bound(call: Call, reference: Object | None) -> _Bound:
    """What a reference names, which must be there."""
    if reference is None:
        return _Bound()
    group, _, version = reference.get("apiVersion", "").rpartition("/")
    kind, name = reference.get("kind", ""), reference.get("name", "")
    table = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}.get(kind) if not group else None
    if table is None:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    key = name if kind == "Node" else f"{call.address.namespace}/{name}"
    found = call.engine.find(f"/{table}", key)
    if found is None:
        raise not_found("", table, name)
    node = _node_of(call, found) if kind == "Pod" else None
    uid = reference.get("uid")
    if uid and uid != found["metadata"]["uid"]:
        why = f"the UID in the bound object reference ({uid}) does not match the UID in record."
        raise conflict("", kind, name, f"{why} The object might have been deleted and then recreated")
    if kind == "Pod":
        return _Bound(pod=found, node=node)
    return _Bound(secret=found) if kind == "Secret" else _Bound(node=found)


def _node_of(call: Call, pod: Object) -> Object | None:
    """The node of a pod, of which only the name is known if it is not there."""
    account = call.address.name
    if pod["spec"].get("serviceAccountName", "") != account:
        why = f"cannot bind token for serviceaccount {go_quoted(account)} to pod running with different"
        raise bad_request(f"{why} serviceaccount name.")
    name = pod["spec"].get("nodeName")
    return (call.engine.find("/nodes", name) or {"metadata": {"name": name}}) if name else None
