"""The life of a server that is a process: it starts, says that it is ready, and ends when it is told to."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kubewright_apiserver import __version__
from kubewright_apiserver.process.command_line import UsageError, integer_of
from kubewright_apiserver.process.flags import KUBERNETES, Flags, help_text

if TYPE_CHECKING:
    from kubewright_apiserver.server import ApiServer

__all__ = ["main"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; the exit code."""
    try:
        flags = Flags(sys.argv[1:] if arguments is None else arguments)
    except UsageError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    if flags.is_on("help"):
        sys.stdout.write(help_text())
        return 0
    if flags.text("version", "false") not in ("0", "f", "F", "FALSE", "false", "False"):
        sys.stdout.write(f"Kubernetes {KUBERNETES} (kubewright-apiserver {__version__})\n")
        return 0
    if flags.text("write-assets"):
        return _write_assets(Path(flags.text("write-assets")))
    return _serve(flags)


def _write_assets(folder: Path) -> int:
    from kubewright_apiserver.process.assets import write_assets

    try:
        written = write_assets(folder.absolute())
    except OSError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    sys.stdout.write("".join(f"{path}\n" for path in written))
    return 0


def _serve(flags: Flags) -> int:
    _configure_logging(integer_of(flags.text("v", "0")))
    for line in flags.deprecations:
        sys.stderr.write(f"{line}\n")
    if flags.ignored:
        names = ", ".join(f"--{name}" for name in flags.ignored)
        sys.stderr.write(f"these flags of kube-apiserver have no effect here: {names}\n")
    from kubewright_apiserver.process.serving import STARTING_ERRORS, new_server

    try:
        server = new_server(flags)
        return asyncio.run(_live(server, flags))
    except STARTING_ERRORS as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1


def _configure_logging(verbosity: int) -> None:
    level = logging.DEBUG if verbosity >= 4 else logging.INFO if verbosity >= 2 else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)


async def _live(server: ApiServer, flags: Flags) -> int:
    from kubewright_apiserver.process.serving import write_kubeconfig

    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, _end, stopped)
    if flags.is_on("exit-with-stdin"):
        reading = threading.Thread(target=_await_end_of_input, args=(loop, stopped), daemon=True)
        reading.start()
    async with server:
        write_kubeconfig(server, flags)
        sys.stdout.write(f"serving at {server.url}\n")
        sys.stdout.flush()
        # What is there by now stays, so that looking for garbage among it would only take time.
        gc.freeze()
        await _until(stopped, server)
    return 0


def _end(stopped: asyncio.Event) -> None:
    if stopped.is_set():
        os._exit(1)
    stopped.set()


async def _until(stopped: asyncio.Event, server: ApiServer) -> None:
    """Return when it is time to end; raise if the server can no longer work."""
    ending, working = asyncio.create_task(stopped.wait()), asyncio.create_task(server.wait())
    await asyncio.wait((ending, working), return_when=asyncio.FIRST_COMPLETED)
    for task in (ending, working):
        if task.done():
            await task
        else:
            task.cancel()


def _await_end_of_input(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    # Not through sys.stdin, whose lock would be held when the interpreter ends.
    while os.read(0, 1 << 16):
        pass
    loop.call_soon_threadsafe(stopped.set)
