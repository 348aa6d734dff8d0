from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kubewright.testing.identities import Identities
from kubewright.testing.launcher import Launcher, StartFailed
from tests.testing.scripted import write_script, write_server

TAKEN = "echo 'listen tcp 127.0.0.1: bind: address already in use'; exit 1"


@pytest.fixture
def launcher() -> Iterator[Launcher]:
    made = Launcher(time_limit=timedelta(seconds=30))
    yield made
    made.close()


@pytest.fixture
def identities(launcher: Launcher) -> Identities:
    return Identities(launcher.folder)


async def start_server(launcher: Launcher, identities: Identities, script: Path, port: int | None = None) -> int:
    return await launcher.start_at_port(
        "server",
        lambda port: [
            script,
            f"--secure-port={port}",
            f"--tls-cert-file={identities.server_certificate_file}",
            f"--tls-private-key-file={identities.server_key_file}",
        ],
        cwd=launcher.folder,
        context=identities.client_context(),
        paths=["/readyz"],
        port=port,
    )


async def test_another_port_is_tried_when_one_is_taken_meanwhile(
    launcher: Launcher, identities: Identities, tmp_path: Path
) -> None:
    script = write_server(tmp_path / "server", first=f"mkdir '{tmp_path}/second' && {{ {TAKEN}; }}")

    port = await start_server(launcher, identities, script)

    assert port > 0
    assert "address already in use" in (launcher.logs / "server.log").read_text(encoding="utf-8")


async def test_a_taken_port_is_an_error_when_that_port_was_asked_for(
    launcher: Launcher, identities: Identities, tmp_path: Path
) -> None:
    script = write_script(tmp_path / "server", TAKEN)

    with pytest.raises(StartFailed, match="address already in use"):
        await start_server(launcher, identities, script, port=1)


async def test_a_failed_start_tells_the_exit_code_and_the_end_of_the_log(launcher: Launcher, tmp_path: Path) -> None:
    script = write_script(tmp_path / "server", "seq 100; echo unknown flag; exit 7")

    with pytest.raises(StartFailed) as raised:
        await launcher.start_at_file("server", [script], cwd=tmp_path, file=tmp_path / "never")

    message = str(raised.value)
    assert message.startswith(f"server ended with exit code 7; its log is in {launcher.logs / 'server.log'} and ends\n")
    assert message.splitlines()[1:] == [*(str(number) for number in range(82, 101)), "unknown flag"]


async def test_a_start_fails_when_nothing_answers_within_the_time_limit(tmp_path: Path) -> None:
    launcher = Launcher(time_limit=timedelta(milliseconds=100))
    script = write_script(tmp_path / "server", "exec sleep 1000")

    with pytest.raises(StartFailed, match=r"server did not answer within 0\.1 s"):
        await launcher.start_at_file("server", [script], cwd=tmp_path, file=tmp_path / "never")

    launcher.close()


async def test_a_start_fails_when_what_it_depends_on_ends(launcher: Launcher, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "end")
    first = write_script(tmp_path / "first", "touch there; read -r _ <end; exit 3")
    second = write_script(tmp_path / "second", "echo >end; exec sleep 1000")
    await launcher.start_at_file("first", [first], cwd=tmp_path, file=tmp_path / "there")

    with pytest.raises(StartFailed, match="first ended with exit code 3"):
        await launcher.start_at_file("second", [second], cwd=tmp_path, file=tmp_path / "never")


async def test_kill_ends_one_process_and_frees_its_port(
    launcher: Launcher, identities: Identities, tmp_path: Path
) -> None:
    port = await start_server(launcher, identities, write_server(tmp_path / "server"))

    launcher.kill("server")

    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_close_removes_the_folder(tmp_path: Path) -> None:
    launcher = Launcher(time_limit=timedelta(seconds=30))

    launcher.close()

    assert not launcher.folder.exists()


async def test_close_keeps_nothing_but_the_logs_when_asked_to(launcher: Launcher, identities: Identities) -> None:
    (launcher.logs / "etcd.log").write_text("why", encoding="utf-8")

    launcher.close(keep_logs=True)

    assert [path.relative_to(launcher.folder) for path in launcher.folder.rglob("*")] == [
        Path("logs"),
        Path("logs/etcd.log"),
    ]
