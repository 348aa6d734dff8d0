"""CertificateApproval, CertificateSigning and CertificateSubjectRestriction: who may decide on requests, and sign."""

from __future__ import annotations

import base64
import binascii
from typing import Final

from kubewright_apiserver.admission.attributes import Attributes, Object, Rule
from kubewright_apiserver.golang import go_quoted

__all__ = ["RULES"]

_REQUESTS: Final = "certificates.k8s.io/certificatesigningrequests"
_SIGNERS: Final = "certificates.k8s.io/signers"
_CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client"
_MASTERS: Final = "system:masters"


def _check_approval(attributes: Attributes) -> None:
    signer = _signer(attributes)
    if not _is_allowed(attributes, "approve", signer):
        raise attributes.refusal(f"user not permitted to approve requests with signerName {go_quoted(signer)}")


def _check_signing(attributes: Attributes) -> None:
    now, before = _decided(attributes.obj), _decided(attributes.old or {})
    signer = _signer(attributes)
    if now != before and not _is_allowed(attributes, "sign", signer):
        raise attributes.refusal(f"user not permitted to sign requests with signerName {go_quoted(signer)}")


def _decided(request: Object) -> tuple[object, object]:
    status = request.get("status") or {}
    return status.get("certificate") or None, status.get("conditions") or []


def _signer(attributes: Attributes) -> str:
    return str(((attributes.old or {}).get("spec") or {}).get("signerName", ""))


def _is_allowed(attributes: Attributes, verb: str, signer: str) -> bool:
    """Whether the user has the right to the signer, or to all signers of its domain."""
    domain = signer.partition("/")[0]
    return attributes.allows(verb, _SIGNERS, signer) or attributes.allows(verb, _SIGNERS, f"{domain}/*")


def _check_subject(attributes: Attributes) -> None:
    spec = attributes.obj.get("spec") or {}
    if spec.get("signerName") == _CLIENT_SIGNER and _MASTERS in _organizations(spec.get("request", "")):
        raise attributes.refusal(f"use of {_CLIENT_SIGNER} signer with {_MASTERS} group is not allowed")


def _organizations(request: str) -> list[str | bytes]:
    """The groups that a certificate is asked for; the kind's own rules have made sure that it can be read."""
    # It takes long to import, and most servers are never asked to sign anything.
    from cryptography import x509

    try:
        parsed = x509.load_pem_x509_csr(base64.b64decode(request))
    except (ValueError, binascii.Error):
        return []
    return [name.value for name in parsed.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)]


RULES: Final = (
    Rule("CertificateApproval", ("UPDATE",), _REQUESTS, _check_approval, subresource="approval", validates=True),
    Rule("CertificateSigning", ("UPDATE",), _REQUESTS, _check_signing, subresource="status", validates=True),
    Rule("CertificateSubjectRestriction", ("CREATE",), _REQUESTS, _check_subject, validates=True),
)
