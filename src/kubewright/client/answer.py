"""Reads answers: the object in a success, the exception in a refusal, a plain word when neither is Kubernetes'."""

from __future__ import annotations

import msgspec

from kubewright.client.retry import retry_after
from kubewright.client.transport import Request, Response
from kubewright.errors import ApiError, ApiStatus, NotServed, ProtocolError, StatusDetails, error_of

__all__ = ["checked", "error_in", "is_status"]

_status = msgspec.json.Decoder(ApiStatus)


class _Head(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


_head = msgspec.json.Decoder(_Head)


def checked(request: Request, response: Response) -> bytes:
    """The JSON in a success; raises ``ApiError`` for a refusal and ``ProtocolError`` for what is not Kubernetes'."""
    if response.status >= 300:
        raise error_in(request, response)
    content = response.header("content-type")
    if content and not content.startswith("application/json"):
        raise ProtocolError(
            f"{request}: the answer is {content.split(';')[0]}, not JSON, and begins {_opening(response.body)}; "
            "is the server's address that of a Kubernetes API server?"
        )
    return response.body


def error_in(request: Request, response: Response) -> ApiError:
    """The exception for an answer that is not a success."""
    status = _status_in(response)
    if status is None:
        return _foreign_error(request, response)
    if status.code != response.status:
        status = msgspec.structs.replace(status, code=response.status)
    asked = retry_after(response)
    if asked is None and status.details and status.details.retry_after_seconds:
        asked = float(status.details.retry_after_seconds)
    if status.code == 404 and not (status.details and status.details.name):
        return NotServed(_not_served(request, status), retry_after=asked)
    return error_of(status, retry_after=asked)


def _status_in(response: Response) -> ApiStatus | None:
    try:
        if _head.decode(response.body).kind != "Status":
            return None
        return _status.decode(response.body)
    except msgspec.DecodeError:
        return None


def _foreign_error(request: Request, response: Response) -> ApiError:
    """A refusal without a Status body: a proxy's page, or the API server's plain 404 for an unknown path."""
    reason = {404: "NotFound", 401: "Unauthorized", 403: "Forbidden", 410: "Expired"}.get(response.status, "")
    text = f"{request}: HTTP {response.status}, {_opening(response.body)}"
    if location := response.header("location"):
        text += f"; it leads to {location.partition('?')[0]!r}, which is not followed: is the server's address right?"
    status = ApiStatus(status="Failure", code=response.status, reason=reason, message=text)
    if response.status == 404 and request.resource is not None:
        return NotServed(_not_served(request, status))
    return error_of(status, retry_after=retry_after(response))


def _not_served(request: Request, status: ApiStatus) -> ApiStatus:
    resource = request.resource
    if resource is None:
        return status
    message = (
        f"the API server does not serve {resource.kind} of {resource.api_version} "
        f"({status.message or 'not found'}); if it is a custom resource, install its CRD"
    )
    details = status.details or StatusDetails(group=resource.group, kind=resource.plural)
    return msgspec.structs.replace(status, message=message, details=details)


def is_status(body: bytes) -> bool:
    """Whether the JSON is a Status, as a finished delete is answered with."""
    try:
        head = _head.decode(body)
    except msgspec.DecodeError:
        return False
    return head.kind == "Status" and head.api_version == "v1"


def _opening(body: bytes) -> str:
    text = " ".join(body[:400].decode("utf-8", "replace").split())
    return repr(text[:120] + ("…" if len(text) > 120 else "")) if text else "without a body"
