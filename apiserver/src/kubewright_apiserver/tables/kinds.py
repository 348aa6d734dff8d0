"""Which cells the built-in kinds have."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from kubewright_apiserver.data import tables
from kubewright_apiserver.tables import autoscalers, cluster, devices, networking, policies, storage, workloads
from kubewright_apiserver.tables.columns import Cells, Shape, columns_of
from kubewright_apiserver.tables.pods import pod_cells, pod_conditions

__all__ = ["builtin_shape", "is_untabled"]

_CELLS: Final[dict[str, Cells]] = {
    "/ComponentStatus": cluster.component_status_cells,
    "/ConfigMap": cluster.config_map_cells,
    "/Endpoints": networking.endpoints_cells,
    "/Event": cluster.event_cells,
    "/Namespace": cluster.namespace_cells,
    "/Node": cluster.node_cells,
    "/PersistentVolume": storage.volume_cells,
    "/PersistentVolumeClaim": storage.claim_cells,
    "/Pod": pod_cells,
    "/PodTemplate": workloads.pod_template_cells,
    "/ReplicationController": workloads.replication_controller_cells,
    "/ResourceQuota": cluster.resource_quota_cells,
    "/Secret": cluster.secret_cells,
    "/Service": networking.service_cells,
    "/ServiceAccount": cluster.named_cells,
    "admissionregistration.k8s.io/MutatingAdmissionPolicy": policies.mutating_policy_cells,
    "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding": policies.policy_binding_cells,
    "admissionregistration.k8s.io/MutatingWebhookConfiguration": policies.webhooks_cells,
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy": policies.validating_policy_cells,
    "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding": policies.policy_binding_cells,
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration": policies.webhooks_cells,
    "apiregistration.k8s.io/APIService": cluster.api_service_cells,
    "apps/ControllerRevision": workloads.controller_revision_cells,
    "apps/DaemonSet": workloads.daemon_set_cells,
    "apps/Deployment": workloads.deployment_cells,
    "apps/ReplicaSet": workloads.replica_set_cells,
    "apps/StatefulSet": workloads.stateful_set_cells,
    "autoscaling/HorizontalPodAutoscaler": autoscalers.autoscaler_cells,
    "autoscaling/Scale": workloads.scale_cells,
    "batch/CronJob": workloads.cron_job_cells,
    "batch/Job": workloads.job_cells,
    "certificates.k8s.io/CertificateSigningRequest": policies.signing_request_cells,
    "certificates.k8s.io/ClusterTrustBundle": policies.trust_bundle_cells,
    "certificates.k8s.io/PodCertificateRequest": policies.pod_certificate_request_cells,
    "coordination.k8s.io/Lease": cluster.lease_cells,
    "coordination.k8s.io/LeaseCandidate": cluster.lease_candidate_cells,
    "discovery.k8s.io/EndpointSlice": networking.endpoint_slice_cells,
    "events.k8s.io/Event": cluster.event_cells,
    "flowcontrol.apiserver.k8s.io/FlowSchema": policies.flow_schema_cells,
    "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration": policies.priority_level_cells,
    "networking.k8s.io/IPAddress": networking.ip_address_cells,
    "networking.k8s.io/Ingress": networking.ingress_cells,
    "networking.k8s.io/IngressClass": networking.ingress_class_cells,
    "networking.k8s.io/NetworkPolicy": networking.network_policy_cells,
    "networking.k8s.io/ServiceCIDR": networking.service_cidr_cells,
    "node.k8s.io/RuntimeClass": cluster.runtime_class_cells,
    "policy/PodDisruptionBudget": workloads.pod_disruption_budget_cells,
    "rbac.authorization.k8s.io/ClusterRoleBinding": policies.binding_cells,
    "rbac.authorization.k8s.io/RoleBinding": policies.binding_cells,
    "resource.k8s.io/DeviceClass": cluster.named_cells,
    "resource.k8s.io/DeviceTaintRule": devices.device_taint_cells,
    "resource.k8s.io/ResourceClaim": devices.resource_claim_cells,
    "resource.k8s.io/ResourceClaimTemplate": cluster.named_cells,
    "resource.k8s.io/ResourceSlice": devices.resource_slice_cells,
    "scheduling.k8s.io/PriorityClass": cluster.priority_class_cells,
    "storage.k8s.io/CSIDriver": storage.csi_driver_cells,
    "storage.k8s.io/CSINode": storage.csi_node_cells,
    "storage.k8s.io/StorageClass": storage.storage_class_cells,
    "storage.k8s.io/VolumeAttachment": storage.volume_attachment_cells,
    "storage.k8s.io/VolumeAttributesClass": storage.volume_attributes_class_cells,
    "storagemigration.k8s.io/StorageVersionMigration": cluster.storage_version_migration_cells,
}
_NO_TIME: Final = "0001-01-01T00:00:00Z"


@cache
def builtin_shape(group: str, kind: str) -> Shape:
    """How the objects of a built-in kind are shown; by name and time of creation if nobody said how."""
    cells = _CELLS.get(f"{group}/{kind}")
    columns = columns_of(group, kind)
    if cells is None:
        return Shape(columns, _default_cells, is_null_when_empty=True)
    conditions = pod_conditions if (group, kind) == ("", "Pod") else None
    return Shape(columns, cells, conditions, order=_precedence if kind == "FlowSchema" else None)


def _default_cells(obj: dict[str, Any], now: float) -> list[Any]:
    metadata = obj["metadata"]
    return [metadata.get("name", ""), metadata.get("creationTimestamp") or _NO_TIME]


def _precedence(obj: dict[str, Any]) -> tuple[int, str]:
    return obj["spec"].get("matchingPrecedence", 0), obj["metadata"]["name"]


@cache
def is_untabled(group: str, plural: str, subresource: str) -> bool:
    """Whether the objects at addresses of a built-in resource are never shown as a table."""
    return f"{group}/{plural}/{subresource}".rstrip("/") in tables()["untabled"]
