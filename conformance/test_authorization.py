"""What somebody may do: the words of a no, roles and bindings, and that nobody gives away more than they have."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, MAPS, PODS, config_map, pod
from conformance.rights import RBAC, Rights, rule

pytestmark = pytest.mark.section("1.13")

ROLES = RBAC + "/namespaces/{ns}/roles"
BINDINGS = RBAC + "/namespaces/{ns}/rolebindings"
GROUP = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{MAPS}/a"),
        ("GET", MAPS),
        ("GET", f"{MAPS}?watch=true"),
        ("GET", f"{MAPS}?fieldSelector=metadata.name%3Da"),
        ("GET", "/api/v1/watch/namespaces/{ns}/configmaps"),
        ("GET", "/api/v1/configmaps"),
        ("GET", "/api/v1/namespaces/{ns}"),
        ("GET", "/api/v1/nodes/n"),
        ("GET", f"{PODS}/p/log"),
        ("GET", f"{DEPLOYMENTS}/d/scale"),
        ("GET", "/apis/apps/v2/namespaces/{ns}/deployments"),
        ("GET", "/api/v1/namespaces/{ns}/nothings/x/part/rest"),
        ("GET", "/api/v1/proxy/namespaces/{ns}/pods/p"),
        ("GET", "/logs/x"),
        ("POST", "/version"),
        ("POST", MAPS),
        ("PUT", f"{MAPS}/a"),
        ("PATCH", f"{PODS}/p/status"),
        ("DELETE", f"{MAPS}/a"),
        ("DELETE", MAPS),
        ("POST", f"{PODS}/p/eviction"),
        ("PUT", "/api/v1/namespaces/{ns}/finalize"),
    ],
)
async def test_the_words_of_a_no(api: Api, method: str, path: str):
    await api.acting_as("jane").call(method, path)


@pytest.mark.parametrize("user", ["<b>&", 'a"b', "system:node:n", "system:serviceaccount:x:y", "system:anonymous"])
async def test_the_name_in_a_no(api: Api, user: str):
    await api.acting_as(user).get(MAPS)


@pytest.mark.parametrize("path", ["/api", "/apis/apps/v1", "/version", "/healthz", "/openapi/v3", "/metrics", "/x"])
async def test_what_everybody_with_a_name_may_read(api: Api, path: str):
    with api.unrecorded():
        status = (await api.acting_as("jane").get(path)).status
    api.note(path, status)


async def test_a_role_of_a_namespace(api: Api, rights: Rights):
    await rights.grant("jane", rule("get,create"))
    jane = api.acting_as("jane")
    await jane.get(f"{MAPS}/a")
    await jane.post(MAPS, config_map())
    await jane.get(MAPS)
    await jane.delete(f"{MAPS}/a")
    await jane.get("/api/v1/namespaces/default/configmaps/a")
    await jane.get("/api/v1/configmaps")


async def test_a_role_for_one_name(api: Api, rights: Rights):
    await rights.grant("jane", rule("get,list,watch,create,update", resourceNames=["a"]))
    jane = api.acting_as("jane")
    await jane.get(f"{MAPS}/a")
    await jane.get(f"{MAPS}/b")
    await jane.get(MAPS)
    await jane.get(MAPS, query={"fieldSelector": "metadata.name=a"})
    await jane.get(MAPS, query={"fieldSelector": "metadata.name=b"})
    await jane.post(MAPS, config_map())


async def test_a_role_for_parts(api: Api, rights: Rights):
    await rights.grant("jane", rule("get", "*/scale", "apps"), rule("get", "pods/log"))
    jane = api.acting_as("jane")
    await jane.get(f"{DEPLOYMENTS}/d/scale")
    await jane.get(f"{DEPLOYMENTS}/d")
    await jane.get(f"{PODS}/p")


async def test_a_role_for_everything_of_a_group(api: Api, rights: Rights):
    await rights.grant("jane", rule("*", "*", "apps"))
    jane = api.acting_as("jane")
    await jane.get(f"{DEPLOYMENTS}/d")
    await jane.get(f"{DEPLOYMENTS}/d/scale")
    await jane.get(f"{MAPS}/a")


async def test_a_role_for_paths(api: Api, rights: Rights):
    await rights.grant("jane", {"verbs": ["get"], "nonResourceURLs": ["/nothing/*", "/nowhere"]}, everywhere=True)
    jane = api.acting_as("jane")
    for path in ("/nothing/x", "/nothing", "/nowhere", "/nowhere/x"):
        await jane.get(path)
    await jane.post("/nowhere", {})


async def test_a_role_of_the_cluster(api: Api, rights: Rights):
    await rights.grant("jane", rule("get"), everywhere=True)
    jane = api.acting_as("jane")
    await jane.get(f"{MAPS}/a")
    await jane.get("/api/v1/namespaces/default/configmaps/a")
    await jane.get("/api/v1/configmaps")


async def test_to_list_is_not_to_watch_nor_to_delete_all(api: Api, rights: Rights):
    await rights.grant("jane", rule("list,delete"))
    jane = api.acting_as("jane")
    await jane.get(MAPS, query={"watch": "1"})
    await jane.delete(MAPS)
    await jane.delete(f"{MAPS}/a")


async def test_a_role_that_is_not_there(api: Api, rights: Rights):
    await rights.bind("jane", "Role", "gone")
    await rights.wait("jane", rule("get"), reason="gone")
    jane = api.acting_as("jane")
    await jane.get(f"{MAPS}/a")
    await rights.bind("jane", "ClusterRole", "gone-too", binding="second")
    await rights.wait("jane", rule("get"), reason="gone-too")
    await jane.get(f"{MAPS}/a")


async def test_a_no_comes_before_anything_is_looked_at(api: Api):
    jane = api.acting_as("jane")
    await jane.post(MAPS, b"{", headers={"Content-Type": "text/x"})
    await jane.get(MAPS, query={"labelSelector": "!!"})
    await jane.get("/api/v1/namespaces/not-there/configmaps")


def role(*rules: dict[str, Any], name: str = "made") -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": name}, "rules": list(rules)}


def binding(kind: str, name: str) -> dict[str, Any]:
    subject = {"kind": "User", "name": "eve", "apiGroup": GROUP}
    reference = {"kind": kind, "name": name, "apiGroup": GROUP}
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "made"},
        "subjects": [subject],
        "roleRef": reference,
    }


async def author(api: Api, rights: Rights, *more: dict[str, Any]) -> Api:
    """Somebody who may write roles and bindings, and read ConfigMaps."""
    written = rule("create,update,patch,get,delete", "roles,rolebindings", GROUP)
    await rights.grant("author", rule("get,list"), written, *more)
    return api.acting_as("author", "writers")


async def test_nobody_creates_a_role_with_more_rights_than_they_have(api: Api, rights: Rights):
    jane = await author(api, rights)
    await jane.post(ROLES, role(rule("get")))
    await jane.post(ROLES, role(rule("get,list", resourceNames=["x"]), name="narrow"))
    await jane.post(ROLES, role(rule("get,watch,delete", "configmaps,secrets"), name="wide"))
    await jane.post(ROLES, role(rule("*", "*", "*"), name="all"))
    await jane.post(ROLES, role(rule("delete", resourceNames=["x", "y"]), rule("get", "pods/log"), name="more"))


async def test_nobody_changes_a_role_to_more_rights_than_they_have(api: Api, rights: Rights):
    jane = await author(api, rights)
    wide = role(rule("delete"))
    with api.unrecorded():
        await api.post(ROLES, role(rule("get")))
    await jane.put(f"{ROLES}/made", wide)
    await jane.patch(f"{ROLES}/made", {"rules": wide["rules"]})
    await jane.patch(f"{ROLES}/made", [{"op": "add", "path": "/rules/0/verbs/-", "value": "delete"}], type="json")
    await jane.patch(f"{ROLES}/made", wide, type="apply", query={"fieldManager": "m", "force": "true"})
    await jane.patch(f"{ROLES}/made", {"metadata": {"labels": {"a": "b"}}})


async def test_a_role_with_more_rights_may_only_lose_what_collectors_take(api: Api, rights: Rights):
    jane = await author(api, rights)
    wide = role(rule("delete"))
    wide["metadata"]["finalizers"] = ["example.com/x"]
    with api.unrecorded():
        await api.post(ROLES, wide)
    await jane.patch(f"{ROLES}/made", {"metadata": {"finalizers": None}})
    await jane.patch(f"{ROLES}/made", {"metadata": {"labels": {"a": "b"}}})


async def test_nobody_creates_a_role_by_an_update(api: Api, rights: Rights):
    jane = await author(api, rights)
    await jane.put(f"{ROLES}/made", role(rule("delete")))
    await jane.patch(f"{ROLES}/made", role(rule("delete")), type="apply", query={"fieldManager": "m"})
    await jane.patch(f"{ROLES}/made", role(rule("get")), type="apply", query={"fieldManager": "m"})


async def test_who_may_escalate_may(api: Api, rights: Rights):
    jane = await author(api, rights, rule("escalate", "roles", GROUP))
    await jane.post(ROLES, role(rule("delete")))
    await jane.put(f"{ROLES}/made", role(rule("*", "*", "*")))


async def test_a_role_that_is_wrong_and_too_wide(api: Api, rights: Rights):
    jane = await author(api, rights)
    await jane.post(ROLES, role({"verbs": ["delete"], "resources": ["pods"]}))
    await jane.post(ROLES, role({"verbs": [], "apiGroups": [""], "resources": ["pods"]}))
    await jane.post(ROLES, role(rule("delete")), query={"dryRun": "All"})


async def test_nobody_binds_a_role_with_more_rights_than_they_have(api: Api, rights: Rights):
    jane = await author(api, rights)
    with api.unrecorded():
        await api.post(ROLES, role(rule("get"), name="narrow"))
        await api.post(ROLES, role(rule("delete"), name="wide"))
    await jane.post(BINDINGS, binding("Role", "wide"))
    await jane.post(BINDINGS, binding("ClusterRole", "system:public-info-viewer"))
    await jane.post(BINDINGS, binding("Role", "nothing"))
    await jane.post(BINDINGS, binding("ClusterRole", "nothing"))
    await jane.post(BINDINGS, binding("Thing", "nothing"))
    await jane.post(BINDINGS, binding("Role", "narrow"))
    await jane.patch(f"{BINDINGS}/made", {"subjects": []})


async def test_who_may_bind_a_role_may(api: Api, rights: Rights):
    jane = await author(api, rights, rule("bind", "roles", GROUP, resourceNames=["wide", "later"]))
    with api.unrecorded():
        await api.post(ROLES, role(rule("delete"), name="wide"))
    await jane.post(BINDINGS, binding("Role", "wide"))
    later = binding("Role", "later")
    later["metadata"]["name"] = "other"
    await jane.post(BINDINGS, later)
    await jane.post(BINDINGS, binding("ClusterRole", "wide"))


async def test_nobody_gathers_rules_without_having_all(api: Api, rights: Rights):
    await rights.grant("author", rule("create,update", "clusterroles", GROUP), everywhere=True)
    jane = api.acting_as("author")
    gathering = {
        "metadata": {"name": f"{api.namespace}-gathering"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    }
    await jane.post(f"{RBAC}/clusterroles", gathering)
    await jane.post(f"{RBAC}/clusterroles", {"metadata": {"name": f"{api.namespace}-empty"}, "rules": []})
    with api.unrecorded():
        await api.delete(f"{RBAC}/clusterroles/{api.namespace}-empty")


async def test_bound_roles_that_are_not_there_are_told_of(api: Api, rights: Rights):
    await rights.bind("author", "ClusterRole", "gone")
    jane = await author(api, rights)
    await jane.post(ROLES, role(rule("delete")))


@pytest.mark.parametrize("plural", ["clusterroles", "clusterrolebindings", "roles", "rolebindings"])
async def test_the_roles_of_the_first_moment(api: Api, plural: str):
    """Rules of roles that gather them are a controller's matter."""
    with api.unrecorded():
        answer = await api.get(f"{RBAC}/{plural}?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults")
    for item in answer.body["items"]:
        metadata, told = item["metadata"], dict(item)
        if "aggregationRule" in item:
            del told["rules"]
        told["metadata"] = [metadata["name"], metadata.get("namespace"), metadata["labels"], metadata["annotations"]]
        told["managers"] = [entry["fieldsV1"] for entry in metadata["managedFields"] if entry["operation"] == "Update"]
        digest = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:12]
        api.note(f"{metadata.get('namespace', '')}/{metadata['name']}", digest)


@pytest.mark.parametrize(
    "name",
    [
        "clusterroles/cluster-admin",
        "clusterroles/system:discovery",
        "clusterroles/system:node",
        "clusterroles/system:public-info-viewer",
        "clusterrolebindings/cluster-admin",
        "clusterrolebindings/system:node",
        "clusterrolebindings/system:controller:job-controller",
        "namespaces/kube-system/roles/extension-apiserver-authentication-reader",
        "namespaces/kube-public/rolebindings/system:controller:bootstrap-signer",
    ],
)
async def test_a_role_of_the_first_moment(api: Api, name: str):
    await api.get(f"{RBAC}/{name}")


async def test_a_pod_is_created_by_who_may(api: Api, rights: Rights):
    await rights.grant("jane", rule("create,get", "pods"))
    jane = api.acting_as("jane")
    await jane.post(PODS, pod())
    await jane.get(f"{PODS}/p/log")
    await jane.post(f"{PODS}/p/binding", {"target": {"name": "n"}})
