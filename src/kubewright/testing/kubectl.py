"""Runs kubectl once, apart from the user's own kubeconfig, caches and preferences."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kubewright.errors import KubewrightError

__all__ = ["KubectlFailed", "run_kubectl"]


class KubectlFailed(KubewrightError):
    """kubectl ended with another exit code than 0; ``result`` holds it and what kubectl said."""

    def __init__(self, result: subprocess.CompletedProcess[str]) -> None:
        super().__init__(
            f"kubectl ended with exit code {result.returncode}: {(result.stderr or result.stdout).strip()}"
        )
        self.result = result


async def run_kubectl(
    binary: Path, arguments: Sequence[str], *, kubeconfig: Path, cache: Path, input: str | None = None
) -> subprocess.CompletedProcess[str]:
    """What kubectl answered, whatever its exit code; a cancelled call ends kubectl too."""
    # Ports are used again by later control planes, and kubectl caches discovery by address.
    environment = os.environ | {"KUBECACHEDIR": str(cache), "KUBECONFIG": str(kubeconfig), "KUBERC": "off"}
    process = await asyncio.create_subprocess_exec(
        binary,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL if input is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        output, errors = await process.communicate(None if input is None else input.encode())
    except asyncio.CancelledError:
        process.kill()
        await process.communicate()
        raise
    return subprocess.CompletedProcess(
        ["kubectl", *arguments], process.returncode or 0, output.decode(), errors.decode()
    )
