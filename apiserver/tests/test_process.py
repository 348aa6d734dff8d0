"""The server as a process: how it starts, what it says, how it ends."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kubewright_apiserver import __version__
from kubewright_apiserver.process import main

MAPS = "/api/v1/namespaces/default/configmaps"


def card(name: str) -> dict[str, object]:
    return {"metadata": {"name": name}}


def test_it_says_its_version(capfd):
    assert main(["--version"]) == 0

    assert capfd.readouterr() == (f"Kubernetes v1.36.3 (kubewright-apiserver {__version__})\n", "")


def test_it_helps(capfd):
    assert main(["--help"]) == 0

    said, errors = capfd.readouterr()
    assert "kubewright-apiserver --data ./cluster --write-kubeconfig ./kubeconfig" in said
    assert errors == ""


def test_it_refuses_what_kube_apiserver_refuses():
    command = [sys.executable, "-m", "kubewright_apiserver", "--secure-port=0", "--nope"]

    found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)

    assert (found.returncode, found.stdout, found.stderr) == (1, "", "Error: unknown flag: --nope\n")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--secure-port=99999"], "--secure-port 99999 must be between 0 and 65535, inclusive"),
        (["--runtime-config=foo"], "runtime-config invalid key foo"),
        (["--runtime-config=api/all=maybe"], "invalid value api/all=maybe"),
        (
            ["--runtime-config=apps/v1=maybe"],
            'invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (["--service-cluster-ip-range=foo"], "service-cluster-ip-range[0] is not a valid cidr"),
        (["--client-ca-file=/nowhere/ca"], "open /nowhere/ca: no such file or directory"),
        (["--tls-cert-file=/x", "--tls-private-key-file=/nowhere/k"], "open /x: no such file or directory"),
        (["--tls-cert-file=/x"], "--tls-cert-file and --tls-private-key-file must be given together"),
        (["--service-node-port-range=x"], "--service-node-port-range 'x' is no range of ports, such as 30000-32767"),
        (["--manifests=/nowhere/crds"], "/nowhere/crds: there is no such file or folder"),
        (
            ["--write-kubeconfig=/nowhere/kubeconfig"],
            "--write-kubeconfig /nowhere/kubeconfig cannot be written: No such file or directory; "
            "name a file in a folder that you may write to",
        ),
    ],
)
def test_a_value_that_cannot_be_used_is_told_in_one_line(capfd, flags, message):
    assert main(["--secure-port=0", *flags]) == 1

    assert capfd.readouterr() == ("", f"Error: {message}\n")


def test_a_port_in_use_is_told(capfd):
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert main([f"--secure-port={other.getsockname()[1]}"]) == 1

    said, errors = capfd.readouterr()
    assert (said, errors.count("\n")) == ("", 1)
    assert "address already in use" in errors


def test_it_serves_and_ends_in_order(start):
    process = start()
    url = process.ready()

    status, found = process.ask("/api/v1/namespaces/default")

    assert url.startswith("https://127.0.0.1:")
    assert stat.S_IMODE(process.kubeconfig.stat().st_mode) == 0o600
    assert yaml.safe_load(process.kubeconfig.read_text())["clusters"][0]["cluster"]["server"] == url
    assert (status, found["metadata"]["name"]) == (200, "default")
    assert process.end() == 0
    assert process.said == ""


def test_health_is_told_without_credentials(start):
    process = start()
    process.ready()

    for path in ("/healthz", "/readyz", "/livez"):
        assert process.ask(path, as_nobody=True) == (200, "ok")
    assert process.ask("/api/v1/namespaces", as_nobody=True)[0] == 403


def test_flags_without_effect_and_deprecated_ones_are_told(start):
    process = start("--profiling", "--apiserver-count=1", "--etcd-prefix=/x", "--allow-privileged=true")
    process.ready()

    why = "apiserver-count is deprecated and will be removed in a future version."
    assert process.said.splitlines() == [
        f"Flag --apiserver-count has been deprecated, {why}",
        "these flags of kube-apiserver have no effect here: --apiserver-count, --etcd-prefix, --profiling",
    ]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_watches_end_when_it_is_told_to_end(start, number):
    process = start("--data=:memory:")
    process.ready()
    with process.asking(f"{MAPS}?watch=1&resourceVersion=1") as watch:
        code = process.end(number)

        assert (watch.status, code) == (200, 0)
        assert watch.read() == b""


def test_the_second_signal_ends_it_at_once(start):
    process = start()
    process.ready()

    for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
        process.child.send_signal(number)

    assert process.child.wait(20) == 1


def test_it_ends_with_its_input_when_asked_to(start):
    process = start("--exit-with-stdin")
    process.ready()

    process.child.stdin.close()

    assert process.child.wait(20) == 0


def test_it_lives_on_without_input_otherwise(start):
    process = start()
    process.ready()

    process.child.stdin.close()

    assert process.ask("/healthz") == (200, "ok")
    assert process.end() == 0


def test_objects_stay_in_the_folder_and_kubeconfigs_stay_good(start, tmp_path: Path):
    data = f"--data={tmp_path / 'cluster'}"
    first = start(data)
    first.ready()
    assert first.ask(MAPS, "POST", card("stays"))[0] == 201
    assert first.end() == 0
    old = tmp_path / "old"
    first.kubeconfig.rename(old)

    second = start(data)
    url = second.ready()
    config = yaml.safe_load(old.read_text())
    config["clusters"][0]["cluster"]["server"] = url
    second.kubeconfig.write_text(json.dumps(config))

    assert second.ask(f"{MAPS}/stays")[0] == 200
    assert sorted(file.name for file in (tmp_path / "cluster").iterdir() if "-" not in file.name) == [
        "authority.pem",
        "cluster.db",
    ]
    assert stat.S_IMODE((tmp_path / "cluster").stat().st_mode) == 0o700


def test_another_etcd_is_another_empty_store(start, tmp_path: Path):
    data = f"--data={tmp_path / 'cluster'}"
    first = start(data, "--etcd-servers=http://127.0.0.1:1")
    first.ready()
    first.ask(MAPS, "POST", card("one"))
    first.end()

    other = start(data, "--etcd-servers=http://127.0.0.1:2")
    other.ready()
    elsewhere = other.ask(f"{MAPS}/one")[0]
    other.end()
    again = start(data, "--etcd-servers=http://127.0.0.1:1")
    again.ready()

    assert elsewhere == 404
    assert again.ask(f"{MAPS}/one")[0] == 200


def test_without_a_folder_it_says_that_objects_are_in_memory(start):
    process = start("--etcd-servers=http://127.0.0.1:1")
    process.ready()

    assert process.said == "objects are kept in memory, and not in etcd; --data names a folder for them\n"


def test_a_second_server_on_the_same_data_is_refused(start, tmp_path: Path):
    data = f"--data={tmp_path / 'cluster'}"
    first = start(data)
    first.ready()

    second = start(data)

    assert second.child.wait(20) == 1
    file = tmp_path / "cluster" / "cluster.db"
    holder = f"process {first.child.pid} (python" if Path("/proc/locks").exists() else "another process"
    assert second.said.startswith(f"Error: the store's file {file} cannot be opened: database is locked; {holder}")
    assert second.said.endswith(" has it open: stop that one or choose another file\n")
    assert second.said.count("\n") == 1
    assert first.ask("/healthz") == (200, "ok")


def test_a_file_is_no_folder(capfd, tmp_path: Path):
    file = tmp_path / "cluster.db"
    file.touch()

    assert main(["--secure-port=0", f"--data={file}"]) == 1

    assert capfd.readouterr().err == f"Error: --data {file} is a file; name a folder, which is made if missing\n"


def test_a_folder_that_cannot_be_made_is_told(capfd, tmp_path: Path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cluster"

    assert main(["--secure-port=0", f"--data={folder}"]) == 1

    told = f"Error: --data {folder} cannot be made: Not a directory; name a folder that can\n"
    assert capfd.readouterr().err == told


def test_a_missing_folder_is_made_with_those_above_it_for_its_owner_alone(start, tmp_path: Path):
    folder = tmp_path / "some" / "cluster"
    process = start(f"--data={folder}")
    process.ready()

    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)] == [0o700, 0o700]
    assert stat.S_IMODE((folder / "cluster.db").stat().st_mode) == 0o600


def test_it_listens_elsewhere_when_told_to(start):
    process = start("--bind-address=0.0.0.0", "--external-hostname=api.example.com")

    assert process.ready().startswith("https://127.0.0.1:")
    assert process.ask("/healthz") == (200, "ok")


def test_each_request_is_logged_when_asked_for(start):
    process = start("-v=4")
    process.ready()
    process.ask("/api/v1/namespaces/default")
    process.end()

    assert "GET /api/v1/namespaces/default" in process.said


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs a way to see the sockets of a process")
def test_nothing_listens_beyond_loopback(start):
    process = start("--http-port=0")
    process.ready()
    tables = [Path(f"/proc/{process.child.pid}/net/{name}").read_text() for name in ("tcp", "tcp6")]
    inodes = {os.readlink(link) for link in Path(f"/proc/{process.child.pid}/fd").iterdir()}

    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    listening = [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]

    assert len(listening) == 2
    assert all(address.startswith("0100007F:") for address in listening)
