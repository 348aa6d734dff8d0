"""How each kind is treated when it is written and deleted, beside what is valid: the facts, in one table."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright_apiserver.validation.equality import same_field

__all__ = ["Path", "Strategy", "bumps_generation", "strategy"]

Path = tuple[str, ...]
_SPEC: Final[Path] = ("spec",)
_STATUS: Final[Path] = ("status",)
_METADATA: Final[Path] = ("metadata",)


class Strategy(msgspec.Struct, frozen=True, kw_only=True):
    """How the objects of a kind are treated. What is said here holds for most kinds, the table has the others."""

    generation: int = 0
    """The ``metadata.generation`` of a new object; zero for kinds that have none."""
    generation_of: tuple[Path, ...] = ()
    """The parts whose change moves the generation on by one; ``("*",)`` stands for all but the metadata."""
    resets: dict[str, tuple[Path, ...]] = {}
    """For each subresource, the object itself being ``""``: the parts that a write there cannot change.

    They are put back from the old object, and server-side apply does not let a manager own them.
    """
    keeps_status_on_create: bool = False
    """Whether a new object may come with a status; else it is wiped, or set by the kind's own beginning."""
    creates_on_update: bool = False
    """Whether PUT makes an object that is not there."""
    updates_unconditionally: bool = True
    """Whether PUT without a resourceVersion overwrites whatever there is."""
    returns_deleted: bool = False
    """Whether DELETE answers with the object; else with a Status, unless deletion is only pending."""
    propagation: str = "Background"
    """What happens to dependents when a deletion does not say."""
    dies_gracefully: bool = False
    """Whether a deletion gives the object time, as pods get ``spec.terminationGracePeriodSeconds``."""
    immutable: tuple[str, ...] = ()
    """Fields that updates may not change, told with ``field is immutable`` or words of their own."""

    @property
    def has_status(self) -> bool:
        """Whether the status is written by an address of its own."""
        return "status" in self.resets


def _with_status(*more: Path, **facts: Any) -> Strategy:
    """A kind whose main address leaves the status alone, and whose status address leaves spec and ``more`` alone."""
    return Strategy(resets={"": (_STATUS,), "status": (_SPEC, *more)}, **facts)


def _generated(*more: Path, of: tuple[Path, ...] = (_SPEC,), **facts: Any) -> Strategy:
    return _with_status(*more, generation=1, generation_of=of, **facts)


_PLAIN: Final = Strategy()
_NEEDS_REVISION: Final = Strategy(updates_unconditionally=False)
_POLICY: Final = Strategy(generation=1, generation_of=(_SPEC,), updates_unconditionally=False)
_WEBHOOKS: Final = Strategy(generation=1, generation_of=(("webhooks",),), updates_unconditionally=False)
_ROLE: Final = Strategy(creates_on_update=True)
_BINDING: Final = Strategy(creates_on_update=True, immutable=("roleRef",))
_CUSTOM: Final = Strategy(generation=1, generation_of=(("*",),), updates_unconditionally=False)

_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_NETWORKING: Final = "networking.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_CERTIFICATES: Final = "certificates.k8s.io"
_RESOURCE: Final = "resource.k8s.io"

_STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    ("", "ConfigMap"): _PLAIN,
    ("", "Endpoints"): Strategy(creates_on_update=True),
    ("", "Event"): Strategy(creates_on_update=True, propagation="Unsupported"),
    ("", "LimitRange"): Strategy(creates_on_update=True),
    ("", "Namespace"): Strategy(
        resets={"": (_STATUS, ("spec", "finalizers")), "status": (_SPEC,), "finalize": (_STATUS,)},
        returns_deleted=True,
    ),
    ("", "Node"): _with_status(keeps_status_on_create=True, immutable=("spec.podCIDRs", "spec.providerID")),
    ("", "PersistentVolume"): _with_status(
        returns_deleted=True, immutable=("spec.persistentvolumesource", "spec.volumeMode", "spec.nodeAffinity")
    ),
    ("", "PersistentVolumeClaim"): _with_status(returns_deleted=True, immutable=("spec",)),
    ("", "Pod"): Strategy(
        generation=1,
        generation_of=(_SPEC,),
        resets={
            "": (_STATUS,),
            "status": (_SPEC, ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")),
            "ephemeralcontainers": (_STATUS,),
            "resize": (_STATUS,),
        },
        returns_deleted=True,
        dies_gracefully=True,
        immutable=("spec",),
    ),
    ("", "PodTemplate"): Strategy(generation=1, generation_of=(("template",),), returns_deleted=True),
    ("", "ReplicationController"): _generated(propagation="Orphan"),
    ("", "ResourceQuota"): _with_status(returns_deleted=True, immutable=("spec.scopes",)),
    ("", "Secret"): Strategy(immutable=("type",)),
    ("", "Service"): _with_status(
        creates_on_update=True, returns_deleted=True, immutable=("spec.clusterIPs", "spec.ipFamilies")
    ),
    ("", "ServiceAccount"): Strategy(returns_deleted=True),
    ("apps", "ControllerRevision"): Strategy(immutable=("data",)),
    ("apps", "DaemonSet"): _generated(immutable=("spec.selector",)),
    ("apps", "Deployment"): _generated(
        ("metadata", "labels"), of=(_SPEC, ("metadata", "annotations")), immutable=("spec.selector",)
    ),
    ("apps", "ReplicaSet"): _generated(immutable=("spec.selector",)),
    ("apps", "StatefulSet"): _generated(
        immutable=("spec.selector", "spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates")
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): _with_status(),
    ("batch", "CronJob"): _generated(),
    ("batch", "Job"): _generated(
        propagation="Orphan", immutable=("spec.selector", "spec.template", "spec.completions", "spec.completionMode")
    ),
    ("coordination.k8s.io", "Lease"): Strategy(creates_on_update=True, updates_unconditionally=False),
    ("coordination.k8s.io", "LeaseCandidate"): Strategy(
        creates_on_update=True, updates_unconditionally=False, immutable=("spec.leaseName",)
    ),
    ("discovery.k8s.io", "EndpointSlice"): Strategy(
        generation=1, generation_of=(("*",), ("metadata", "labels")), immutable=("addressType",)
    ),
    ("events.k8s.io", "Event"): Strategy(creates_on_update=True, propagation="Unsupported"),
    ("node.k8s.io", "RuntimeClass"): Strategy(
        creates_on_update=True, updates_unconditionally=False, immutable=("handler",)
    ),
    ("policy", "PodDisruptionBudget"): _generated(updates_unconditionally=False),
    ("scheduling.k8s.io", "PriorityClass"): Strategy(generation=1, immutable=("value", "preemptionPolicy")),
    ("storagemigration.k8s.io", "StorageVersionMigration"): _with_status(
        _METADATA, updates_unconditionally=False, immutable=("spec",)
    ),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _generated(updates_unconditionally=False),
    ("apiregistration.k8s.io", "APIService"): _with_status(_METADATA, updates_unconditionally=False),
    (_ADMISSION, "MutatingAdmissionPolicy"): _POLICY,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): _POLICY,
    (_ADMISSION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_ADMISSION, "ValidatingAdmissionPolicy"): _generated(_METADATA, updates_unconditionally=False),
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): _POLICY,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_CERTIFICATES, "CertificateSigningRequest"): Strategy(
        resets={
            "": (_SPEC, _STATUS),
            "status": (_SPEC, ("status", "conditions")),
            "approval": (_SPEC, ("status", "certificate")),
        }
    ),
    (_CERTIFICATES, "ClusterTrustBundle"): Strategy(updates_unconditionally=False, immutable=("spec.signerName",)),
    (_CERTIFICATES, "PodCertificateRequest"): Strategy(
        resets={"": (_STATUS,), "status": (_SPEC, _METADATA)}, updates_unconditionally=False, immutable=("spec",)
    ),
    (_FLOW, "FlowSchema"): _generated(_METADATA),
    (_FLOW, "PriorityLevelConfiguration"): _generated(_METADATA),
    (_NETWORKING, "IPAddress"): Strategy(immutable=("spec.parentRef",)),
    (_NETWORKING, "Ingress"): _generated(),
    (_NETWORKING, "IngressClass"): Strategy(generation=1, generation_of=(_SPEC,), immutable=("spec.controller",)),
    (_NETWORKING, "NetworkPolicy"): Strategy(generation=1, generation_of=(_SPEC,)),
    (_NETWORKING, "ServiceCIDR"): _with_status(_METADATA, immutable=("spec.cidrs",)),
    (_RBAC, "ClusterRole"): _ROLE,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
    (_RBAC, "Role"): _ROLE,
    (_RBAC, "RoleBinding"): _BINDING,
    (_RESOURCE, "DeviceClass"): Strategy(generation=1, generation_of=(_SPEC,), returns_deleted=True),
    (_RESOURCE, "DeviceTaintRule"): _generated(_METADATA, returns_deleted=True),
    (_RESOURCE, "ResourceClaim"): _with_status(_METADATA, returns_deleted=True, immutable=("spec",)),
    (_RESOURCE, "ResourceClaimTemplate"): Strategy(returns_deleted=True, immutable=("spec",)),
    (_RESOURCE, "ResourceSlice"): Strategy(generation=1, generation_of=(_SPEC,), returns_deleted=True),
    (_STORAGE, "CSIDriver"): Strategy(
        generation_of=(_SPEC,),
        updates_unconditionally=False,
        returns_deleted=True,
        immutable=("spec.attachRequired", "spec.volumeLifecycleModes"),
    ),
    (_STORAGE, "CSINode"): Strategy(updates_unconditionally=False, returns_deleted=True),
    (_STORAGE, "CSIStorageCapacity"): Strategy(
        updates_unconditionally=False, immutable=("nodeTopology", "storageClassName")
    ),
    (_STORAGE, "StorageClass"): Strategy(
        returns_deleted=True, immutable=("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")
    ),
    (_STORAGE, "VolumeAttachment"): _with_status(
        _METADATA, updates_unconditionally=False, returns_deleted=True, immutable=("spec",)
    ),
    (_STORAGE, "VolumeAttributesClass"): Strategy(returns_deleted=True, immutable=("driverName", "parameters")),
}


def strategy(group: str, kind: str) -> Strategy:
    """How the objects of a kind are treated; a custom resource as one without a status of its own."""
    return _STRATEGIES.get((group, kind), _CUSTOM)


def bumps_generation(treated: Strategy, definition: str, new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a change moves the generation on; ``definition`` names the schema of the object's type."""
    return any(not _same_part(definition, part, new, old) for part in treated.generation_of)


def _same_part(definition: str, part: Path, new: dict[str, Any], old: dict[str, Any]) -> bool:
    if part == ("*",):
        names = (new.keys() | old.keys()) - {"metadata", "apiVersion", "kind"}
        return all(same_field(definition, name, new, old) for name in names)
    if part[0] == "metadata":
        return (new["metadata"].get(part[1]) or {}) == (old["metadata"].get(part[1]) or {})
    return same_field(definition, part[0], new, old)
