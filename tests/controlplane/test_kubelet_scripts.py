"""What scripts simulated containers: commands, durations, behaviours, stages; and what is told of a run beforehand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubewright.api import Metadata
from kubewright.controlplane.kubelet import Behaviour, ContainerRun, Script, SimulatedNode, read_stages, run_of
from kubewright.controlplane.kubelet.command import what_it_does
from kubewright.controlplane.kubelet.duration import duration_text, read_duration
from kubewright.controlplane.kubelet.images import back_off, image_id, reference
from kubewright.controlplane.kubelet.simulated_node import placed
from kubewright.errors import ConfigError
from kubewright.kinds.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    Probe,
    TCPSocketAction,
)

SECOND = timedelta(seconds=1)
START = datetime(2026, 1, 1, tzinfo=UTC)


def pod_of(container: Container, **annotations: str) -> Pod:
    named = {f"kubewright.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = Metadata(name="web", namespace="shop", uid="u", annotations=named, labels={"app": "web"})
    return Pod(metadata=metadata, spec=PodSpec(containers=[container]))


def run(behaviour: Behaviour | None = None, number: int = 0, **container: object) -> ContainerRun:
    made = Container(name="main", image="busybox", **container)  # type: ignore[arg-type]
    return ContainerRun(pod_of(made), made, behaviour or Behaviour(), number, START)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1m30s", 90), ("500ms", 0.5), ("2", 2), ("1.5h", 5400), ("1d", 86400)]
)
def test_durations_are_read_as_people_write_them(text: str, seconds: float) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "soon", "5 s", "1m30", "-5s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration; write for example 90s"):
        read_duration(text)


@pytest.mark.parametrize(
    ("seconds", "text"), [(10, "10s"), (80, "1m20s"), (300, "5m0s"), (3600, "1h0m0s"), (0.001, "1ms"), (0, "0s")]
)
def test_durations_are_printed_as_go_does(seconds: float, text: str) -> None:
    assert duration_text(timedelta(seconds=seconds)) == text


@pytest.mark.parametrize(
    ("words", "seconds", "code"),
    [
        (["sleep", "5"], 5, 0),
        (["/bin/sleep", "1m"], 60, 0),
        (["true"], 0, 0),
        (["false"], 0, 1),
        (["sh", "-c", "exit 3"], 0, 3),
        (["/bin/bash", "-ec", "sleep 2 && false && sleep 10"], 2, 1),
        (["sh", "-c", "false; sleep 1"], 1, 0),
        (["sh", "-c", "exec sleep 4"], 4, 0),
        (["sh", "-c", "exit 7; sleep 100"], 0, 7),
        (["sleep", "infinity"], None, 0),
        (["sh", "-c", "while true; do sleep 1; done"], None, 0),
        (["sh", "-c", "echo 'unfinished"], None, 0),
        (["nginx", "-g", "daemon off;"], None, 0),
        ([], None, 0),
    ],
)
def test_commands_are_understood_or_run_for_ever(words: list[str], seconds: float | None, code: int) -> None:
    plan = what_it_does(words)

    assert plan.duration == (None if seconds is None else timedelta(seconds=seconds))
    assert plan.exit_code == code


def test_what_is_echoed_is_printed_in_its_time() -> None:
    plan = what_it_does(["sh", "-c", "echo one; sleep 2; echo two three"])

    assert plan.output == ((timedelta(0), "one"), (2 * SECOND, "two three"))


@pytest.mark.parametrize(
    ("image", "full"),
    [
        ("nginx", "docker.io/library/nginx:latest"),
        ("nginx:1.27", "docker.io/library/nginx:1.27"),
        ("team/app:1", "docker.io/team/app:1"),
        ("localhost/app", "localhost/app:latest"),
        ("registry.k8s.io/pause:3.10", "registry.k8s.io/pause:3.10"),
        ("host:5000/app", "host:5000/app:latest"),
        ("nginx@sha256:abc", "docker.io/library/nginx@sha256:abc"),
    ],
)
def test_images_have_full_names(image: str, full: str) -> None:
    assert reference(image) == full


def test_an_image_is_known_by_its_digest() -> None:
    assert image_id("nginx").startswith("docker.io/library/nginx@sha256:")
    assert image_id("nginx@sha256:abc") == "docker.io/library/nginx@sha256:abc"


def test_back_off_doubles_up_to_five_minutes() -> None:
    assert [back_off(n).total_seconds() for n in range(8)] == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_later_stage_wins_and_what_it_does_not_say_stays(tmp_path: Path) -> None:
    file = tmp_path / "stages.yaml"
    file.write_text(
        "stages:\n"
        "- behaviour: {startAfter: 5s, exitCode: 3}\n"
        "- {match: {labels: app=web, image: 'busy*'}, behaviour: {exitCode: 4, runFor: 10}}\n"
        "- {match: {namespace: other}, behaviour: {exitCode: 5}}\n"
    )
    container = Container(name="main", image="busybox")

    behaviour = Script(pod_of(container), read_stages(file)).of(container)

    assert behaviour == Behaviour(start_after=5 * SECOND, exit_code=4, run_for=10 * SECOND)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("stages: [{behaviour: {startAfter: soon}}]", "stages[0].behaviour.startAfter: 'soon' is no duration"),
        ("stages: [{behaviour: {exitCode: many}}]", "stages[0].behaviour.exitCode: Expected `int | null`, got `str`"),
        (
            "stages: [{behaviour: {startsAfter: 5s}}]",
            "stages[0].behaviour: Object contains unknown field `startsAfter`",
        ),
        ("stages: [{match: {labels: 'a in b'}}]", "stages[0].match.labels: "),
        ("stages: {", "is no YAML"),
        ("[]", "Expected `object`, got `array`"),
    ],
)
def test_a_mistake_in_a_file_of_stages_names_file_and_field(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "stages.yaml"
    file.write_text(text)

    with pytest.raises(ConfigError) as error:
        read_stages(file)

    assert str(error.value).startswith(f"{file}: {problem}")


def test_a_file_of_stages_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: No such file"):
        read_stages(tmp_path / "none.yaml")


def test_annotations_of_one_container_win_over_those_of_all() -> None:
    container = Container(name="main", image="busybox")
    pod = pod_of(container, exit_code="3", run_for="1m")
    pod.metadata.annotations["kubewright.dev/exit-code.main"] = "4"

    assert Script(pod).of(container) == Behaviour(exit_code=4, run_for=timedelta(minutes=1))


def test_other_annotations_say_nothing() -> None:
    container = Container(name="main", image="busybox")
    script = Script(pod_of(container, owner="me"))

    assert script.of(container) == Behaviour()
    assert script.problems == []


def test_a_run_tells_when_it_ends_and_what_it_printed() -> None:
    made = run(Behaviour(run_for=10 * SECOND, exit_code=2, output="hello\n+5s half\n+20s never"))

    assert made.end is not None
    assert (made.end.at, made.end.exit_code, made.end.reason) == (START + 10 * SECOND, 2, "Error")
    assert [line.text for line in made.lines(START + 3 * SECOND)] == ["hello"]
    assert [line.text for line in made.lines(START + timedelta(hours=1))] == ["hello", "half"]


def test_a_run_after_the_last_crash_goes_on() -> None:
    crashing = Behaviour(crashes=2, run_for=SECOND)

    ends = [run(crashing, number).end for number in range(3)]

    assert [end.exit_code if end is not None else None for end in ends] == [1, 1, None]


def test_a_probe_that_fails_later_makes_a_run_unready() -> None:
    probe = Probe(tcp_socket=TCPSocketAction(port=80), period_seconds=5, failure_threshold=2)
    made = run(Behaviour(ready_until=12 * SECOND), readiness_probe=probe)

    assert [made.is_ready(START + n * SECOND) for n in (0, 12, 19, 20)] == [True, True, True, False]
    assert [(failure.at - START).total_seconds() for failure in made.failures(START, START + 25 * SECOND)] == [
        15,
        20,
        25,
    ]
    assert made.next_change(START + SECOND) == START + 15 * SECOND


def test_the_runs_of_a_container_are_found_in_the_pods_status() -> None:
    container = Container(name="main", image="busybox", command=["sh", "-c", "echo hi; sleep 5"])
    pod = pod_of(container)
    later = START + timedelta(minutes=1)
    last = ContainerStateTerminated(exit_code=0, started_at=START, finished_at=START + 5 * SECOND)
    pod.status = PodStatus(
        container_statuses=[
            ContainerStatus(
                name="main",
                state=ContainerState(running=ContainerStateRunning(started_at=later)),
                last_state=ContainerState(terminated=last),
                ready=True,
                restart_count=1,
                image="busybox",
                image_id="x",
            )
        ]
    )

    now, before = run_of(pod, "main", Script(pod)), run_of(pod, "main", Script(pod), previous=True)

    assert now is not None
    assert before is not None
    assert [(one.number, one.started) for one in (before, now)] == [(0, START), (1, later)]
    assert [line.text for line in before.lines(later)] == ["hi"]
    assert run_of(pod, "other", Script(pod)) is None


def test_nodes_get_addresses_by_their_place() -> None:
    nodes = placed([SimulatedNode(name=f"n{number}") for number in range(300)])

    assert (nodes["n0"].address, nodes["n0"].pod_range) == ("172.18.0.2", "10.244.0.0/24")
    assert (nodes["n299"].address, nodes["n299"].pod_range) == ("172.18.1.45", "10.245.43.0/24")


def test_a_node_with_many_pods_has_room_for_their_addresses() -> None:
    nodes = placed([SimulatedNode(name="a", pods=1000), SimulatedNode(name="b")])

    assert [node.pod_range for node in nodes.values()] == ["10.244.0.0/21", "10.244.8.0/21"]


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two simulated nodes are called 'a'"):
        placed([SimulatedNode(name="a"), SimulatedNode(name="a")])
