"""``kubewright up``: as a person starts it, and as kubectl sees it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.real import require_binaries

COMMAND = [sys.executable, "-m", "kubewright.cli", "up"]
READY = "the cluster is ready"

pytestmark = pytest.mark.xdist_group("up")


class Cluster:
    """A process of ``kubewright up`` that is ready, and kubectl on it."""

    def __init__(self, process: subprocess.Popen[str], kubeconfig: Path) -> None:
        self.process = process
        self.kubeconfig = kubeconfig
        self._cache = kubeconfig.parent / "kubectl-cache"

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        environment = os.environ | {"KUBECACHEDIR": str(self._cache), "KUBECONFIG": str(self.kubeconfig)}
        environment["KUBERC"] = "off"
        command = [str(require_binaries().kubectl), *arguments]
        found = subprocess.run(command, env=environment, input=input, capture_output=True, text=True, check=False)
        assert found.returncode == 0, f"kubectl {' '.join(arguments)}: {found.stderr}"
        return found.stdout

    def names(self, *arguments: str) -> list[str]:
        return self.kubectl("get", *arguments, "--output=name").split()

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code, and what it said on standard error."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=40)
        return self.process.returncode, said

    @property
    def server(self) -> int:
        """The number of the API server's process."""
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
        return next(pid for pid, parent in pairs if parent == self.process.pid)


