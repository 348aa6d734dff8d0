"""``Plugins``: which of kube-apiserver's admission plug-ins a server has, and in which order they act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubewright_apiserver.admission import (
    accounts,
    certificates,
    classes,
    lifecycle,
    limits,
    nodes,
    priority,
    resize,
    runtime_class,
    security,
    storage,
)
from kubewright_apiserver.admission.attributes import Act, Attributes, Rule

__all__ = ["Plugins", "UnknownPlugin"]

# All of kube-apiserver 1.36 in the order in which they act; True for those that it has on by default.
_ORDER: Final = {
    "AlwaysAdmit": False,
    "NamespaceAutoProvision": False,
    "NamespaceLifecycle": True,
    "NamespaceExists": False,
    "LimitPodHardAntiAffinityTopology": False,
    "LimitRanger": True,
    "ServiceAccount": True,
    "NodeRestriction": False,
    "TaintNodesByCondition": True,
    "AlwaysPullImages": False,
    "ImagePolicyWebhook": False,
    "PodSecurity": True,
    "PodNodeSelector": False,
    "Priority": True,
    "DefaultTolerationSeconds": True,
    "PodTolerationRestriction": False,
    "EventRateLimit": False,
    "ExtendedResourceToleration": False,
    "DefaultStorageClass": True,
    "StorageObjectInUseProtection": True,
    "PodGroupProtection": True,
    "OwnerReferencesPermissionEnforcement": False,
    "PersistentVolumeClaimResize": True,
    "RuntimeClass": True,
    "CertificateApproval": True,
    "CertificateSigning": True,
    "ClusterTrustBundleAttest": True,
    "CertificateSubjectRestriction": True,
    "DefaultIngressClass": True,
    "DenyServiceExternalIPs": False,
    "PodTopologyLabels": True,
    "PodGroupWorkloadExists": True,
    "NodeDeclaredFeatureValidator": True,
    "JobValidation": True,
    "PodResizeValidator": True,
    "MutatingAdmissionPolicy": True,
    "MutatingAdmissionWebhook": True,
    "ValidatingAdmissionPolicy": True,
    "ValidatingAdmissionWebhook": True,
    "ResourceQuota": True,
    "AlwaysDeny": False,
}
# Pods would wait for accounts that only a controller manager makes, so that this one has to be asked for.
_OFF_HERE: Final = ("ServiceAccount",)
# Without their feature gates, which are off by default, the real ones do nothing either.
_IDLE: Final = ("AlwaysAdmit", "JobValidation", "PodGroupProtection", "PodGroupWorkloadExists")
_QUOTA: Final = "ResourceQuota"
_RULES: Final[tuple[Rule, ...]] = (
    *accounts.RULES,
    *certificates.RULES,
    *classes.RULES,
    *lifecycle.RULES,
    *limits.RULES,
    *nodes.RULES,
    *priority.RULES,
    *resize.RULES,
    *runtime_class.RULES,
    *security.RULES,
    *storage.RULES,
)


class UnknownPlugin(ValueError):
    """A plug-in that kube-apiserver does not have, or that is to be both on and off; the message is its own."""


class Plugins:
    """The admission plug-ins of one server.

    ``enabled`` and ``disabled`` are the names of those that are on or off other than by default. Raises
    ``UnknownPlugin``.
    """

    def __init__(self, enabled: Sequence[str] = (), disabled: Sequence[str] = ()) -> None:
        _check(enabled, disabled)
        off = {name for name, is_on in _ORDER.items() if not is_on} | {*_OFF_HERE, *disabled}
        self.enabled: tuple[str, ...] = tuple(enabled)
        self.disabled: tuple[str, ...] = tuple(disabled)
        self.names: tuple[str, ...] = tuple(name for name in _ORDER if name not in off - {*enabled})
        """Those that are on, in the order in which they act."""
        own = {rule.plugin for rule in _RULES} | {_QUOTA, *_IDLE}
        self.without_effect: list[str] = [name for name in dict.fromkeys(enabled) if name not in own]
        """Those that were asked for and are not there."""
        self.has_quotas: bool = _QUOTA in self.names
        """Whether what objects use is counted; the last plug-in, which writes into quotas, is asked on its own."""
        self._rules = sorted(
            (rule for rule in _RULES if rule.plugin in self.names), key=lambda rule: self.names.index(rule.plugin)
        )
        self._acts: dict[tuple[str, str, str, bool], tuple[Act, ...]] = {}

    def admit(self, attributes: Attributes) -> None:
        """Let plug-ins fill in what they fill in, or refuse: before the kind's own strategy.

        Raises: a ``Refusal`` in the plug-in's words.
        """
        for act in self.acting(attributes.operation, attributes.resource, attributes.subresource, validates=False):
            act(attributes)

    def validate(self, attributes: Attributes) -> None:
        """Let plug-ins refuse what is about to be stored: after the kind's own rules.

        Raises: a ``Refusal`` in the plug-in's words.
        """
        for act in self.acting(attributes.operation, attributes.resource, attributes.subresource, validates=True):
            act(attributes)

    def acting(self, operation: str, resource: str, subresource: str, *, validates: bool) -> tuple[Act, ...]:
        """What plug-ins do on such a write, in their order."""
        key = (operation, resource, subresource, validates)
        found = self._acts.get(key)
        if found is None:
            about = [
                rule.act for rule in self._rules if rule.is_about(operation, resource, subresource, validates=validates)
            ]
            found = self._acts[key] = tuple(about)
        return found


def _check(enabled: Sequence[str], disabled: Sequence[str]) -> None:
    problems = [
        f'{flag} plugin "{name}" is unknown'
        for flag, names in (("enable-admission-plugins", enabled), ("disable-admission-plugins", disabled))
        for name in names
        if name not in _ORDER
    ]
    both = sorted({*enabled} & {*disabled})
    if both:
        problems.append(f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins overlapped")
    if problems:
        raise UnknownPlugin(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
