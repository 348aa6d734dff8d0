"""The address families of a Service: what follows from its policy, its addresses and the cluster, or why not."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any, Final

from kubewright_apiserver.defaulting.addresses import family_of
from kubewright_apiserver.status import (
    FieldError,
    duplicate,
    invalid,
    invalid_field,
    not_supported,
)

__all__ = ["init_families", "is_settled", "same_addresses", "same_families"]

Spec = dict[str, Any]
_FAMILIES: Final = ("IPv4", "IPv6")
_POLICIES: Final = ("PreferDualStack", "RequireDualStack", "SingleStack")
_POLICY: Final = "spec.ipFamilyPolicy"
_ADDRESSES: Final = "spec.clusterIPs"


def same_addresses(spec: Spec, old: Spec) -> bool:
    """Whether both have the same addresses."""
    return (spec.get("clusterIPs") or []) == (old.get("clusterIPs") or [])


def same_families(spec: Spec, old: Spec) -> bool:
    """Whether both have the same families."""
    return (spec.get("ipFamilies") or []) == (old.get("ipFamilies") or [])


def is_settled(spec: Spec, old: Spec | None) -> bool:
    """Whether a Service prefers two families and has kept what it got, which is then left alone."""
    if old is None or spec.get("ipFamilyPolicy") != "PreferDualStack" or spec.get("type") != old.get("type"):
        return False
    if spec.get("type") == "ExternalName" or old.get("ipFamilyPolicy", "PreferDualStack") != "PreferDualStack":
        return False
    return same_addresses(spec, old) and same_families(spec, old)


def init_families(service: dict[str, Any], old: Spec | None, available: tuple[str, ...]) -> None:
    """Set policy and families of a Service in place. Raises a ``Refusal`` for a combination that cannot be."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName" or is_settled(spec, old):
        return
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = _implied_policy(spec, old)
    _refuse(service, _address_errors(spec, old))
    _refuse(service, _policy_errors(spec, old) + _infer_families(spec, available))
    if _is_free_headless(spec):
        spec["ipFamilies"] = _with_other(spec, spec.get("ipFamilies") or [available[0]])
        return
    _refuse(service, _availability_errors(spec, available))
    families = spec.get("ipFamilies") or [available[0]]
    spec["ipFamilies"] = _with_other(spec, families) if len(set(available)) == 2 else families


def _refuse(service: dict[str, Any], errors: list[FieldError]) -> None:
    if errors:
        raise invalid("", "Service", service["metadata"].get("name", ""), errors)


def _implied_policy(spec: Spec, old: Spec | None) -> str:
    if old is not None and old.get("ipFamilyPolicy") is not None:
        policy: str = old["ipFamilyPolicy"]
        return policy
    return "RequireDualStack" if _is_free_headless(spec) else "SingleStack"


def _is_free_headless(spec: Spec) -> bool:
    return spec.get("clusterIP") == "None" and not spec.get("selector")


def _with_other(spec: Spec, families: list[str]) -> list[str]:
    if len(families) > 1 or spec["ipFamilyPolicy"] == "SingleStack":
        return families
    return [*families, "IPv6" if families[0] == "IPv4" else "IPv4"]


def _policy_errors(spec: Spec, old: Spec | None) -> list[FieldError]:
    policy = spec["ipFamilyPolicy"]
    errors = []
    if policy == "SingleStack":
        if old is not None:
            _keep_first(spec, old)
        what = (("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families"))
        for field, name in what:
            if len(spec.get(field) or ()) == 2:
                text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {name} are specified"
                errors.append(invalid_field(_POLICY, policy, text))
    elif old is not None:
        for field, name in (("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")):
            if spec.get(field) and len(spec[field]) < len(old.get(field) or ()):
                errors.append(invalid_field(_POLICY, policy, f"must be 'SingleStack' to release the secondary {name}"))
    return errors


def _keep_first(spec: Spec, old: Spec) -> None:
    if same_addresses(spec, old) and len(spec.get("clusterIPs") or ()) > 1:
        spec["clusterIPs"] = spec["clusterIPs"][:1]
    if same_families(spec, old) and len(spec.get("ipFamilies") or ()) > 1:
        spec["ipFamilies"] = spec["ipFamilies"][:1]


