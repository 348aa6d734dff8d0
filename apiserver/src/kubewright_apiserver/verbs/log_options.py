"""``check_log_options``: what may be asked of a log."""

from __future__ import annotations

from kubewright_apiserver.schema.go_time import InvalidTime, canonical_time
from kubewright_apiserver.status import FieldError, bad_request, forbidden_field, invalid, invalid_field
from kubewright_apiserver.verbs.call import Call

__all__ = ["check_log_options"]


def check_log_options(call: Call) -> None:
    """Refuse options that make no sense, or not together."""
    numbers = {name: call.number(name) for name in ("tailLines", "limitBytes", "sinceSeconds") if call.parameter(name)}
    since = call.parameter("sinceTime")
    try:
        canonical_time(since) if since else None
    except InvalidTime as error:
        raise bad_request(str(error)) from None
    errors: list[FieldError] = []
    if numbers.get("tailLines", 0) < 0:
        errors.append(invalid_field("tailLines", numbers["tailLines"], "must be greater than or equal to 0"))
    if numbers.get("limitBytes", 1) < 1:
        errors.append(invalid_field("limitBytes", numbers["limitBytes"], "must be greater than 0"))
    if "sinceSeconds" in numbers and since:
        errors.append(forbidden_field("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif numbers.get("sinceSeconds", 1) < 1:
        errors.append(invalid_field("sinceSeconds", numbers["sinceSeconds"], "must be greater than 0"))
    if call.parameter("stream"):
        errors.append(forbidden_field("stream", "may not be specified"))
    if errors:
        raise invalid("", "PodLogOptions", call.address.name, errors)
