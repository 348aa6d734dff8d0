from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kubewright.config.exec_plugin import ExecPlugin, InteractiveMode, PluginCommand
from kubewright.errors import CredentialError
from tests.config.certificates import issue, make_ca
from tests.config.plugin_script import ECHO, V1, V1BETA1, has_zombie, runs_of, told_to, write_plugin, write_script

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


def plugin(
    path: Path | str, *, api_version: str = V1, interactive_mode: InteractiveMode = "Never", **fields: Any
) -> PluginCommand:
    return PluginCommand(command=str(path), api_version=api_version, interactive_mode=interactive_mode, **fields)


async def test_token_becomes_a_header(tmp_path):
    credentials = ExecPlugin(plugin(write_plugin(tmp_path / "plugin", token="t0p")))

    headers = await credentials.headers()

    assert headers == {"Authorization": "Bearer t0p"}
    assert credentials.client_certificate() is None
    assert credentials.renewable


async def test_beta_version_is_spoken_too(tmp_path):
    script = write_plugin(tmp_path / "plugin", V1BETA1, token="t0p")

    credentials = ExecPlugin(plugin(script, api_version=V1BETA1))

    assert await credentials.headers() == {"Authorization": "Bearer t0p"}


async def test_certificate_is_had_after_the_headers(tmp_path):
    pair = issue(make_ca(), "client")
    script = write_plugin(
        tmp_path / "plugin", clientCertificateData=pair.cert.decode(), clientKeyData=pair.key.decode()
    )
    credentials = ExecPlugin(plugin(script))

    headers = await credentials.headers()

    assert headers == {}
    assert credentials.client_certificate() == (pair.cert, pair.key)


async def test_plugin_without_an_expiry_runs_once_for_ever(tmp_path):
    script, clock = write_plugin(tmp_path / "plugin", token="t0p"), Clock()
    credentials = ExecPlugin(plugin(script), clock=clock)
    await credentials.headers()

    clock.now += timedelta(days=1000)
    await credentials.headers()

    assert runs_of(script) == 1


async def test_plugin_runs_again_shortly_before_its_credentials_expire(tmp_path):
    script, clock = write_plugin(tmp_path / "plugin", token="t0p", expirationTimestamp="2030-01-01T12:01:00Z"), Clock()
    credentials = ExecPlugin(plugin(script), clock=clock)
    await credentials.headers()

    clock.now += timedelta(seconds=49)
    await credentials.headers()
    early = runs_of(script)
    clock.now += timedelta(seconds=1)
    await credentials.headers()

    assert (early, runs_of(script)) == (1, 2)


async def test_plugin_runs_again_when_its_certificate_expires_though_it_told_no_expiry(tmp_path):
    pair = issue(make_ca(), "client", not_after=NOON + timedelta(minutes=1))
    script, clock = tmp_path / "plugin", Clock()
    write_plugin(script, clientCertificateData=pair.cert.decode(), clientKeyData=pair.key.decode())
    credentials = ExecPlugin(plugin(script), clock=clock)
    await credentials.headers()

    clock.now += timedelta(seconds=55)
    await credentials.headers()

    assert runs_of(script) == 2


async def test_plugin_runs_again_after_a_refusal_and_gives_what_is_new(tmp_path):
    script = write_plugin(tmp_path / "plugin", token="old")
    credentials = ExecPlugin(plugin(script))
    refused = await credentials.headers()
    write_plugin(script, token="new")

    credentials.invalidate(refused)
    renewed = await credentials.headers()
    credentials.invalidate(refused)
    again = await credentials.headers()

    assert renewed == again == {"Authorization": "Bearer new"}
    assert runs_of(script) == 2


async def test_callers_at_the_same_time_share_one_run(tmp_path):
    script = write_plugin(tmp_path / "plugin", token="t0p")
    credentials = ExecPlugin(plugin(script))

    await asyncio.gather(*(credentials.headers() for _ in range(20)))

    assert runs_of(script) == 1


async def test_plugin_gets_arguments_and_environment(tmp_path):
    script = write_script(
        tmp_path / "plugin",
        f"""
        token = "-".join([*sys.argv[1:], os.environ["OURS"], os.environ["BOTH"], os.environ["ITS"]])
        print(json.dumps({{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{"token": token}}}}))
        """,
    )
    command = plugin(script, args=("a", "b_c"), env={"BOTH": "its", "ITS": "its"})

    headers = await ExecPlugin(command, environ={"OURS": "ours", "BOTH": "ours"}).headers()

    assert headers == {"Authorization": "Bearer a-b_c-ours-its-its"}


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_plugin_is_told_about_the_cluster(tmp_path, version):
    script = write_script(tmp_path / "plugin", ECHO)
    command = plugin(script, api_version=version, cluster={"server": "https://host", "config": {"audience": "x"}})

    told = await told_to(ExecPlugin(command))

    assert told == {
        "kind": "ExecCredential",
        "apiVersion": version,
        "spec": {"interactive": False, "cluster": {"server": "https://host", "config": {"audience": "x"}}},
    }


@pytest.mark.parametrize(
    ("mode", "terminal", "interactive"),
    [
        ("Never", True, False),
        ("Never", False, False),
        ("IfAvailable", True, True),
        ("IfAvailable", False, False),
        ("Always", True, True),
    ],
)
async def test_plugin_is_interactive_as_its_mode_and_the_terminal_allow(tmp_path, mode, terminal, interactive):
    command = plugin(write_script(tmp_path / "plugin", ECHO), interactive_mode=mode)

    told = await told_to(ExecPlugin(command, has_terminal=lambda: terminal))

    assert told["spec"] == {"interactive": interactive}


