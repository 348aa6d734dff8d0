"""The NginxOperator, in virtual time on a cluster in this process: API server, control loops, two nodes."""

from __future__ import annotations

import logging
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lives import When, crashed_at, on_stage
from nginx_operator import NginxOperator, NginxOperatorSpec, deployment_of, new_operator

from kubewright import Client, Metadata
from kubewright.api import Condition, to_dict
from kubewright.errors import ConfigError
from kubewright.kinds.apps_v1 import Deployment, ReplicaSet
from kubewright.kinds.core_v1 import Pod
from kubewright.kinds.events_v1 import Event
from kubewright.operation import load_operand, read_operand
from kubewright.testing import elapse, virtual_time
from kubewright.testing.faults import delay_events, lose_answer, refuse

HERE = Path(__file__).parent
FILE = HERE / "nginx_operator/deployment.yaml"


def nginx(replicas: int = 2, **spec: Any) -> NginxOperator:
    return NginxOperator(metadata=Metadata(name="instance"), spec=NginxOperatorSpec(replicas=replicas, **spec))


def is_done(replicas: int, generation: int) -> Callable[[NginxOperator], bool]:
    def test(found: NginxOperator) -> bool:
        status = found.status
        is_seen = status.observed_generation == found.metadata.generation == generation
        return is_seen and status.progress == "Done" and status.ready_replicas == status.replicas == replicas

    return test


async def done(client: Client, replicas: int = 2, generation: int = 1) -> NginxOperator:
    return await client.wait_until(
        NginxOperator, "instance", is_done(replicas, generation), within=timedelta(minutes=10)
    )


async def told(client: Client) -> list[str]:
    events = [event async for event in client.list(Event) if event.regarding.kind == "NginxOperator"]
    return [f"{event.type} {event.reason}: {event.note}" for event in events]


def condition(found: NginxOperator, type: str) -> Condition:
    condition = found.status.get(type)
    assert condition is not None
    return condition


async def images(client: Client) -> set[str | None]:
    return {pod.spec.containers[0].image async for pod in client.list(Pod) if pod.metadata.deletion_timestamp is None}


@virtual_time()
async def test_the_operand_is_created_and_its_health_is_told() -> None:
    async with on_stage(new_operator) as stage:
        life = await stage.start()
        await stage.client.create(nginx(2, port=8080))
        found = await done(stage.client)
        await stage.settle()

        deployment = await stage.client.get(Deployment, "instance")
        container = deployment.spec.template.spec.containers[0]
        assert (container.image, container.ports[0].container_port) == ("nginx:1.27", 8080)
        assert found.status.is_true("Ready")
        assert found.status.is_true("OperandReady")
        assert condition(found, "OperandReady").message == "2 of 2 pods are ready"
        lines = await told(stage.client)
        assert "Normal Created: created Deployment instance" in lines
        assert "Normal OperandReady: 2 of 2 pods are ready" in lines
        metrics = (await life.running()).metrics.render()
        assert 'nginx_operand_replicas_ready{namespace="default",name="instance"} 2' in metrics


@virtual_time()
async def test_the_metrics_of_an_operand_go_with_its_custom_resource() -> None:
    async with on_stage(new_operator) as stage:
        life = await stage.start()
        await stage.client.create(nginx())
        await done(stage.client)
        running = await life.running()
        assert "nginx_operand_replicas_wanted{" in running.metrics.render()

        await stage.client.delete(NginxOperator, "instance")
        await stage.settle()

        assert "nginx_operand_replicas_wanted{" not in running.metrics.render()
        assert len(await stage.client.list(Deployment)) == 0


@virtual_time()
async def test_drift_is_repaired_and_the_fields_of_others_stay() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(nginx())
        await done(stage.client)

        def spoil(deployment: Deployment) -> None:
            deployment.spec.replicas = 5
            deployment.spec.template.spec.containers[0].image = "apache"
            deployment.metadata.annotations["somebody"] = "else"

        await stage.client.modify(Deployment, "instance", spoil)
        await stage.settle()

        deployment = await stage.client.get(Deployment, "instance")
        assert deployment.spec.replicas == 2
        assert deployment.spec.template.spec.containers[0].image == "nginx:1.27"
        assert deployment.metadata.annotations["somebody"] == "else"

        await stage.client.delete(Deployment, "instance")
        await stage.settle()

        assert (await stage.client.get(Deployment, "instance")).metadata.uid != deployment.metadata.uid
        assert len(await stage.client.list(Pod)) == 2


