"""Which rules hold for which kind: a table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from kubewright_apiserver.validation import (
    admission,
    autoscaling,
    batch,
    certificates,
    claim,
    config,
    coordination,
    endpoints,
    event,
    flowcontrol,
    ingress,
    job_status,
    namespace,
    networking,
    node,
    persistent_volume,
    pod,
    pod_resize,
    pod_status,
    pod_update,
    policy,
    quota,
    rbac,
    registration,
    review,
    service,
    statuses,
    storage,
    workloads,
)
from kubewright_apiserver.validation.metadata import created_metadata, updated_metadata
from kubewright_apiserver.validation.names import (
    NameRule,
    any_name,
    config_key,
    dns_label,
    dns_subdomain,
    path_segment,
)
from kubewright_apiserver.validation.rules import Errors, Object

__all__ = ["KINDS", "Rules"]

Created = Callable[[Object], Errors]
Updated = Callable[[Object, Object], Errors]


class Rules(NamedTuple):
    """The rules of a kind."""

    created: Created
    updated: Updated
    namespaced: bool = True
    name: NameRule = dns_subdomain
    subresources: dict[str, Updated] = {}
    """The rules for writing a part, such as the status."""
    lacks_metadata: bool = False
    """Whether ``created`` leaves some of the metadata to the rules that hold for every kind."""
    is_kept: bool = True
    """Whether objects are stored; requests like a SubjectAccessReview are answered and gone."""


def _as_created(created: Created) -> Updated:
    return lambda obj, old: created(obj)


def _metadata_only(namespaced: bool) -> Rules:
    status: dict[str, Updated] = {"status": updated_metadata}
    return Rules(
        lambda obj: created_metadata(obj, namespaced, dns_subdomain), updated_metadata, namespaced, subresources=status
    )


def _request(created: Created) -> Rules:
    return Rules(created, _as_created(created), is_kept=False)


_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_NETWORKING: Final = "networking.k8s.io"
_FLOW: Final = "flowcontrol.apiserver.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"
_CERTIFICATES: Final = "certificates.k8s.io"
_RESOURCE: Final = "resource.k8s.io"

_CORE: Final[dict[str, Rules]] = {
    "Binding": _request(review.created_binding),
    "ConfigMap": Rules(config.created_config_map, config.updated_config_map),
    "Endpoints": Rules(endpoints.created_endpoints, endpoints.updated_endpoints),
    "Event": Rules(event.created_core_event, event.updated_core_event, name=path_segment, lacks_metadata=True),
    "LimitRange": Rules(quota.created_limit_range, quota.updated_limit_range),
    "Namespace": Rules(
        namespace.created_namespace,
        namespace.updated_namespace,
        False,
        dns_label,
        {"status": namespace.updated_namespace_status, "finalize": namespace.updated_namespace_finalizers},
    ),
    "Node": Rules(node.created_node, node.updated_node, False, subresources={"status": node.updated_node_status}),
    "PersistentVolume": Rules(
        persistent_volume.created_volume,
        persistent_volume.updated_volume,
        False,
        subresources={"status": persistent_volume.updated_volume_status},
    ),
    "PersistentVolumeClaim": Rules(
        claim.created_claim, claim.updated_claim, subresources={"status": claim.updated_claim_status}
    ),
    "Pod": Rules(
        pod.created_pod,
        pod_update.updated_pod,
        subresources={
            "status": pod_status.updated_pod_status,
            "ephemeralcontainers": pod_update.updated_ephemeral_containers,
            "resize": pod_resize.resized_pod,
        },
    ),
    "PodTemplate": Rules(workloads.created_pod_template, workloads.updated_pod_template),
    "ReplicationController": Rules(
        workloads.created_replication_controller,
        workloads.updated_replication_controller,
        subresources={"status": statuses.updated_replica_set_status},
        lacks_metadata=True,
    ),
    "ResourceQuota": Rules(
        quota.created_quota, quota.updated_quota, subresources={"status": quota.updated_quota_status}
    ),
    "Secret": Rules(config.created_secret, config.updated_secret),
    "Service": Rules(
        service.created_service,
        service.updated_service,
        name=dns_label,
        subresources={"status": service.updated_service_status},
    ),
    "ServiceAccount": Rules(config.created_service_account, config.updated_service_account),
}
_APPS: Final[dict[str, Rules]] = {
    "ControllerRevision": Rules(workloads.created_revision, workloads.updated_revision),
    "DaemonSet": Rules(
        workloads.created_daemon_set,
        workloads.updated_daemon_set,
        subresources={"status": statuses.updated_daemon_set_status},
    ),
    "Deployment": Rules(
        workloads.created_deployment,
        workloads.updated_deployment,
        subresources={"status": statuses.updated_deployment_status},
    ),
    "ReplicaSet": Rules(
        workloads.created_replica_set,
        workloads.updated_replica_set,
        subresources={"status": statuses.updated_replica_set_status},
    ),
    "StatefulSet": Rules(
        workloads.created_stateful_set,
        workloads.updated_stateful_set,
        name=dns_label,
        subresources={"status": statuses.updated_stateful_set_status},
    ),
}
_POLICIES: Final[dict[str, Rules]] = {
    kind: Rules(created, _as_created(created), False)
    for kind, created in {
        "MutatingAdmissionPolicy": admission.created_mutating_policy,
        "MutatingAdmissionPolicyBinding": admission.created_mutating_binding,
        "MutatingWebhookConfiguration": admission.created_mutating_webhooks,
        "ValidatingAdmissionPolicyBinding": admission.created_validating_binding,
        "ValidatingWebhookConfiguration": admission.created_validating_webhooks,
    }.items()
}
_OTHERS: Final[dict[tuple[str, str], Rules]] = {
    (_ADMISSION, "ValidatingAdmissionPolicy"): Rules(
        admission.created_validating_policy,
        _as_created(admission.created_validating_policy),
        False,
        subresources={"status": admission.updated_validating_policy_status},
    ),
    ("apiregistration.k8s.io", "APIService"): Rules(
        registration.created_api_service,
        registration.updated_api_service,
        False,
        path_segment,
        {"status": registration.updated_api_service_status},
    ),
    ("authentication.k8s.io", "TokenRequest"): _request(review.created_token_request),
    (_AUTHORIZATION, "LocalSubjectAccessReview"): _request(review.created_local_access_review),
    (_AUTHORIZATION, "SelfSubjectAccessReview"): _request(review.created_self_access_review),
    (_AUTHORIZATION, "SubjectAccessReview"): _request(review.created_access_review),
    ("autoscaling", "HorizontalPodAutoscaler"): Rules(
        autoscaling.created_autoscaler,
        autoscaling.updated_autoscaler,
        subresources={"status": autoscaling.updated_autoscaler_status},
    ),
    ("autoscaling", "Scale"): _request(autoscaling.created_scale),
    ("batch", "CronJob"): Rules(
        batch.created_cron_job, batch.updated_cron_job, subresources={"status": lambda obj, old: []}
    ),
    ("batch", "Job"): Rules(
        batch.created_job, batch.updated_job, subresources={"status": job_status.updated_job_status}
    ),
    (_CERTIFICATES, "CertificateSigningRequest"): Rules(
        certificates.created_request,
        certificates.updated_request,
        False,
        any_name,
        {"status": certificates.updated_request_status, "approval": certificates.approved_request},
        lacks_metadata=True,
    ),
    (_CERTIFICATES, "ClusterTrustBundle"): Rules(
        certificates.created_trust_bundle, certificates.updated_trust_bundle, False, path_segment
    ),
    (_CERTIFICATES, "PodCertificateRequest"): _metadata_only(True),
    ("coordination.k8s.io", "Lease"): Rules(coordination.created_lease, coordination.updated_lease),
    ("coordination.k8s.io", "LeaseCandidate"): Rules(
        coordination.created_candidate, coordination.updated_candidate, name=config_key
    ),
    ("discovery.k8s.io", "EndpointSlice"): Rules(endpoints.created_endpoint_slice, endpoints.updated_endpoint_slice),
    ("events.k8s.io", "Event"): Rules(event.created_event, event.updated_event),
    (_FLOW, "FlowSchema"): Rules(
        flowcontrol.created_flow_schema,
        flowcontrol.updated_flow_schema,
        False,
        subresources={"status": flowcontrol.updated_flow_status},
    ),
    (_FLOW, "PriorityLevelConfiguration"): Rules(
        flowcontrol.created_priority_level,
        flowcontrol.updated_priority_level,
        False,
        subresources={"status": flowcontrol.updated_flow_status},
    ),
    (_NETWORKING, "IPAddress"): Rules(
        networking.created_ip_address, networking.updated_ip_address, False, networking.ip_address_name
    ),
    (_NETWORKING, "Ingress"): Rules(
        ingress.created_ingress, ingress.updated_ingress, subresources={"status": ingress.updated_ingress_status}
    ),
    (_NETWORKING, "IngressClass"): Rules(ingress.created_ingress_class, ingress.updated_ingress_class, False),
    (_NETWORKING, "NetworkPolicy"): Rules(networking.created_network_policy, networking.updated_network_policy),
    (_NETWORKING, "ServiceCIDR"): Rules(
        networking.created_service_cidr,
        networking.updated_service_cidr,
        False,
        subresources={"status": updated_metadata},
    ),
    ("node.k8s.io", "RuntimeClass"): Rules(node.created_runtime_class, node.updated_runtime_class, False),
    ("policy", "PodDisruptionBudget"): Rules(
        policy.created_budget,
        policy.updated_budget,
        name=path_segment,
        subresources={"status": policy.updated_budget_status},
        lacks_metadata=True,
    ),
    (_RBAC, "ClusterRole"): Rules(rbac.created_cluster_role, rbac.updated_cluster_role, False, rbac.rbac_name),
    (_RBAC, "ClusterRoleBinding"): Rules(
        rbac.created_cluster_role_binding, rbac.updated_cluster_role_binding, False, rbac.rbac_name
    ),
    (_RBAC, "Role"): Rules(rbac.created_role, rbac.updated_role, name=rbac.rbac_name),
    (_RBAC, "RoleBinding"): Rules(rbac.created_role_binding, rbac.updated_role_binding, name=rbac.rbac_name),
    (_RESOURCE, "DeviceClass"): _metadata_only(False),
    (_RESOURCE, "DeviceTaintRule"): _metadata_only(False),
    (_RESOURCE, "ResourceClaim"): _metadata_only(True),
    (_RESOURCE, "ResourceClaimTemplate"): _metadata_only(True),
    (_RESOURCE, "ResourceSlice"): _metadata_only(False),
    ("scheduling.k8s.io", "PriorityClass"): Rules(
        namespace.created_priority_class, namespace.updated_priority_class, False
    ),
    (_STORAGE, "CSIDriver"): Rules(storage.created_csi_driver, storage.updated_csi_driver, False),
    (_STORAGE, "CSINode"): Rules(storage.created_csi_node, storage.updated_csi_node, False),
    (_STORAGE, "CSIStorageCapacity"): Rules(storage.created_storage_capacity, storage.updated_storage_capacity),
    (_STORAGE, "StorageClass"): Rules(storage.created_storage_class, storage.updated_storage_class, False),
    (_STORAGE, "VolumeAttachment"): Rules(
        storage.created_attachment,
        storage.updated_attachment,
        False,
        subresources={"status": storage.updated_attachment},
    ),
    (_STORAGE, "VolumeAttributesClass"): Rules(
        storage.created_attributes_class, storage.updated_attributes_class, False
    ),
    ("storagemigration.k8s.io", "StorageVersionMigration"): Rules(
        registration.created_migration,
        registration.updated_migration,
        False,
        subresources={"status": registration.updated_migration_status},
    ),
}

KINDS: Final[dict[tuple[str, str], Rules]] = {
    **{("", kind): rules for kind, rules in _CORE.items()},
    **{("apps", kind): rules for kind, rules in _APPS.items()},
    **{(_ADMISSION, kind): rules for kind, rules in _POLICIES.items()},
    **_OTHERS,
}
"""The rules of every built-in kind, by group and kind."""
