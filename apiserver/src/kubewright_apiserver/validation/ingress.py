"""Ingresses and IngressClasses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import forbidden_field, invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.address import ip_errors, is_ip
from kubewright_apiserver.validation.batch import domain_prefixed_path
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import (
    NameRule,
    dns_label,
    dns_subdomain,
    path_segment,
    port_name,
    port_number,
    wildcard_subdomain,
)
from kubewright_apiserver.validation.rules import Errors, Object, immutable, named, named_if_set, named_required

__all__ = [
    "created_ingress",
    "created_ingress_class",
    "updated_ingress",
    "updated_ingress_class",
    "updated_ingress_status",
]

_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_NO_IP: Final = "must be a DNS name, not an IP address"


def created_ingress(obj: Object) -> Errors:
    """The errors of a new Ingress."""
    errors, name = _ingress(obj), obj["spec"].get("ingressClassName")
    annotation = (obj["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    if annotation is not None and name is not None and annotation != name:
        detail = "must match `ingressClassName` when both are specified"
        errors.append(invalid_field(f"annotations.{_CLASS_ANNOTATION}", annotation, detail))
    return errors


def updated_ingress(obj: Object, old: Object) -> Errors:
    """The errors of an Ingress that is written over an old one."""
    return updated_metadata(obj, old) + _ingress(obj)


def _ingress(obj: Object) -> Errors:
    spec, errors = obj["spec"], created_metadata(obj, True, dns_subdomain)
    rules, backend = spec.get("rules") or (), spec.get("defaultBackend")
    if not rules and backend is None:
        errors.append(invalid_field("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if backend is not None:
        errors += _backend(backend, "spec.defaultBackend")
    for index, rule in enumerate(rules):
        errors += _rule(rule, f"spec.rules[{index}]")
    for index, tls in enumerate(spec.get("tls") or ()):
        for place, host in enumerate(tls.get("hosts") or ()):
            errors += named(_host_rule(host), f"spec.tls[{index}].hosts[{place}]", host)
        errors += named_if_set(dns_subdomain, f"spec.tls[{index}].secretName", tls.get("secretName"))
    if (name := spec.get("ingressClassName")) is not None:
        errors += named(dns_subdomain, "spec.ingressClassName", name)
    return errors


def _host_rule(host: str) -> NameRule:
    return wildcard_subdomain if "*" in host else dns_subdomain


def _rule(rule: Object, path: str) -> Errors:
    errors: Errors = []
    if host := rule.get("host"):
        if is_ip(host):
            errors.append(invalid_field(f"{path}.host", host, _NO_IP))
        errors += named(_host_rule(host), f"{path}.host", host)
    if (http := rule.get("http")) is None:
        return errors
    paths = http.get("paths") or ()
    if not paths:
        errors.append(required(f"{path}.http.paths"))
    for index, one in enumerate(paths):
        errors += _http_path(one, f"{path}.http.paths[{index}]")
    return errors


def _http_path(found: Object, path: str) -> Errors:
    kind, text, at = found.get("pathType"), found.get("path", ""), f"{path}.path"
    if kind is None:
        return [required(f"{path}.pathType", "pathType must be specified")]
    errors: Errors = []
    if kind not in _PATH_TYPES:
        errors.append(not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        errors.append(invalid_field(at, text, "must be an absolute path"))
    if kind in ("Exact", "Prefix"):
        bad = [part for part in ("//", "/./", "/../", "%2f", "%2F") if part in text]
        errors += [invalid_field(at, text, f"must not contain '{part}'") for part in bad]
        bad = [end for end in ("/..", "/.") if text.endswith(end)]
        errors += [invalid_field(at, text, f"cannot end with '{end}'") for end in bad]
    return errors + _backend(found.get("backend") or {}, f"{path}.backend")


def _backend(backend: Object, path: str) -> Errors:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        return [invalid_field(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _reference(resource, f"{path}.resource")
    if service is None:
        return [invalid_field(path, "", "resource or service backend is required")]
    errors = named_required(dns_label, f"{path}.service.name", service.get("name"))
    port = service.get("port") or {}
    name, number, at = port.get("name"), port.get("number"), f"{path}.service.port"
    if name and number:
        errors.append(invalid_field(path, "", "cannot set both port name & port number"))
    elif name:
        errors += named(port_name, f"{at}.name", name)
    elif number:
        errors += [invalid_field(f"{at}.number", number, message) for message in port_number(number)]
    else:
        errors.append(required(path, "port name or number is required"))
    return errors


def _reference(reference: Object, path: str) -> Errors:
    errors: Errors = []
    if (group := reference.get("apiGroup")) is not None:
        errors += named(dns_subdomain, f"{path}.apiGroup", group)
    errors += named_required(path_segment, f"{path}.kind", reference.get("kind"))
    return errors + named_required(path_segment, f"{path}.name", reference.get("name"))


def updated_ingress_status(obj: Object, old: Object) -> Errors:
    """The errors of an Ingress whose status is written."""
    new, before = (_balancers(holder) for holder in (obj, old))
    known = [ingress["ip"] for ingress in before if ingress.get("ip")]
    errors = updated_metadata(obj, old)
    for index, ingress in enumerate(new):
        at, hostname = f"status.loadBalancer.ingress[{index}]", ingress.get("hostname")
        if ingress.get("ip"):
            errors += ip_errors(f"{at}.ip", ingress["ip"], known)
        if hostname:
            errors += named(dns_subdomain, f"{at}.hostname", hostname)
            if is_ip(hostname):
                errors.append(invalid_field(f"{at}.hostname", hostname, _NO_IP))
    return errors


def _balancers(obj: Object) -> Sequence[Object]:
    return ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()


def created_ingress_class(obj: Object) -> Errors:
    """The errors of a new IngressClass."""
    spec = obj.get("spec") or {}
    controller, at = spec.get("controller", ""), "spec.controller"
    errors = created_metadata(obj, False, dns_subdomain)
    if len(controller.encode()) > 250:
        errors.append(too_long(at, 250))
    errors += domain_prefixed_path(controller, at)
    parameters = spec.get("parameters")
    return errors if parameters is None else errors + _parameters(parameters, "spec.parameters")


def updated_ingress_class(obj: Object, old: Object) -> Errors:
    """The errors of an IngressClass that is written over an old one."""
    new, before = ((holder.get("spec") or {}).get("controller", "") for holder in (obj, old))
    return updated_metadata(obj, old) + immutable("spec.controller", new, before) + created_ingress_class(obj)


def _parameters(parameters: Object, path: str) -> Errors:
    scope, namespace, at = parameters.get("scope"), parameters.get("namespace"), f"{path}.namespace"
    errors = _reference(parameters, path)
    if scope is None:
        return [*errors, required(f"{path}.scope")]
    if scope not in ("Cluster", "Namespace"):
        return [*errors, not_supported(f"{path}.scope", scope, ("Cluster", "Namespace"))]
    if scope == "Cluster":
        detail = "`parameters.scope` is set to 'Cluster'"
        return errors if namespace is None else [*errors, forbidden_field(at, detail)]
    if namespace is None:
        return [*errors, required(at, "`parameters.scope` is set to 'Namespace'")]
    return errors + named(dns_label, at, namespace)
