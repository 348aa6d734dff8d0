"""What holds for the conversion between the versions of a CRD: none, or a webhook that can be reached."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any, Final

from kubewright_apiserver.golang import go_json
from kubewright_apiserver.schema.uri import UriError, parse_uri
from kubewright_apiserver.status import FieldError, Printed, forbidden_field, invalid_field, not_supported, required
from kubewright_apiserver.validation.names import dns1035_label, dns_subdomain, port_number

__all__ = ["conversion_errors", "has_invalid_ca"]

_REVIEWS: Final = ("v1", "v1beta1")
_FORM: Final = "; desired format: https://host[/path]"
_CERTIFICATE: Final = re.compile(
    rb"-----BEGIN CERTIFICATE-----\s+([A-Za-z0-9+/=\s]+?)-----END CERTIFICATE-----", re.DOTALL
)


def conversion_errors(conversion: dict[str, Any], path: str, *, checks_ca: bool) -> Iterator[FieldError]:
    """The errors of ``spec.conversion``; certificates are looked at only when objects are already served."""
    strategy, webhook = conversion.get("strategy", ""), conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if not strategy:
        yield required(f"{path}.strategy")
    elif strategy not in ("None", "Webhook"):
        yield not_supported(f"{path}.strategy", strategy, ("None", "Webhook"))
    if strategy == "Webhook":
        yield from _client_errors(client, f"{path}.webhookClientConfig", checks_ca)
        yield from _review_errors(reviews, f"{path}.conversionReviewVersions")
        return
    detail = "should not be set when strategy is not set to Webhook"
    if client is not None:
        yield forbidden_field(f"{path}.webhookClientConfig", detail)
    if reviews:
        yield forbidden_field(f"{path}.conversionReviewVersions", detail)


def _client_errors(client: dict[str, Any] | None, path: str, checks_ca: bool) -> Iterator[FieldError]:
    if client is None:
        yield required(path, "required when strategy is set to Webhook")
        return
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_errors(url, f"{path}.url")
    elif service is not None:
        yield from _service_errors(service, f"{path}.service")
    if checks_ca and has_invalid_ca(client):
        detail = "unable to load root certificates: unable to parse bytes as PEM block"
        yield invalid_field(f"{path}.caBundle", Printed(go_json(client["caBundle"])), detail)


def has_invalid_ca(client: dict[str, Any]) -> bool:
    """Whether the client is given a bundle of certificates in which there is none."""
    bundle = client.get("caBundle")
    if not bundle:
        return False
    try:
        data = base64.b64decode(bundle)
    except binascii.Error:
        return True
    return _CERTIFICATE.search(data) is None


def _url_errors(url: str, path: str) -> Iterator[FieldError]:
    try:
        uri = parse_uri(url)
    except UriError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if uri.scheme != "https":
        yield invalid_field(path, uri.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    if not uri.host:
        yield invalid_field(path, uri.host, f"host must be specified{_FORM}")
    if uri.user is not None:
        yield invalid_field(path, uri.user, "user information is not permitted in the URL")
    if uri.fragment:
        yield invalid_field(path, uri.fragment, "fragments are not permitted in the URL")
    if uri.query:
        yield invalid_field(path, uri.query, "query parameters are not permitted in the URL")


def _service_errors(service: dict[str, Any], path: str) -> Iterator[FieldError]:
    # The server mistakes the one for the other here.
    if not service.get("namespace"):
        yield required(f"{path}.name")
    if not service.get("name"):
        yield required(f"{path}.namespace")
    port = service.get("port", 443)
    if wrong := port_number(port):
        yield invalid_field(f"{path}.port", port, f"port is not valid: {', '.join(wrong)}")
    yield from _service_path_errors(service.get("path") or "/", f"{path}.path")


def _service_path_errors(written: str, path: str) -> Iterator[FieldError]:
    if written == "/":
        return
    if written == "//":
        yield invalid_field(path, written, "segment[0] may not be empty")
        return
    if not written.startswith("/"):
        yield invalid_field(path, written, "must start with a '/'")
    for index, step in enumerate(written[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid_field(path, written, f"segment[{index}] may not be empty")
            continue
        for message in dns_subdomain(step):
            yield invalid_field(path, written, f"segment[{index}]: {message}")


def _review_errors(versions: list[str], path: str) -> Iterator[FieldError]:
    if not versions:
        yield required(path)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid_field(f"{path}[{index}]", version, "duplicate version")
            continue
        for message in dns1035_label(version):
            yield invalid_field(f"{path}[{index}]", version, message)
    if not set(versions) & {*_REVIEWS}:
        yield invalid_field(path, versions, f"must include at least one of {', '.join(_REVIEWS)}")