def _infer_families(spec: Spec, available: tuple[str, ...]) -> list[FieldError]:
    errors = []
    addresses = spec.get("clusterIPs") or []
    families = list(spec.get("ipFamilies") or ())
    for index, address in enumerate(addresses):
        if address == "None":
            break
        if index >= len(families):
            family = family_of(address)
            if family in available:
                families.append(family)
            else:
                text = f"{family} is not configured on this cluster"
                errors.append(invalid_field(f"{_ADDRESSES}[{index}]", addresses, text))
    if families:
        spec["ipFamilies"] = families
    return errors


def _availability_errors(spec: Spec, available: tuple[str, ...]) -> list[FieldError]:
    errors = []
    policy = spec["ipFamilyPolicy"]
    if policy == "RequireDualStack" and len(set(available)) < 2:
        errors.append(invalid_field(_POLICY, policy, "this cluster is not configured for dual-stack services"))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family not in available:
            errors.append(invalid_field(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    return errors


def _address_errors(spec: Spec, old: Spec | None) -> list[FieldError]:
    addresses = spec.get("clusterIPs") or []
    families = spec.get("ipFamilies") or []
    errors = [*_first_errors(spec.get("clusterIP") or "", addresses), *_family_errors(families)]
    if spec["ipFamilyPolicy"] not in _POLICIES:
        errors.append(not_supported(_POLICY, spec["ipFamilyPolicy"], _POLICIES))
    bad = _bad_addresses(addresses, (old or {}).get("clusterIPs") or [])
    errors += bad
    if len(addresses) > 2:
        errors.append(invalid_field(_ADDRESSES, addresses, "may only hold up to 2 values"))
    if bad:
        return errors
    if len(addresses) > 1 and {family_of(address) for address in addresses} != set(_FAMILIES):
        errors.append(invalid_field(_ADDRESSES, addresses, "may specify no more than one IP for each IP family"))
    return errors + _mismatches(addresses, families)


def _first_errors(first: str, addresses: list[str]) -> list[FieldError]:
    if not first:
        text = "must be empty when `clusterIP` is not specified"
        return [invalid_field(_ADDRESSES, addresses, text)] if addresses else []
    return (
        [] if addresses[:1] == [first] else [invalid_field(_ADDRESSES, addresses, "first value must match `clusterIP`")]
    )


def _family_errors(families: list[str]) -> list[FieldError]:
    errors = []
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            errors.append(not_supported(f"spec.ipFamilies[{index}]", family, _FAMILIES))
        if family in families[:index]:
            errors.append(duplicate(f"spec.ipFamilies[{index}]", family))
    return errors


def _bad_addresses(addresses: list[str], known: list[str]) -> list[FieldError]:
    errors = []
    for index, address in enumerate(addresses):
        if not index and address == "None":
            if len(addresses) > 1:
                errors.append(invalid_field(_ADDRESSES, addresses, "'None' must be the first and only value"))
        elif address not in known:
            errors += _ip_errors(f"{_ADDRESSES}[{index}]", address)
    return errors


def _ip_errors(field: str, text: str) -> list[FieldError]:
    try:
        # Python takes a zone at the end of an address, Go does not.
        address = ip_address(text.replace("%", " "))
    except ValueError:
        if _has_leading_zeros(text):
            return [invalid_field(field, text, "must not have leading 0s")]
        return [invalid_field(field, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    if address.version == 6 and address.ipv4_mapped is not None:
        return [invalid_field(field, text, "must not be an IPv4-mapped IPv6 address")]
    return []


def _has_leading_zeros(text: str) -> bool:
    parts = text.split(".")
    return len(parts) == 4 and all(part.isascii() and part.isdigit() and int(part) <= 255 for part in parts)


def _mismatches(addresses: list[str], families: list[str]) -> list[FieldError]:
    if addresses == ["None"]:
        return []
    return [
        invalid_field(
            f"{_ADDRESSES}[{index}]", address, f"expected an {family} value as indicated by `ipFamilies[{index}]`"
        )
        for index, (address, family) in enumerate(zip(addresses, families, strict=False))
        if family in _FAMILIES and family_of(address) != family
    ]
