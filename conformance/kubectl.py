"""kubectl 1.36 on a server, and what it printed, told so that two servers can be compared."""

from __future__ import annotations

import asyncio
import difflib
import json
import re
import shlex
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

__all__ = ["Kubectl", "told_apart"]

_PATIENCE = 30.0
_NORMAL: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC"), "<date>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<date>"),
    (re.compile(r'((?:resourceVersion|Resource Version)"?: *)"?\d+"?'), r"\1<version>"),
    (re.compile(r"https://127\.0\.0\.1:\d+"), "<server>"),
    (re.compile(r"\b10\.0\.0\.\d+\b( *)"), lambda found: "<address> " if found[1] else "<address>"),
    (re.compile(r"((?:LIVE|MERGED|kubectl-edit)-)\d+"), r"\1<number>"),
    (re.compile(r"(Expected resource version to be \d+, was )\d+"), r"\1<version>"),
    (re.compile(r'(resourceVersion\\*":\\*")\d+'), r"\1<version>"),
    (re.compile(r"X509SHA256=[0-9a-f]{64}"), "<certificate>"),
    # What client-go itself logs.
    (re.compile(r"^[IWE]\d{4} .*\n", re.MULTILINE), ""),
    # An age, and the spaces that make up for its width.
    (re.compile(r"(?<![\w.=:\"'-])(?:\d+m)?\d+s\b( *)"), lambda found: "<age> " if found[1] else "<age>"),
]


class Kubectl:
    """Runs kubectl in a namespace, and keeps what it printed."""

    def __init__(self, binary: Path, kubeconfig: Path, namespace: str, folder: Path) -> None:
        self._binary = binary
        self._kubeconfig = kubeconfig
        self.namespace = namespace
        self.folder = folder
        self.told: list[dict[str, Any]] = []

    async def __call__(
        self, *words: str, given: Any = None, is_told: bool = True, environment: Mapping[str, str] | None = None
    ) -> str:
        """Run a command, of words or of one line, with the object as its standard input; what it printed."""
        if len(words) == 1:
            words = tuple(shlex.split(words[0]))
        async with asyncio.timeout(_PATIENCE), self._running(words, environment) as process:
            printed, errors = await process.communicate(b"" if given is None else json.dumps(given).encode())
        out = printed.decode()
        if is_told:
            entry = {"code": process.returncode, "out": out, "err": errors.decode()}
            told = {key: self.normal(str(value)) for key, value in entry.items()}
            self.told.append({"command": self._named(shlex.join(words)), **told})
        return out

    async def quietly(self, *words: str, given: Any = None) -> str:
        """Run a command that only prepares something; it must succeed."""
        out = await self(*words, given=given)
        done = self.told.pop()
        assert done["code"] == "0", f"{done['command']}: {done['err']}"
        return out

    async def made(self, *documents: dict[str, Any]) -> None:
        """Create objects that the case begins with."""
        given = {"apiVersion": "v1", "kind": "List", "items": list(documents)}
        await self.quietly("create", "--validate=false", "-f", "-", given=given)

    def file(self, name: str, *documents: Any) -> Path:
        """A file of these objects, or of this text."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n---\n".join(one if isinstance(one, str) else json.dumps(one) for one in documents))
        return path

    def program(self, name: str, *lines: str) -> str:
        """A shell script, for kubectl to call."""
        path = self.file(name, "\n".join(("#!/bin/sh", *lines, "")))
        path.chmod(0o755)
        return str(path)

    @asynccontextmanager
    async def started(self, line: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A command that runs until the case has what it wants."""
        async with self._running(tuple(shlex.split(line)), None) as process:
            yield process

    @asynccontextmanager
    async def _running(
        self, words: tuple[str, ...], environment: Mapping[str, str] | None
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        options = (f"--kubeconfig={self._kubeconfig}", f"--cache-dir={self.folder}/cache", f"-n={self.namespace}")
        # It ends before its garbage is worth collecting.
        own = {
            "GOGC": "off",
            "HOME": str(self.folder),
            "PATH": "/usr/bin:/bin",
            "KUBERC": "off",
            "KUBECTL_KUBERC": "false",
        }
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            self._binary,
            *options,
            *words,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            cwd=self.folder,
            env={**own, **(environment or {})},
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()

    def _named(self, text: str) -> str:
        return text.replace(str(self.folder), "<folder>").replace(self.namespace, "<namespace>")

    def normal(self, text: str) -> str:
        """What was printed, without what is another on each server and each time."""
        text = self._named(text)
        for pattern, replacement in _NORMAL:
            text = pattern.sub(replacement, text)
        return text


def told_apart(ours: list[dict[str, Any]], theirs: list[dict[str, Any]] | None) -> str:
    """Where a case was told something else than by the real server, in lines; empty if nowhere."""
    expected = [line for entry in theirs or [] for line in _lines(entry)]
    heard = [line for entry in ours for line in _lines(entry)]
    return "\n".join(difflib.unified_diff(expected, heard, "the real server's", "ours", lineterm="", n=2))


def _lines(entry: dict[str, Any]) -> list[str]:
    printed = [f"{name}| {line}" for name in ("out", "err") for line in entry[name].splitlines()]
    return [f"$ kubectl {entry['command']}", *printed, f"exit code {entry['code']}"]