@contextmanager
def up(folder: Path, *arguments: str) -> Iterator[Cluster]:
    kubeconfig = folder / "kubeconfig"
    command = [*COMMAND, "--kubeconfig", str(kubeconfig), *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        if not line.startswith(READY):
            raise AssertionError(f"it did not get ready: {line}{process.stderr.read()}")
        yield Cluster(process, kubeconfig)
    finally:
        process.kill()
        process.communicate()


def said(*arguments: str, folder: Path) -> tuple[int, list[str]]:
    """Exit code and lines of an ``up`` that cannot be."""
    found = subprocess.run([*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    return found.returncode, found.stderr.splitlines()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes, for tests that keep to a namespace of their own."""
    require_binaries()
    with up(tmp_path_factory.mktemp("up"), "--nodes", "2") as made:
        yield made


def roll_out(cluster: Cluster) -> None:
    cluster.kubectl("rollout", "status", "deployment/web", "--timeout=30s")


def images(cluster: Cluster) -> list[str]:
    pods = json.loads(cluster.kubectl("get", "pods", "--selector=app=web", "--output=json"))["items"]
    left = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    return [pod["spec"]["containers"][0]["image"] for pod in left]


def test_a_deployment_is_rolled_out_undone_and_deleted_by_kubectl_alone(cluster: Cluster):
    cluster.kubectl("create", "deployment", "web", "--image=nginx:1.27", "--replicas=3")
    roll_out(cluster)
    cluster.kubectl("wait", "pod", "--for=condition=Ready", "--selector=app=web", "--timeout=30s")
    assert images(cluster) == ["nginx:1.27"] * 3

    cluster.kubectl("set", "image", "deployment/web", "nginx=nginx:1.28")
    roll_out(cluster)
    assert images(cluster) == ["nginx:1.28"] * 3

    cluster.kubectl("rollout", "undo", "deployment/web")
    roll_out(cluster)
    assert images(cluster) == ["nginx:1.27"] * 3
    assert len(cluster.names("replicasets")) == 2

    cluster.kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=30s")
    assert cluster.names("deployments,replicasets,pods") == []


def test_a_debugging_container_runs_in_a_pod_that_runs(cluster: Cluster):
    cluster.kubectl("run", "patient", "--image=nginx")
    cluster.kubectl("wait", "pod/patient", "--for=condition=Ready", "--timeout=30s")

    cluster.kubectl("debug", "patient", "--image=busybox", "--container=doctor", "--", "sh", "-c", "echo ah; sleep 1h")

    running = "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running}"
    cluster.kubectl("wait", "pod/patient", running, "--timeout=30s")
    assert cluster.kubectl("logs", "patient", "--container=doctor") == "ah\n"
    assert cluster.kubectl("exec", "patient", "--", "echo", "hello") == "hello\n"
    cluster.kubectl("delete", "pod", "patient", "--timeout=30s")


def test_events_and_descriptions_tell_what_happened_to_a_pod(cluster: Cluster):
    cluster.kubectl("run", "known", "--image=nginx")
    cluster.kubectl("wait", "pod/known", "--for=condition=Ready", "--timeout=30s")
    # Events are told behind the work.
    cluster.kubectl("wait", "event", "--field-selector=involvedObject.name=known,reason=Started", "--for=create")

    reasons = cluster.kubectl(
        "get", "events", "--field-selector=involvedObject.name=known", "--output=jsonpath={.items[*].reason}"
    ).split()
    described = cluster.kubectl("describe", "pod", "known")

    assert {"Scheduled", "Pulled", "Created", "Started"} <= set(reasons)
    assert "Successfully assigned default/known to node-" in described
    assert "kube-root-ca.crt" in described
    cluster.kubectl("delete", "pod", "known", "--timeout=30s")


def test_a_deleted_namespace_goes_with_all_that_was_in_it(cluster: Cluster):
    cluster.kubectl("create", "namespace", "gone")
    cluster.kubectl("--namespace=gone", "create", "deployment", "web", "--image=nginx")
    cluster.kubectl("--namespace=gone", "rollout", "status", "deployment/web", "--timeout=30s")

    cluster.kubectl("delete", "namespace", "gone", "--timeout=30s")

    assert "namespace/gone" not in cluster.names("namespaces")
    assert cluster.kubectl("--namespace=gone", "get", "all", "--output=name") == ""


def test_the_kubeconfig_is_readable_by_its_owner_alone(cluster: Cluster):
    assert cluster.kubeconfig.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_loops_and_server_in_order(number: signal.Signals, tmp_path: Path):
    with up(tmp_path, "--nodes", "0") as cluster:
        server = cluster.server

        assert cluster.end(number) == (0, "")

    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_a_cluster_that_kept_its_data_goes_on_where_it_was(tmp_path: Path):
    require_binaries()
    flags = ["--nodes", "2", "--data", str(tmp_path / "data")]
    with up(tmp_path, *flags) as cluster:
        cluster.kubectl("create", "deployment", "web", "--image=nginx:1.27", "--replicas=2")
        roll_out(cluster)
        before = cluster.names("pods")
        assert cluster.end()[0] == 0

    with up(tmp_path, *flags) as cluster:
        assert cluster.names("pods") == before
        cluster.kubectl("scale", "deployment", "web", "--replicas=3")
        roll_out(cluster)
        assert set(before) < set(cluster.names("pods"))
        assert cluster.end() == (0, "")


def test_a_loop_that_is_left_out_does_not_work(tmp_path: Path):
    require_binaries()
    with up(tmp_path, "--without", "scheduler", "--without", "serviceaccount") as cluster:
        cluster.kubectl("create", "deployment", "web", "--image=nginx")
        cluster.kubectl("wait", "pod", "--for=create", "--selector=app=web", "--timeout=30s")

        assert cluster.kubectl("get", "pods", "--output=jsonpath={.items[*].spec.nodeName}") == ""
        assert cluster.names("serviceaccounts", "--all-namespaces") == []


def test_stages_script_what_pods_do(tmp_path: Path):
    require_binaries()
    (tmp_path / "stages.yaml").write_text("stages: [{match: {image: flaky}, behaviour: {exitCode: 3}}]")
    with up(tmp_path, "--stages", "stages.yaml") as cluster:
        cluster.kubectl("run", "once", "--image=flaky", "--restart=Never")
        cluster.kubectl("wait", "pod/once", "--for=jsonpath={.status.phase}=Failed", "--timeout=30s")

        ended = cluster.kubectl("get", "pod", "once", "--output=jsonpath={.status..terminated.exitCode}")

    assert ended == "3"


def test_a_server_that_dies_takes_the_cluster_with_it_and_is_told(tmp_path: Path):
    with up(tmp_path) as cluster:
        os.kill(cluster.server, signal.SIGKILL)

        code, text = cluster.ended()

    assert code == 1
    assert text.splitlines()[-1] == (
        "kubewright: the embedded API server ended by itself (signal SIGKILL); what it said is above"
    )


def test_a_loop_that_there_is_not_is_told_with_those_that_there_are(tmp_path: Path):
    code, lines = said("--without", "schedular", folder=tmp_path)

    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith("kubewright: --without: there is no control loop 'schedular'; there are ")
    assert " scheduler" in lines[0]


def test_a_port_that_is_taken_is_told(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        code, lines = said("--", f"--secure-port={port}", folder=tmp_path)

    assert code == 1
    assert f"{port}" in lines[0]
    assert lines[-1] == "kubewright: the embedded API server did not start; what it said is above"


def test_a_flag_that_the_server_does_not_know_is_told(tmp_path: Path):
    code, lines = said("--", "--sure-port=1", folder=tmp_path)

    assert (code, lines[0]) == (1, "Error: unknown flag: --sure-port")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes", "-1"], "kubewright: --nodes must be 0 or more, not -1"),
        (["--nodes", "many"], "kubewright up: error: argument --nodes: invalid int value: 'many'"),
        (["--stages", "missing.yaml"], "kubewright: missing.yaml: No such file or directory"),
    ],
)
def test_a_wrong_option_is_told_in_its_last_line(arguments: list[str], message: str, tmp_path: Path):
    code, lines = said(*arguments, folder=tmp_path)

    assert code != 0
    assert lines[-1] == message


def test_help_says_what_there_is_and_shows_an_example():
    found = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout

    for word in ("--nodes", "--kubeconfig", "--data", "--without", "--stages", "--manifests", "example: kubewright up"):
        assert word in found
