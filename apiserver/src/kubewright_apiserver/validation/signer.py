"""Names of signers of certificates and of the trust bundles that belong to them."""

from __future__ import annotations

from collections.abc import Sequence

from kubewright_apiserver.status import invalid_field, required, too_long
from kubewright_apiserver.validation.names import NameRule, dns_label, dns_subdomain
from kubewright_apiserver.validation.rules import Errors

__all__ = ["is_kubernetes_signer", "signer_name", "trust_bundle_name"]


def is_kubernetes_signer(name: str) -> bool:
    """Whether a signer is one of Kubernetes' own."""
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def signer_name(name: str, path: str) -> Errors:
    """The errors of a signer's name: a domain, a slash, a path."""
    if not name:
        return [required(path)]
    parts = name.split("/")
    if len(parts) != 2:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid_field(path, name, detail)]
    domain, inner = parts
    errors = [too_long(path, 253)] if len(domain) > 253 else []
    errors += _first_wrong(domain, path, dns_label)
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        errors.append(invalid_field(path, domain, detail))
    errors += _first_wrong(inner, path, dns_subdomain)
    return [*errors, too_long(path, 571)] if len(name) > 571 else errors


def _first_wrong(text: str, path: str, rule: NameRule) -> Errors:
    for label in text.split("."):
        if messages := rule(label):
            return [invalid_field(path, text, f'validating label "{label}": {message}') for message in messages]
    return []


def trust_bundle_name(signer: str, name: str) -> Sequence[str]:
    """What keeps a text from naming a trust bundle of a signer, or one of none."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return dns_subdomain(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return dns_subdomain(name.removeprefix(prefix))
