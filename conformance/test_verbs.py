"""What the client's verbs rest on: how an API server answers them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kubewright import (
    ALL_NAMESPACES,
    Client,
    JsonPatch,
    LabelSelector,
    MergePatch,
    Metadata,
    MetadataOnly,
    StrategicPatch,
    Unstructured,
)
from kubewright.config import Impersonation
from kubewright.errors import (
    AlreadyExists,
    ApplyConflict,
    BadRequest,
    Conflict,
    FieldConflict,
    Forbidden,
    Invalid,
    NotFound,
    NotServed,
    TooManyRequests,
)
from kubewright.kinds.apps_v1 import Deployment, DeploymentSpec
from kubewright.kinds.core_v1 import (
    ConfigMap,
    Container,
    EphemeralContainer,
    Namespace,
    Pod,
    PodSpec,
    PodTemplateSpec,
    ServiceAccount,
)
from kubewright.kinds.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec


def config_map(name: str = "a", **data: str) -> ConfigMap:
    return ConfigMap(metadata=Metadata(name=name), data=data)


def pod(name: str = "p") -> Pod:
    labels = {"app": "web"}
    return Pod(
        metadata=Metadata(name=name, labels=labels), spec=PodSpec(containers=[Container(name="c", image="busybox:1")])
    )


def deployment(name: str = "d", replicas: int = 2) -> Deployment:
    template = PodTemplateSpec(metadata=Metadata(labels={"app": "web"}), spec=pod().spec)
    selector = LabelSelector(match_labels={"app": "web"})
    return Deployment(
        metadata=Metadata(name=name), spec=DeploymentSpec(replicas=replicas, selector=selector, template=template)
    )


async def test_a_created_object_is_read_back(client: Client):
    created = await client.create(config_map(k="v"))

    found = await client.get(ConfigMap, "a")

    assert found == created
    assert found.data == {"k": "v"}
    assert found.metadata.uid
    assert found.metadata.creation_timestamp is not None


async def test_a_name_is_taken_once(client: Client):
    await client.create(config_map())

    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await client.create(config_map())


async def test_an_object_that_is_not_there_is_not_found(client: Client):
    with pytest.raises(NotFound, match='configmaps "nope" not found') as caught:
        await client.get(ConfigMap, "nope")

    assert not isinstance(caught.value, NotServed)
    assert caught.value.status.details is not None
    assert caught.value.status.details.name == "nope"


@pytest.mark.parametrize(("version", "kind"), [("nowhere.example.com/v1", "Thing"), ("v1", "Thing")])
async def test_a_kind_that_is_not_served_is_told_apart_from_an_object_that_is_not_there(
    client: Client, version: str, kind: str
):
    with pytest.raises(NotServed, match=f"does not serve {kind} of {version}"):
        await client.get(Unstructured.of(version, kind, plural="things"), "a")
    with pytest.raises(NotServed, match=f"does not serve {kind} of {version}"):
        await client.get(Unstructured.of(version, kind), "a")


async def test_an_update_changes_what_was_changed_and_nothing_else(client: Client):
    await client.create(config_map(k="v", other="x"))
    mine = await client.get(ConfigMap, "a")

    mine.data["k"] = "w"
    stored = await client.update(mine)

    assert stored.data == {"k": "w", "other": "x"}
    assert stored.metadata.resource_version != mine.metadata.resource_version


async def test_an_update_of_what_somebody_else_changed_is_a_conflict(client: Client):
    mine = await client.create(config_map(k="v"))
    theirs = await client.get(ConfigMap, "a")
    theirs.data["theirs"] = "1"
    await client.update(theirs)

    mine.data["k"] = "w"

    with pytest.raises(Conflict, match="the object has been modified"):
        await client.update(mine)


async def test_modify_gets_its_change_through(client: Client):
    await client.create(config_map(n="0"))
    quicker = [await client.get(ConfigMap, "a")]

    async def interfere() -> None:
        quicker[0].data["other"] = "1"
        await client.update(quicker.pop())

    def increase(config: ConfigMap) -> None:
        config.data["n"] = str(int(config.data["n"]) + 1)

    await interfere()
    stored = await client.modify(ConfigMap, "a", increase)

    assert stored.data == {"n": "1", "other": "1"}


async def test_an_update_of_the_status_leaves_the_rest(client: Client):
    found = await client.create(deployment())

    found.spec.replicas = 9
    found.status.ready_replicas = 1
    found.status.replicas = 1
    stored = await client.update(found, subresource="status")

    assert stored.spec.replicas == 2
    assert stored.status.ready_replicas == 1


async def test_the_three_patches_do_what_they_say(client: Client):
    await client.create(pod())

    merged = await client.patch(Pod, MergePatch({"metadata": {"labels": {"a": "1"}}}), name="p")
    strategic = StrategicPatch({"spec": {"containers": [{"name": "c", "image": "busybox:2"}]}})
    changed = await client.patch(merged, strategic)
    removed = await client.patch(changed, JsonPatch([{"op": "remove", "path": "/metadata/labels/a"}]))

    assert merged.metadata.labels == {"app": "web", "a": "1"}
    assert changed.spec.containers[0].image == "busybox:2"
    assert removed.metadata.labels == {"app": "web"}


async def test_apply_creates_changes_and_removes_what_is_no_longer_stated(client: Client):
    first = await client.apply(config_map(k="v", gone="soon"))
    second = await client.apply(config_map(k="w"))

    assert first.data == {"k": "v", "gone": "soon"}
    assert second.data == {"k": "w"}


async def test_apply_tells_who_owns_what_it_wants_and_can_take_it(client: Client):
    theirs = client.using(field_manager="theirs")
    await theirs.apply(config_map(k="theirs", other="x"))

    with pytest.raises(ApplyConflict, match='conflict with "theirs"') as caught:
        await client.apply(config_map(k="ours"))
    stored = await client.apply(config_map(k="ours"), force=True)

    assert caught.value.conflicts == (FieldConflict("theirs", ".data.k"),)
    assert stored.data == {"k": "ours", "other": "x"}


async def test_apply_of_a_status_goes_through_its_subresource(client: Client):
    await client.create(deployment())
    Partial = Unstructured.of("apps/v1", "Deployment", plural="deployments")

    stored = await client.apply(
        Partial(metadata=Metadata(name="d"), content={"status": {"replicas": 7}}), subresource="status"
    )

    assert stored["status"]["replicas"] == 7
    assert stored["spec"]["replicas"] == 2


async def test_a_dry_run_answers_and_stores_nothing(client: Client):
    trial = client.using(dry_run=True)

    tried = await trial.create(config_map(k="v"))
    await trial.apply(config_map("b"))

    assert tried.metadata.uid
    assert list(await client.list(ConfigMap, fields="metadata.name!=kube-root-ca.crt")) == []


async def test_an_unknown_field_is_refused_unless_asked_otherwise(client: Client):
    Loose = Unstructured.of("v1", "ConfigMap", plural="configmaps")
    misspelt = Loose(metadata=Metadata(name="a"), content={"dat": {"k": "v"}})

    with pytest.raises(BadRequest, match='unknown field "dat"'):
        await client.create(misspelt)

    assert (await client.using(field_validation="Ignore").create(misspelt)).name == "a"


async def test_an_invalid_object_names_its_fields(client: Client):
    bad = pod()
    bad.spec.containers[0].name = "Not A Name"
    bad.spec.restart_policy = "Sometimes"

    with pytest.raises(Invalid) as caught:
        await client.create(bad)

    assert {cause.field for cause in caught.value.causes} >= {"spec.containers[0].name", "spec.restartPolicy"}


async def test_a_list_comes_in_pages_of_one_revision(client: Client):
    for index in range(7):
        await client.create(config_map(f"c{index}"))

    pages = [page async for page in client.list(ConfigMap, page_size=3, labels="").pages()]

    assert [len(page) for page in pages] == [3, 3, 1]
    assert len({page.resource_version for page in pages}) == 1
    assert pages[0].remaining_item_count == 4
    assert len(await client.list(ConfigMap, page_size=2)) == 7


async def test_selectors_select(client: Client):
    for name, tier in (("a", "web"), ("b", "db"), ("c", "")):
        await client.create(ConfigMap(metadata=Metadata(name=name, labels={"tier": tier} if tier else {})))

    async def names(**selection: object) -> list[str]:
        return [config.name async for config in client.list(ConfigMap, **selection)]  # type: ignore[arg-type]

    assert await names(labels="tier") == ["a", "b"]
    assert await names(labels={"tier": "db"}) == ["b"]
    assert await names(labels=LabelSelector.parse("tier notin (web)")) == ["b", "c"]
    assert await names(fields={"metadata.name": "c"}) == ["c"]
    assert "a" in await names(namespace=ALL_NAMESPACES, labels="tier=web")


async def test_a_list_at_a_revision_shows_that_revision(client: Client):
    await client.create(config_map("a"))
    then = (await client.list(ConfigMap)).resource_version
    await client.create(config_map("b"))

    assert [c.name for c in await client.list(ConfigMap, resource_version=then, match="Exact")] == ["a"]


async def test_delete_answers_when_the_object_is_gone_and_when_it_is_only_going(client: Client):
    await client.create(config_map("a"))
    await client.create(ConfigMap(metadata=Metadata(name="b", finalizers=["example.com/wait"])))

    assert await client.delete(ConfigMap, "a") is None
    pending = await client.delete(ConfigMap, "b")

    assert pending is not None
    assert pending.metadata.deletion_timestamp is not None
    await client.modify(ConfigMap, "b", lambda config: config.metadata.finalizers.clear())
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "b")


async def test_delete_of_an_object_spares_its_namesake(client: Client):
    first = await client.create(config_map())
    await client.delete(first)
    await client.create(config_map())

    with pytest.raises(Conflict, match="UID"):
        await client.delete(first)


async def test_foreground_deletion_waits_for_the_garbage_collector(client: Client):
    await client.create(config_map())

    pending = await client.delete(ConfigMap, "a", propagation="Foreground")

    assert pending is not None
    assert pending.metadata.finalizers == ["foregroundDeletion"]


async def test_delete_all_deletes_what_matches(client: Client):
    for name in ("a", "b"):
        await client.create(ConfigMap(metadata=Metadata(name=name, labels={"x": name})))

    deleted = await client.delete_all(ConfigMap, labels="x=a")

    assert [config.name for config in deleted] == ["a"]
    assert [config.name async for config in client.list(ConfigMap, labels="x")] == ["b"]


async def test_a_pod_is_given_time_to_end(client: Client):
    created = await client.create(pod())
    await client.bind(created, "nowhere")

    pending = await client.delete(Pod, "p", grace=timedelta(seconds=7))

    assert pending is not None
    assert pending.spec.node_name == "nowhere"
    assert pending.metadata.deletion_grace_period_seconds == 7


async def test_a_pod_is_bound_once(client: Client):
    created = await client.create(pod())
    await client.bind(created, "one")

    with pytest.raises(Conflict, match="already assigned to node"):
        await client.bind(created, "two")


async def test_an_eviction_respects_the_budget(client: Client):
    spec = PodDisruptionBudgetSpec(min_available=1, selector=LabelSelector(match_labels={"app": "web"}))
    await client.create(PodDisruptionBudget(metadata=Metadata(name="b"), spec=spec))
    created = await client.create(pod())
    await client.bind(created, "node")
    running = await client.get(Pod, "p")
    running.status.phase = "Running"
    await client.update(running, subresource="status")

    with pytest.raises(TooManyRequests, match="Cannot evict pod"):
        await client.evict(created)
    await client.delete(PodDisruptionBudget, "b")
    await client.evict(created)

    assert (await client.get(Pod, "p")).metadata.deletion_timestamp is not None


async def test_a_scale_is_read_and_set(client: Client):
    await client.create(deployment())

    scaled = await client.set_scale(Deployment, "d", 5)

    assert scaled.spec.replicas == 5
    assert (await client.get_scale(Deployment, "d")).spec.replicas == 5
    assert (await client.get(Deployment, "d")).spec.replicas == 5


async def test_an_ephemeral_container_is_added_through_its_subresource(client: Client):
    created = await client.create(pod())
    await client.bind(created, "node")
    found = await client.get(Pod, "p")

    found.spec.ephemeral_containers.append(EphemeralContainer(name="debug", image="busybox"))
    stored = await client.update(found, subresource="ephemeralcontainers")

    assert [container.name for container in stored.spec.ephemeral_containers] == ["debug"]


async def test_a_token_is_issued_for_an_account(client: Client):
    account = await client.create(ServiceAccount(metadata=Metadata(name="robot")))

    token = await client.create_token(account, lifetime=timedelta(minutes=20))

    assert token.status.token.count(".") == 2
    assert token.status.expiration_timestamp is not None


async def test_metadata_only_objects_are_read_and_labelled(client: Client):
    await client.create(config_map(k="v"))
    Only = MetadataOnly.of(ConfigMap)

    found = await client.get(Only, "a")
    found.metadata.labels["seen"] = "yes"
    stored = await client.update(found)

    assert stored.metadata.labels == {"seen": "yes"}
    assert [only.metadata.labels async for only in client.list(Only, labels="seen")] == [{"seen": "yes"}]
    assert (await client.get(ConfigMap, "a")).data == {"k": "v"}


async def test_untyped_objects_take_every_verb(client: Client):
    Any = Unstructured.of("v1", "ConfigMap")

    created = await client.create(Any(metadata=Metadata(name="a"), content={"data": {"k": "v"}}))
    created["data"]["k"] = "w"
    await client.update(created)
    await client.apply(Any(metadata=Metadata(name="a"), content={"data": {"more": "x"}}))

    assert [config["data"] async for config in client.list(Any)] == [{"k": "w", "more": "x"}]
    assert await client.delete(Any, "a") is None


async def test_acting_as_somebody_else_has_their_rights(client: Client):
    jane = client.using(impersonate=Impersonation(user="jane", groups=("nobodies",)))

    with pytest.raises(Forbidden, match='User "jane" cannot list resource "configmaps"'):
        await jane.list(ConfigMap)


async def test_warnings_of_the_server_are_logged(client: Client, caplog: pytest.LogCaptureFixture):
    labelled = pod("warned")
    labelled.spec.node_selector = {"beta.kubernetes.io/os": "linux"}

    await client.create(labelled)

    assert "the API server warns" in caplog.text
    assert "beta.kubernetes.io/os" in caplog.text


async def test_a_namespace_is_ended_through_replace_of_its_finalizers(client: Client):
    created = await client.create(Namespace(metadata=Metadata(generate_name="ended-")))
    going = await client.delete(created)
    assert going is not None

    going.spec.finalizers = []
    await client.replace(going, subresource="finalize")

    with pytest.raises(NotFound):
        await client.get(Namespace, created.name)