@virtual_time()
async def test_nothing_is_written_when_nothing_changed_nor_on_a_restart() -> None:
    async with on_stage(new_operator) as stage:
        first = await stage.start()
        await stage.client.create(nginx())
        before = await done(stage.client)
        await stage.settle()

        idle = await stage.writes_in_the_next(timedelta(hours=1))
        await first.crash()
        await stage.start()
        after_restart = await stage.writes_in_the_next(timedelta(hours=1))

        assert idle == []
        assert after_restart == []
        after = await stage.client.get(NginxOperator, "instance")
        assert after.status == before.status


@pytest.mark.parametrize("value", ["now", 7, {"because": "it hangs"}])
@virtual_time()
async def test_force_redeploy_makes_new_pods_and_changes_nothing_else(value: Any) -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(nginx())
        found = await done(stage.client)
        since = condition(found, "Ready").last_transition_time
        before = to_dict(await stage.client.get(Deployment, "instance"))["spec"]
        old = {pod.name async for pod in stage.client.list(Pod)}
        await elapse(timedelta(minutes=1))

        await stage.client.modify(NginxOperator, "instance", lambda obj: setattr(obj.spec, "force_redeploy", value))
        found = await done(stage.client, generation=2)
        await stage.settle()

        after = to_dict(await stage.client.get(Deployment, "instance"))["spec"]
        annotations = after["template"]["metadata"].pop("annotations")
        assert list(annotations) == ["operator.example.com/force-redeploy"]
        assert after == before
        assert not old & {pod.name async for pod in stage.client.list(Pod)}
        assert condition(found, "Ready").last_transition_time == since


@virtual_time()
async def test_the_operands_image_goes_up_and_down_with_the_operator() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(nginx())
        await done(stage.client)
        seen = [await images(stage.client)]

        for image in ("nginx:1.28", "nginx:1.27"):
            await stage.lives[-1].crash()
            stage.new_operator = partial(new_operator, image)
            await stage.start()
            await stage.client.wait_until(NginxOperator, "instance", lambda obj: obj.status.image == image)  # noqa: B023
            await done(stage.client)
            await stage.settle()
            seen.append(await images(stage.client))

        assert seen == [{"nginx:1.27"}, {"nginx:1.28"}, {"nginx:1.27"}]
        assert len(await stage.client.list(ReplicaSet)) == 2
        assert "Normal RollingOut: bringing instance to 2 pods of nginx:1.28" in await told(stage.client)


@virtual_time()
async def test_the_phase_of_a_roll_out_is_seen_in_the_status() -> None:
    async with on_stage(new_operator) as stage:
        await stage.start()
        await stage.client.create(nginx(3))
        seen: list[str] = []
        async for event in stage.client.watch(NginxOperator):
            if event.type == "BOOKMARK":
                continue
            status, generation = event.object.status, event.object.metadata.generation
            progress = status.progress if status.observed_generation == generation else "Unknown"
            seen += [progress] if seen[-1:] != [progress] else []
            if progress == "Done" and event.object.spec.port == 8080:
                break
            if progress == "Done" and event.object.spec.port == 80:
                await stage.client.modify(NginxOperator, "instance", lambda obj: setattr(obj.spec, "port", 8080))

        assert seen[:2] == ["Unknown", "InProgress 0/3"]
        assert seen.count("Done") == 2
        assert [text for text in seen[seen.index("Done") + 1 :] if text.startswith("InProgress")]


@virtual_time()
async def test_a_stale_cache_never_makes_a_pod_too_many() -> None:
    async with on_stage(new_operator) as stage:
        late = delay_events(timedelta(seconds=20))
        await stage.start(late, lose_answer(verb="apply", kind=Deployment, times=2))
        await stage.client.create(nginx(3))
        await done(stage.client, 3)

        assert stage.most_pods == 3
        assert len(await stage.client.list(Deployment)) == 1


async def play(client: Client) -> None:
    await client.create(nginx())
    await done(client)
    await client.modify(NginxOperator, "instance", lambda obj: setattr(obj.spec, "port", 8080))
    await done(client, generation=2)
    await client.set_scale(NginxOperator, "instance", 1)
    await done(client, 1, generation=3)


@pytest.mark.parametrize("when", ["before", "after"])
@virtual_time(limit=timedelta(days=2))
async def test_it_converges_after_a_crash_at_any_write(when: When) -> None:
    n = 0
    came_so_far = True
    while came_so_far:
        n += 1
        async with on_stage(new_operator) as stage:
            came_so_far = await crashed_at(stage, n, when, play)

            assert len(await stage.client.list(Pod)) == 1, n
            assert len(await stage.client.list(ReplicaSet)) == 2, n
            assert await stage.writes_in_the_next(timedelta(minutes=1)) == [], n
    assert n > 5


