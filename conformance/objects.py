"""Small objects that cases begin with."""

from __future__ import annotations

from typing import Any

__all__ = ["CRDS", "DEPLOYMENTS", "MAPS", "PODS", "config_map", "crd", "deployment", "pod"]

MAPS = "/api/v1/namespaces/{ns}/configmaps"
PODS = "/api/v1/namespaces/{ns}/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/{ns}/deployments"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def config_map(name: str = "a", labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    metadata: dict[str, Any] = {"name": name} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata} | ({"data": data} if data else {})


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    """A Pod of one container."""
    containers = [{"name": "c", "image": "busybox:1.36"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": containers, **spec},
    }


def deployment(name: str = "d", **spec: Any) -> dict[str, Any]:
    """A Deployment of that Pod."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod()["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def crd(plural: str, group: str, schema: dict[str, Any] | None = None, **version: Any) -> dict[str, Any]:
    """A CRD of one version, for a kind named after its plural."""
    kind = plural.rstrip("s").capitalize()
    schema = schema or {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    first = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
    names = {"plural": plural, "kind": kind}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [first]},
    }
