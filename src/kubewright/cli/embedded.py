"""An API server in a process of its own, for as long as a command runs: a blocked operator cannot freeze it."""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kubewright.errors import ConfigError

__all__ = ["embedded_process"]


@contextmanager
def embedded_process(*, data: str | None = None, manifests: Sequence[str] = ()) -> Iterator[Path]:
    """An API server that runs inside the block; gives the path of its kubeconfig (readable by you alone)."""
    with tempfile.TemporaryDirectory(prefix="kubewright-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        command = [sys.executable, "-m", "kubewright.cli.embedded", "--kubeconfig", str(kubeconfig)]
        command += ["--data", data] if data else []
        for path in manifests:
            command += ["--manifests", path]
        # A session of its own, so that Ctrl-C ends the operator first and then the server under it.
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            if child.stdout.readline().strip() != b"ready":
                raise ConfigError("the embedded API server did not start; what it said is above")
            yield kubeconfig
        finally:
            child.stdin.close()
            try:
                child.wait(timeout=10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            child.stdout.close()


def _main() -> None:
    parser = argparse.ArgumentParser(prog="kubewright.cli.embedded")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--data")
    parser.add_argument("--manifests", action="append", default=[])
    told = parser.parse_args()
    try:
        asyncio.run(_serve(told.kubeconfig, told.data, told.manifests))
    except (OSError, ValueError) as error:
        sys.stderr.write(f"embedded API server: {error}\n")
        raise SystemExit(1) from None


async def _serve(kubeconfig: str, data: str | None, manifests: Sequence[str]) -> None:
    """Serve until standard input ends: with the process that started this one."""
    try:
        from kubewright_apiserver import ApiServer
    except ImportError:
        raise OSError("kubewright-apiserver is not installed; pip install 'kubewright[embedded]'") from None

    async with ApiServer(data=data, manifests=list(manifests)) as server:
        server.write_kubeconfig(kubeconfig)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.buffer.read)


if __name__ == "__main__":
    _main()