@virtual_time()
async def test_a_refusal_stands_in_condition_event_and_log_and_so_does_its_end(caplog: Any) -> None:
    async with on_stage(new_operator) as stage:
        await stage.start(refuse(403, reason="Forbidden", verb="apply", kind=Deployment, times=3))
        caplog.set_level(logging.INFO)
        await stage.client.create(nginx())
        failed = await stage.client.wait_until(NginxOperator, "instance", lambda found: found.status.is_false("Ready"))
        message = condition(failed, "Ready").message
        assert message.endswith("; next try in 1 s")

        await done(stage.client)
        await stage.settle()

        lines = await told(stage.client)
        assert [line for line in lines if line.startswith("Warning ReconcileFailed: Forbidden")]
        assert "Normal Reconciled: reconciles again" in lines
        assert f"reconcile failed: {message}" in caplog.text
        assert "reconciles again after it had failed" in caplog.text


@virtual_time()
async def test_without_an_object_it_says_once_how_to_create_one(caplog: Any) -> None:
    async with on_stage(new_operator) as stage:
        caplog.set_level(logging.INFO)
        life = await stage.start()
        running = await life.running()
        await elapse(timedelta(hours=1))
        text = "there is no NginxOperator; create one: kubectl apply -f sample.yaml"
        assert caplog.text.count(text) == 1
        assert running.ready_checks()["required-nginxoperators.operator.example.com"] == text

        await stage.client.create(nginx())
        await done(stage.client)

        assert not any(running.ready_checks().values())
        assert caplog.text.count("there is a NginxOperator now") == 1


@virtual_time()
async def test_without_a_crd_it_says_once_how_to_install_it(caplog: Any) -> None:
    async with on_stage(new_operator, with_crds=False) as stage:
        life = await stage.start()
        running = await life.running()
        await elapse(timedelta(hours=1))

        remedy = "install its CRD; an operator started with --install-crds true does so itself"
        assert caplog.text.count(remedy) == 1
        assert remedy in running.ready_checks()["informer-nginxoperators.operator.example.com"]


@virtual_time()
async def test_the_server_takes_the_packaged_file_as_it_is() -> None:
    async with on_stage(new_operator) as stage:
        operand = load_operand(Deployment, "nginx_operator", "deployment.yaml")

        made = await stage.client.using(dry_run=True).create(operand)

        assert made.spec.template.spec.containers[0].image == "nginx:1.27"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("containerPort: 80", "containerPort: http", "deployment.yaml, line 23: Expected `int`, got `str`"),
        ("replicas: 1", "replica: 1", "deployment.yaml, line 9: there is no field 'replica'"),
    ],
)
def test_a_mistake_in_the_packaged_file_is_told_with_its_line(old: str, new: str, problem: str) -> None:
    text = FILE.read_text().replace(old, new)

    with pytest.raises(ConfigError) as refusal:
        read_operand(Deployment, text, FILE.name)

    assert str(refusal.value).startswith(problem)


def test_values_are_filled_in_by_type() -> None:
    deployment = deployment_of(nginx(3, port=8080, force_redeploy="x: {y}"), "nginx:1.28")

    template = deployment.spec.template
    assert deployment.spec.replicas == 3
    assert template.spec.containers[0].ports[0].container_port == 8080
    assert template.metadata.annotations == {"operator.example.com/force-redeploy": "x: {y}"}
    assert template.metadata.labels == deployment.spec.selector.match_labels


def test_the_file_is_in_the_wheel_and_is_loaded_from_there(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(HERE)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    program = (
        "from nginx_operator import *; import nginx_operator; "
        "from kubewright import Metadata; "
        "obj = NginxOperator(metadata=Metadata(name='a'), spec=NginxOperatorSpec()); "
        "print(nginx_operator.__file__, deployment_of(obj).spec.template.spec.containers[0].image)"
    )

    python = [sys.executable, "-c", program]
    printed = subprocess.run(
        python, check=True, capture_output=True, text=True, cwd=tmp_path / "installed", env={"PYTHONPATH": "."}
    ).stdout

    assert str(tmp_path / "installed") in printed or printed.startswith("nginx_operator")
    assert printed.strip().endswith("nginx:1.27")
