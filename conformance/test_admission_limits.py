"""§1.12 LimitRanger: default resources of containers, and the least and the most that they may have."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.exchange import Api
from conformance.objects import DEPLOYMENTS, PODS, deployment, pod

pytestmark = pytest.mark.section("1.12")

RANGES = "/api/v1/namespaces/{ns}/limitranges"
CLAIMS = "/api/v1/namespaces/{ns}/persistentvolumeclaims"


async def limited(api: Api, *limits: dict[str, Any], name: str = "l") -> None:
    """A LimitRange that plug-ins know of."""
    with api.unrecorded():
        answer = await api.post(RANGES, {"metadata": {"name": name}, "spec": {"limits": list(limits)}})
        assert answer.status == 201, answer.text


async def heard(api: Api, body: dict[str, Any], path: str = PODS) -> None:
    """Tell what became of an object: the refusal, or what containers got."""
    with api.unrecorded():
        answer = await api.post(path, body, query={"dryRun": "All"})
    if answer.status != 201:
        api.note(str(answer.status), answer.body["message"])
        return
    spec = answer.body["spec"]
    given = [one["resources"] for one in (*spec.get("initContainers", ()), *spec.get("containers", ()))]
    api.note(str(answer.status), [given, answer.body["metadata"].get("annotations")])


def sized(requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> dict[str, Any]:
    """A pod spec whose only container has these resources."""
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"containers": [{"name": "c", "image": "busybox:1.36", "resources": resources}]}


async def test_a_container_gets_what_its_namespace_gives(api: Api):
    await limited(
        api,
        {"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}},
    )
    await api.post(PODS, pod())
    await api.post(DEPLOYMENTS, deployment())


@pytest.mark.parametrize(
    "spec",
    [
        sized({"cpu": "1"}),
        sized({"cpu": "200m"}, {"memory": "2Gi"}),
        sized(None, {"cpu": "2", "memory": "2Gi"}),
        {**sized(), "initContainers": [{"name": "i", "image": "busybox"}, {"name": "j", "image": "busybox"}]},
        sized({"ephemeral-storage": "1Gi"}),
    ],
    ids=["request", "both", "limits", "init", "other"],
)
async def test_a_container_keeps_what_it_says(api: Api, spec: dict[str, Any]):
    await limited(
        api,
        {"type": "Container", "default": {"cpu": "500m", "memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}},
    )
    await heard(api, pod(**spec))


async def test_a_limit_of_pods_gives_nothing_by_default(api: Api):
    await limited(api, {"type": "Pod", "max": {"cpu": "2"}}, {"type": "Container", "max": {"cpu": "1"}})
    await heard(api, pod())
    await heard(api, pod(**sized(None, {"cpu": "3"})))


@pytest.mark.parametrize("kind", ["Container", "Pod"])
@pytest.mark.parametrize(
    "limit",
    [
        {"min": {"cpu": "100m"}},
        {"max": {"cpu": "1"}},
        {"min": {"memory": "64Mi"}},
        {"max": {"memory": "128Mi"}},
        {"maxLimitRequestRatio": {"cpu": "2"}},
        {"maxLimitRequestRatio": {"memory": "1500m"}},
        {"max": {"example.com/thing": "2"}},
    ],
    ids=str,
)
async def test_the_least_and_the_most(api: Api, kind: str, limit: dict[str, Any]):
    await limited(api, {"type": kind, **limit})
    for requests, limits in (
        (None, None),
        ({"cpu": "50m", "memory": "32Mi"}, None),
        ({"cpu": "50m", "memory": "32Mi"}, {"cpu": "200m", "memory": "100Mi"}),
        ({"cpu": "200m", "memory": "64Mi"}, {"cpu": "300m", "memory": "0.125Gi"}),
        (None, {"cpu": "1.5", "memory": "129Mi"}),
        (None, {"cpu": "1000m", "memory": "128Mi"}),
        ({"cpu": "0", "memory": "0"}, {"cpu": "1", "memory": "64Mi"}),
        ({"example.com/thing": "3"}, {"example.com/thing": "3"}),
    ):
        await heard(api, pod(**sized(requests, limits)))


async def test_a_pod_is_the_sum_of_its_containers(api: Api):
    await limited(api, {"type": "Pod", "max": {"cpu": "1"}})

    def container(name: str, cpu: str, **fields: Any) -> dict[str, Any]:
        return {"name": name, "image": "busybox", "resources": {"limits": {"cpu": cpu}}, **fields}

    two = [container("a", "400m"), container("b", "500m")]
    await heard(api, pod(containers=two))
    await heard(api, pod(containers=[*two, container("c", "200m")]))
    await heard(api, pod(containers=two, initContainers=[container("i", "1100m")]))
    await heard(api, pod(containers=two, initContainers=[container("i", "1000m")]))
    side_car = container("s", "200m", restartPolicy="Always")
    await heard(api, pod(containers=two, initContainers=[side_car]))
    await heard(api, pod(containers=[two[0]], initContainers=[side_car, container("i", "900m")]))
    await heard(api, pod(containers=two, resources={"limits": {"cpu": "2"}}))


async def test_all_faults_are_told(api: Api):
    await limited(
        api,
        {"type": "Container", "min": {"cpu": "100m"}},
        {"type": "Pod", "min": {"cpu": "1"}},
    )
    spec = sized({"cpu": "50m"})
    again = {**spec["containers"][0], "name": "d"}
    await api.post(PODS, pod(containers=[*spec["containers"], again]))


async def test_what_is_wrong_with_a_pod_is_told_before(api: Api):
    await limited(api, {"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "500m"}})
    body = pod(**sized(None, {"cpu": "2"}))
    await api.post(PODS, {**body, "metadata": {"name": "UPPER"}})


async def test_a_name_that_is_made_is_told(api: Api):
    await limited(api, {"type": "Container", "max": {"cpu": "1"}})
    with api.unrecorded():
        body = {**pod(**sized(None, {"cpu": "2"})), "metadata": {"generateName": "p-"}}
        answer = await api.post(PODS, body)
    name = answer.body["details"]["name"]
    api.note("generated", [len(name), answer.body["message"].replace(name, "<name>")])


async def test_a_pod_that_is_there_is_left_alone(api: Api):
    with api.unrecorded():
        await api.post(PODS, pod(**sized(None, {"cpu": "2"})))
    await limited(api, {"type": "Container", "max": {"cpu": "1"}})
    with api.unrecorded():
        answer = await api.patch(PODS + "/p", {"metadata": {"labels": {"a": "b"}}})
    api.note(str(answer.status), answer.body["spec"]["containers"][0]["resources"])


async def test_a_pod_is_not_resized_beyond_the_most(api: Api):
    await limited(api, {"type": "Container", "max": {"cpu": "1"}})
    with api.unrecorded():
        await api.post(PODS, pod(**sized({"cpu": "100m"}, {"cpu": "500m"})))
        for cpu in ("2", "900m"):
            wanted = {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": cpu}}}]}}
            answer = await api.patch(PODS + "/p/resize", wanted, type="strategic")
            api.note(str(answer.status), answer.body.get("message"))


@pytest.mark.parametrize("size", ["1Gi", "2Gi", "5Gi", "6Gi"])
async def test_a_claim_keeps_to_the_least_and_the_most(api: Api, size: str):
    await limited(api, {"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}, "max": {"storage": "5Gi"}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    await heard(api, {"metadata": {"name": "c"}, "spec": spec}, CLAIMS)


async def test_a_claim_that_changes_keeps_to_the_least(api: Api):
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    with api.unrecorded():
        await api.post(CLAIMS, {"metadata": {"name": "c"}, "spec": spec})
    await limited(api, {"type": "PersistentVolumeClaim", "min": {"storage": "2Gi"}})
    with api.unrecorded():
        for _ in range(300):
            answer = await api.patch(CLAIMS + "/c", {"metadata": {"labels": {"a": "b"}}}, query={"dryRun": "All"})
            if answer.status == 403:
                break
    await api.patch(CLAIMS + "/c", {"metadata": {"labels": {"a": "b"}}})
    with api.unrecorded():
        await api.delete(CLAIMS + "/c")
    await api.patch(CLAIMS + "/c", {"metadata": {"labels": {"a": "b"}}})


async def test_other_namespaces_are_not_limited(api: Api):
    await limited(api, {"type": "Container", "max": {"cpu": "1"}})
    with api.unrecorded():
        answer = await api.post(
            "/api/v1/namespaces/default/pods", pod(**sized(None, {"cpu": "2"})), query={"dryRun": "All"}
        )
    api.note("status", answer.status)
