"""CertificateSigningRequests and ClusterTrustBundles."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from kubewright_apiserver.schema.goprint import difference
from kubewright_apiserver.status import duplicate, forbidden_field, invalid_field, not_supported, required, too_long
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import any_name
from kubewright_apiserver.validation.pem import pem_blocks
from kubewright_apiserver.validation.rules import Errors, Object, immutable
from kubewright_apiserver.validation.signer import signer_name, trust_bundle_name

__all__ = [
    "approved_request",
    "created_request",
    "created_trust_bundle",
    "updated_request",
    "updated_request_status",
    "updated_trust_bundle",
]

_CONDITIONS: Final = "status.conditions"
_TRUE_ONLY: Final = ("Approved", "Denied", "Failed")
_USAGES: Final = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
_OMITTED: Final = "<value omitted>"
_SEQUENCE: Final = 0x30
_SHORT_LENGTH: Final = 0x7F
_ASN1_FIELD: Final = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
    "timeType:0 set:false omitEmpty:false}"
)


def created_request(obj: Object) -> Errors:
    """The errors of a new CertificateSigningRequest."""
    return _request(obj)


def _request(obj: Object) -> Errors:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    errors = created_metadata(obj, False, any_name)
    if problem := _csr_problem(spec.get("request", "")):
        errors.append(invalid_field("spec.request", spec.get("request", ""), problem))
    usages = spec.get("usages") or ()
    if not usages:
        errors.append(required("spec.usages"))
    places = [(f"spec.usages[{index}]", usage) for index, usage in enumerate(usages)]
    errors += [not_supported(at, usage, _USAGES) for at, usage in places if usage not in _USAGES]
    errors += [duplicate(at, usage) for index, (at, usage) in enumerate(places) if usage in usages[:index]]
    signer, at = spec.get("signerName", ""), "spec.signerName"
    if signer == "kubernetes.io/legacy-unknown":
        detail = "the legacy signerName is not allowed via this API version"
        errors.append(invalid_field(at, signer, detail))
    else:
        errors += signer_name(signer, at)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid_field("spec.expirationSeconds", seconds, detail))
    errors += _request_conditions(status.get("conditions") or ())
    if problem := _certificate_problem(status.get("certificate", "")):
        errors.append(invalid_field("status.certificate", "<certificate data>", problem))
    return errors


def _csr_problem(encoded: str) -> str:
    blocks = pem_blocks(base64.b64decode(encoded))
    if not blocks or blocks[0][0] != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        request = x509.load_der_x509_csr(blocks[0][1] or b"")
    except ValueError:
        return _asn1_problem(blocks[0][1] or b"")
    return "" if request.is_signature_valid else _signature_problem(request)


def _signature_problem(request: x509.CertificateSigningRequest) -> str:
    """What Go says to a wrong signature, which depends on the key that should have made it."""
    key = request.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        return "crypto/rsa: verification error"
    kind = "Ed25519" if isinstance(key, ed25519.Ed25519PublicKey) else "ECDSA"
    return f"x509: {kind} verification failure"


def _asn1_problem(body: bytes) -> str:
    """What Go says to something that starts with no sequence; of what it says to other mistakes only the beginning."""
    if len(body) < 2:
        return "asn1: syntax error: sequence truncated"
    first, length = body[0], body[1]
    if first == _SEQUENCE or length > _SHORT_LENGTH:
        return "asn1: structure error"
    compound = "true" if first & 0x20 else "false"
    found = f"{{class:{first >> 6} tag:{first & 0x1F} length:{length} isCompound:{compound}}}"
    return f"asn1: structure error: tags don't match (16 vs {found}) {_ASN1_FIELD} certificateRequest @2"


def _certificate_problem(encoded: str) -> str:
    if not encoded:
        return ""
    blocks = pem_blocks(base64.b64decode(encoded))
    for kind, body in blocks:
        if kind != "CERTIFICATE":
            return f'only CERTIFICATE PEM blocks are allowed, found "{kind}"'
        if body is None:
            return "no PEM block headers are permitted"
        if not _is_certificate(body):
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def _is_certificate(body: bytes) -> bool:
    try:
        x509.load_der_x509_certificate(body)
    except ValueError:
        return False
    return True


def _request_conditions(conditions: Sequence[Object]) -> Errors:
    errors: Errors = []
    kinds = [condition.get("type", "") for condition in conditions]
    for index, (condition, kind) in enumerate(zip(conditions, kinds, strict=True)):
        at, state = f"{_CONDITIONS}[{index}]", condition.get("status", "")
        if not kind:
            errors.append(required(f"{at}.type"))
        known = ("True",) if kind in _TRUE_ONLY else ("False", "True", "Unknown")
        if not state:
            errors.append(required(f"{at}.status"))
        elif state not in known:
            errors.append(not_supported(f"{at}.status", state, known))
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if other in kinds[:index]:
            detail = "Approved and Denied conditions are mutually exclusive"
            errors.append(invalid_field(_CONDITIONS, kind, detail))
        if kind in kinds[:index]:
            errors.append(duplicate(f"{at}.type", kind))
    return errors


def updated_request(obj: Object, old: Object) -> Errors:
    """The errors of a CertificateSigningRequest that is written over an old one."""
    return _update(obj, old, approves=False, certifies=False)


def updated_request_status(obj: Object, old: Object) -> Errors:
    """The errors of a CertificateSigningRequest whose status is written."""
    return _update(obj, old, approves=False, certifies=True)


def approved_request(obj: Object, old: Object) -> Errors:
    """The errors of a CertificateSigningRequest that is approved or denied."""
    return _update(obj, old, approves=True, certifies=False)


def _conditions_of(obj: Object, kind: str) -> list[Object]:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return [condition for condition in conditions if condition.get("type") == kind]


def _update(obj: Object, old: Object, *, approves: bool, certifies: bool) -> Errors:
    errors = _request(obj)
    for kind in _TRUE_ONLY:
        if len(_conditions_of(obj, kind)) < len(_conditions_of(old, kind)):
            detail = f'updates may not remove a condition of type "{kind}"'
            errors.append(forbidden_field(_CONDITIONS, detail))
    for kind in () if approves else _TRUE_ONLY[:2]:
        errors += _kept_conditions(_conditions_of(obj, kind), _conditions_of(old, kind), kind)
    new, before = ((holder.get("status") or {}).get("certificate", "") for holder in (obj, old))
    if new != before and not certifies:
        errors.append(forbidden_field("status.certificate", "updates may not set certificate content"))
    elif new != before and before:
        detail = "updates may not modify existing certificate content"
        errors.append(forbidden_field("status.certificate", detail))
    return errors + updated_metadata(obj, old)


def _kept_conditions(new: list[Object], old: list[Object], kind: str) -> Errors:
    if len(new) > len(old):
        return [forbidden_field(_CONDITIONS, f'updates may not add a condition of type "{kind}"')]
    if len(new) < len(old) or new == old:
        return []
    changes = difference("[]certificates.CertificateSigningRequestCondition", old, new)
    return [forbidden_field(_CONDITIONS, f'updates may not modify a condition of type "{kind}"\n{changes}')]


def created_trust_bundle(obj: Object) -> Errors:
    """The errors of a new ClusterTrustBundle."""
    bundle = (obj.get("spec") or {}).get("trustBundle", "")
    return _named_bundle(obj) + _bundle(bundle, "spec.trustBundle")


def _named_bundle(obj: Object) -> Errors:
    signer = (obj.get("spec") or {}).get("signerName", "")
    errors = created_metadata(obj, False, lambda name: trust_bundle_name(signer, name))
    return errors + (signer_name(signer, "spec.signerName") if signer else [])


def _bundle(text: str, path: str) -> Errors:
    if len(text.encode()) > 1024 * 1024:
        return [too_long(path, 1024 * 1024)]
    errors: Errors = []
    seen: dict[bytes, list[int]] = {}
    for index, (kind, body) in enumerate(pem_blocks(text.encode())):
        problem = _anchor_problem(kind, body)
        if problem:
            errors.append(invalid_field(path, _OMITTED, f"entry {index} {problem}"))
        elif body:
            seen.setdefault(body, []).append(index)
    if errors:
        return errors
    if not seen:
        return [invalid_field(path, _OMITTED, "at least one trust anchor must be provided")]
    twice = [" ".join(map(str, places)) for places in seen.values() if len(places) > 1]
    return [invalid_field(path, _OMITTED, f"duplicate trust anchor (indices [{places}])") for places in twice]


def _anchor_problem(kind: str, body: bytes | None) -> str:
    if kind != "CERTIFICATE":
        return f"has bad block type: {kind}"
    if body is None:
        return "has PEM block headers"
    if not _is_certificate(body):
        return "does not parse as X.509"
    return "" if _is_authority(body) else "does not have the CA bit set"


def _is_authority(body: bytes) -> bool:
    try:
        extensions = x509.load_der_x509_certificate(body).extensions
        return extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, x509.ExtensionNotFound):
        return False


def updated_trust_bundle(obj: Object, old: Object) -> Errors:
    """The errors of a ClusterTrustBundle that is written over an old one."""
    new, before = (holder.get("spec") or {} for holder in (obj, old))
    bundle = new.get("trustBundle", "")
    errors = _named_bundle(obj)
    errors += [] if bundle == before.get("trustBundle", "") else _bundle(bundle, "spec.trustBundle")
    errors += updated_metadata(obj, old)
    return errors + immutable("spec.signerName", new.get("signerName", ""), before.get("signerName", ""))
