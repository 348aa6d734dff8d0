"""``simulated_exec``: what simulated containers can run: true, false, echo, cat, env, hostname, sleep and a shell.

A shell takes commands one after the other (``;``, ``&&``, ``||``, lines), from ``-c`` or from its standard input; there
are no variables, pipes or files.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from kubewright.controlplane.kubelet.duration import read_duration
from kubewright.controlplane.kubelet_door.output import containers_of
from kubewright.controlplane.kubelet_door.remote_command import Streams
from kubewright.kinds.core_v1 import Pod

__all__ = ["simulated_exec"]

_SHELLS: Final = ("sh", "bash", "ash", "dash")
_JOINTS: Final = re.compile(r"(&&|\|\||;|\n)")
_TO_ERROR: Final = (">&2", "1>&2")
_NOT_FOUND: Final = 127


async def simulated_exec(pod: Pod, container: str, command: Sequence[str], streams: Streams) -> int:
    """Run a command in a container that is not there; its exit code, 127 if nobody knows the command."""
    shell = _Shell(pod, container, streams)
    code = await shell.run(command)
    if code is None:
        await streams.write_error(f'exec: "{command[0]}": executable file not found in $PATH\n')
        return _NOT_FOUND
    return code


class _Shell:
    """One shell in one container."""

    def __init__(self, pod: Pod, container: str, streams: Streams) -> None:
        self._pod = pod
        self._container = container
        self._streams = streams
        self._has_exited = False

    async def run(self, words: Sequence[str]) -> int | None:
        """Run one command; its exit code, None if it is not known."""
        if not words:
            return 0
        name, arguments = words[0].rpartition("/")[2], list(words[1:])
        if name in _SHELLS:
            return await self._run_shell(arguments)
        if name in ("true", ":"):
            return 0
        if name == "false":
            return 1
        if name in ("echo", "env", "printenv", "hostname"):
            return await self._tell(name, arguments)
        if name == "sleep":
            return await self._sleep(arguments)
        return await self._cat(arguments) if name == "cat" else None

    async def _tell(self, name: str, arguments: list[str]) -> int:
        if name == "echo":
            write = self._streams.write_error if arguments[-1:] and arguments[-1] in _TO_ERROR else self._streams.write
            words = [word for word in arguments if word not in _TO_ERROR]
            ends = "" if words[:1] == ["-n"] else "\n"
            await write(" ".join(words[1:] if not ends else words) + ends)
        elif name == "hostname":
            await self._streams.write(f"{self._hostname}\n")
        else:
            await self._streams.write("".join(f"{key}={value}\n" for key, value in self._environment().items()))
        return 0

    @property
    def _hostname(self) -> str:
        return self._pod.spec.hostname or self._pod.name

    def _environment(self) -> dict[str, str]:
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        found = {"PATH": path, "HOSTNAME": self._hostname}
        for container in containers_of(self._pod):
            if container.name == self._container:
                found |= {one.name: one.value or "" for one in container.env if one.value_from is None}
        return found | {"HOME": "/root"}

    async def _sleep(self, arguments: list[str]) -> int:
        try:
            wait = sum((read_duration(word) for word in arguments), timedelta(0))
        except ValueError:
            await self._streams.write_error(f"sleep: invalid number '{arguments[0]}'\n")
            return 1
        await asyncio.sleep(wait.total_seconds())
        return 0

    async def _cat(self, files: list[str]) -> int:
        code = 0
        for file in files or ["-"]:
            if file != "-":
                await self._streams.write_error(f"cat: can't open '{file}': No such file or directory\n")
                code = 1
                continue
            while data := await self._streams.read():
                await self._streams.write(data)
        return code

    async def _run_shell(self, arguments: list[str]) -> int:
        if arguments[:1] and arguments[0].startswith("-") and arguments[0].endswith("c"):
            return await self._run_script(arguments[1]) if len(arguments) > 1 else 2
        if arguments and not arguments[0].startswith("-"):
            await self._streams.write_error(f"sh: can't open '{arguments[0]}': No such file or directory\n")
            return 2
        code, rest = 0, b""
        while not self._has_exited and (data := await self._streams.read()):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                code = await self._run_script(line.decode(errors="replace")) if not self._has_exited else code
        return await self._run_script(rest.decode(errors="replace")) if rest and not self._has_exited else code

    async def _run_script(self, text: str) -> int:
        code, joint = 0, ";"
        for piece in _JOINTS.split(text):
            if _JOINTS.fullmatch(piece):
                joint = piece
            elif piece.strip() and not (joint == "&&" and code) and not (joint == "||" and not code):
                code = await self._run_line(piece)
                if self._has_exited:
                    break
        return code

    async def _run_line(self, line: str) -> int:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            await self._streams.write_error("sh: syntax error: unterminated quoted string\n")
            return 2
        if words[:1] == ["exit"]:
            self._has_exited = True
            return int(words[1]) % 256 if words[1:] and words[1].isdigit() else 0
        code = await self.run(words[1:] if words[:1] == ["exec"] else words)
        if code is None:
            await self._streams.write_error(f"sh: {words[0]}: not found\n")
            return _NOT_FOUND
        return code
