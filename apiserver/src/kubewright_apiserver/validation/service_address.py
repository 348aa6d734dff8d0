"""The addresses of Services inside the cluster, and that they stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.status import duplicate, invalid_field, not_supported, required
from kubewright_apiserver.validation.address import ip_errors, is_dual_stack, is_ipv6
from kubewright_apiserver.validation.rules import Errors, Object, enumerated_if_set

__all__ = ["changed_addresses", "changed_families", "cluster_addresses", "is_headless"]

_ADDRESSES: Final = "spec.clusterIPs"
_FAMILIES: Final = "spec.ipFamilies"
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_FIXED: Final = "may not change once set"


def is_headless(spec: Object) -> bool:
    """Whether a Service has no address of its own."""
    return bool(spec.get("clusterIPs") == ["None"])


def cluster_addresses(spec: Object, known: Sequence[str]) -> Errors:
    """The errors of a Service's addresses and their families; ``known`` are those it had."""
    if spec.get("type") == "ExternalName":
        return []
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    errors = _first_address(spec.get("clusterIP", ""), addresses)
    for index, family in enumerate(families):
        if family not in ("IPv4", "IPv6"):
            errors.append(not_supported(f"{_FAMILIES}[{index}]", family, ("IPv4", "IPv6")))
        if family in families[:index]:
            errors.append(duplicate(f"{_FAMILIES}[{index}]", family))
    errors += enumerated_if_set("spec.ipFamilyPolicy", spec.get("ipFamilyPolicy"), _POLICIES)
    wrong = _addresses(addresses, known)
    errors += wrong
    if len(addresses) > 2:
        errors.append(invalid_field(_ADDRESSES, addresses, "may only hold up to 2 values"))
    if wrong:
        return errors
    if len(addresses) > 1 and not is_dual_stack(addresses):
        detail = "may specify no more than one IP for each IP family"
        errors.append(invalid_field(_ADDRESSES, addresses, detail))
    return errors if is_headless(spec) else errors + _families_match(addresses, families)


def _first_address(address: str, addresses: list[str]) -> Errors:
    if address and not addresses:
        return [required(_ADDRESSES)]
    if address and addresses[0] != address:
        return [invalid_field(_ADDRESSES, addresses, "first value must match `clusterIP`")]
    if addresses and not address:
        return [invalid_field(_ADDRESSES, addresses, "must be empty when `clusterIP` is not specified")]
    return []


def _addresses(addresses: list[str], known: Sequence[str]) -> Errors:
    errors: Errors = []
    for index, address in enumerate(addresses):
        if index or address != "None":
            errors += ip_errors(f"{_ADDRESSES}[{index}]", address, known)
        elif len(addresses) > 1:
            errors.append(invalid_field(_ADDRESSES, addresses, "'None' must be the first and only value"))
    return errors


def _families_match(addresses: list[str], families: list[str]) -> Errors:
    errors: Errors = []
    for index, (address, family) in enumerate(zip(addresses, families, strict=False)):
        if family in ("IPv4", "IPv6") and is_ipv6(address) != (family == "IPv6"):
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errors.append(invalid_field(f"{_ADDRESSES}[{index}]", address, detail))
    return errors


def _is_comparable(spec: Object, old: Object) -> bool:
    return "ExternalName" not in (spec.get("type"), old.get("type"))


def changed_addresses(spec: Object, old: Object) -> Errors:
    """The errors of addresses that are not those a Service had."""
    if not _is_comparable(spec, old) or (is_headless(spec) and is_headless(old)):
        return []
    new, before = spec.get("clusterIPs") or [], old.get("clusterIPs") or []
    if len(new) == len(before):
        changed = [index for index, address in enumerate(before) if address != new[index]]
        return [invalid_field(f"{_ADDRESSES}[{index}]", new, _FIXED) for index in changed]
    errors: Errors = []
    if not new:
        errors.append(invalid_field(f"{_ADDRESSES}[0]", None, "primary clusterIP can not be unset"))
    elif before and new[0] != before[0]:
        errors.append(invalid_field(f"{_ADDRESSES}[0]", new, _FIXED))
    return errors + _released(spec, new, before, "clusterIP")


def changed_families(spec: Object, old: Object) -> Errors:
    """The errors of address families that are not those a Service had."""
    if not _is_comparable(spec, old) or is_headless(spec) or is_headless(old):
        return []
    new, before = spec.get("ipFamilies") or [], old.get("ipFamilies") or []
    addresses = spec.get("clusterIPs") or None
    if len(new) == len(before):
        changed = [family for family, other in zip(before, new, strict=True) if family != other]
        return [invalid_field(f"{_FAMILIES}[0]", new, _FIXED) for _ in changed]
    errors: Errors = []
    if len(new) < len(before) and not addresses:
        errors.append(invalid_field(f"{_FAMILIES}[0]", new or None, "primary ipFamily can not be unset"))
    if new and before and new[0] != before[0]:
        errors.append(invalid_field(f"{_FAMILIES}[0]", addresses, _FIXED))
    return errors + _released(spec, new, before, "ipFamily")


def _released(spec: Object, new: list[str], before: list[str], told: str) -> Errors:
    policy = spec.get("ipFamilyPolicy")
    if not (len(new) == 1 < len(before)) or policy == "SingleStack":
        return []
    detail = f"must be set to 'SingleStack' when releasing the secondary {told}"
    return [invalid_field("spec.ipFamilyPolicy", policy, detail)]