async def test_plugin_that_needs_a_terminal_is_not_run_without_one(tmp_path):
    script = write_plugin(tmp_path / "plugin", token="t0p")
    credentials = ExecPlugin(plugin(script, interactive_mode="Always"), has_terminal=lambda: False)

    with pytest.raises(CredentialError, match="interactiveMode Always, but standard input is not a terminal"):
        await credentials.headers()

    assert runs_of(script) == 0


async def test_plugin_named_without_a_path_is_found_on_path(tmp_path):
    write_plugin(tmp_path / "on-path", token="t0p")
    credentials = ExecPlugin(plugin("on-path"), environ={"PATH": f"/nowhere:{tmp_path}"})

    assert await credentials.headers() == {"Authorization": "Bearer t0p"}


async def test_missing_plugin_is_an_error_with_its_install_hint(tmp_path):
    credentials = ExecPlugin(plugin("absent", install_hint="brew install absent"), environ={"PATH": str(tmp_path)})

    with pytest.raises(CredentialError, match=r"'absent' is not there.*: brew install absent"):
        await credentials.headers()


async def test_plugin_that_is_no_program_is_an_error(tmp_path):
    text = tmp_path / "text"
    text.write_text("\x7f not a program")
    text.chmod(0o755)

    with pytest.raises(CredentialError, match="cannot be started: Exec format error"):
        await ExecPlugin(plugin(text)).headers()


async def test_failing_plugin_is_an_error_with_exit_code_and_last_words(tmp_path):
    script = write_script(tmp_path / "plugin", "sys.stderr.write('x' * 9000 + ' you are not logged in'); sys.exit(7)")

    with pytest.raises(CredentialError, match=r"exited with code 7: x+ you are not logged in$") as caught:
        await ExecPlugin(plugin(script)).headers()

    assert len(str(caught.value)) < 5000


async def test_failing_plugin_gives_no_secret_away(tmp_path):
    script = write_script(
        tmp_path / "plugin",
        """
        print("stdout-secret")
        secret, zone = os.environ["MY_SECRET"], os.environ["ZONE"]
        sys.stderr.write(f"sent {secret} and eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.sig, in {zone}")
        sys.exit(1)
        """,
    )
    command = plugin(script, args=("--password", "arg-hush"), env={"MY_SECRET": "env-hush", "ZONE": "zone-a"})

    with pytest.raises(CredentialError, match="sent … and …, in zone-a") as caught:
        await ExecPlugin(command).headers()

    assert not any(secret in str(caught.value) for secret in ("stdout-secret", "hush", "eyJ"))


async def test_plugin_killed_by_a_signal_is_an_error_that_says_so(tmp_path):
    script = write_script(tmp_path / "plugin", "os.kill(os.getpid(), 9)")

    with pytest.raises(CredentialError, match="ended by signal 9 and said nothing"):
        await ExecPlugin(plugin(script)).headers()


async def test_plugin_that_takes_too_long_is_killed(tmp_path):
    script = write_script(tmp_path / "plugin", "import signal; signal.pause()")

    with pytest.raises(CredentialError, match=r"did not end within 0\.1 s and was killed"):
        await ExecPlugin(plugin(script), time_limit=timedelta(milliseconds=100)).headers()

    assert not has_zombie()


async def test_cancelled_caller_leaves_no_process_behind(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = write_script(
        tmp_path / "plugin",
        f"fifo = open({str(fifo)!r}, 'w'); fifo.write(str(os.getpid())); fifo.close(); import signal; signal.pause()",
    )
    running = asyncio.create_task(ExecPlugin(plugin(script)).headers())
    pid = int(await asyncio.to_thread(fifo.read_text))

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("printed", "problem"),
    [
        ("", "did not print an ExecCredential as JSON"),
        ("hush hush", "did not print an ExecCredential as JSON"),
        ('["hush"]', "did not print an ExecCredential as JSON"),
        ('{"kind": "ExecCredential", "status": {"token": ["hush"]}}', r"as JSON: .*\$\.status\.token"),
        ('{"status": {"token": "hush"}}', "must print an ExecCredential of"),
        (f'{{"kind": "ExecCredential", "apiVersion": "{V1BETA1}", "status": {{"token": "hush"}}}}', "v1beta1"),
        (f'{{"kind": "ExecCredential", "apiVersion": "{V1}"}}', "without a status"),
        (f'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{}}}}', "neither a token nor a certificate"),
        (
            f'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{"clientKeyData": "hush"}}}}',
            "a key without its certificate",
        ),
        (
            f'{{"kind": "ExecCredential", "apiVersion": "{V1}", "status": {{"token": "hush hush"}}}}',
            "the token of the exec plugin .* is empty, or has blanks",
        ),
        (
            f'{{"kind": "ExecCredential", "apiVersion": "{V1}",'
            ' "status": {"token": "hush", "expirationTimestamp": "soon"}}',
            r"\$\.status\.expirationTimestamp",
        ),
    ],
)
async def test_plugin_that_prints_no_credential_is_an_error_without_what_it_printed(tmp_path, printed, problem):
    script = write_script(tmp_path / "plugin", f"print({printed!r})")

    with pytest.raises(CredentialError, match=problem) as caught:
        await ExecPlugin(plugin(script)).headers()

    assert "hush" not in str(caught.value)
    assert caught.value.__cause__ is None


async def test_plugin_that_failed_is_tried_again_by_the_next_caller(tmp_path):
    script = write_script(tmp_path / "plugin", "sys.exit(1)")
    credentials = ExecPlugin(plugin(script))
    with pytest.raises(CredentialError):
        await credentials.headers()

    write_plugin(script, token="t0p")

    assert await credentials.headers() == {"Authorization": "Bearer t0p"}
