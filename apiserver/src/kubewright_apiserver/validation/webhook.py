"""How the server reaches a webhook: by a URL, or by a Service."""

from __future__ import annotations

from urllib.parse import urlsplit

from kubewright_apiserver.status import invalid_field, required
from kubewright_apiserver.validation.names import dns_subdomain, port_number
from kubewright_apiserver.validation.rules import Errors, Object

__all__ = ["client_config"]


def client_config(config: Object, path: str) -> Errors:
    """The errors of the address of a webhook."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    return _url(url or "", f"{path}.url") if service is None else _service(service, f"{path}.service")


def _url(url: str, path: str) -> Errors:
    form = "; desired format: https://host[/path]"
    parts = urlsplit(url)
    errors: Errors = []
    if parts.scheme != "https":
        errors.append(invalid_field(path, parts.scheme, f"'https' is the only allowed URL scheme{form}"))
    host = parts.netloc.rpartition("@")[2]
    if not host:
        errors.append(invalid_field(path, host, f"host must be specified{form}"))
    if "@" in parts.netloc:
        user = parts.netloc.rpartition("@")[0]
        errors.append(invalid_field(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        errors.append(invalid_field(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        errors.append(invalid_field(path, parts.query, "query parameters are not permitted in the URL"))
    return errors


def _service(service: Object, path: str) -> Errors:
    # kube-apiserver hands name and namespace over in the wrong order.
    errors = [] if service.get("namespace") else [required(f"{path}.name")]
    errors += [] if service.get("name") else [required(f"{path}.namespace")]
    port, inner = service.get("port", 0), service.get("path")
    if messages := port_number(port):
        errors.append(invalid_field(f"{path}.port", port, f"port is not valid: {', '.join(messages)}"))
    return errors + (_path(inner, f"{path}.path") if inner and inner != "/" else [])


def _path(text: str, path: str) -> Errors:
    if text == "//":
        return [invalid_field(path, text, "segment[0] may not be empty")]
    errors = [] if text.startswith("/") else [invalid_field(path, text, "must start with a '/'")]
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            errors.append(invalid_field(path, text, f"segment[{index}] may not be empty"))
            continue
        errors += [invalid_field(path, text, f"segment[{index}]: {message}") for message in dns_subdomain(step)]
    return errors
