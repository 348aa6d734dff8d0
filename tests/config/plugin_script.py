"""Exec plugins for tests: real executables written in Python."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from base64 import urlsafe_b64decode
from pathlib import Path
from typing import Any

from kubewright.config.credentials import Credentials

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

ECHO = """
import base64
told = base64.urlsafe_b64encode(os.environ["KUBERNETES_EXEC_INFO"].encode()).decode()
version = json.loads(os.environ["KUBERNETES_EXEC_INFO"])["apiVersion"]
print(json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": {"token": told}}))
"""
"""A plugin whose token is what it was told; read it with ``told_to``."""


def write_script(path: Path, body: str) -> Path:
    """An executable that runs the Python code."""
    path.write_text(f"#!{sys.executable} -IS\nimport json, os, sys\n{textwrap.dedent(body)}\n")
    path.chmod(0o755)
    return path


def write_plugin(path: Path, api_version: str = V1, **status: Any) -> Path:
    """A plugin that prints an ExecCredential with this status and appends a line to ``<path>.runs``."""
    credential = {"kind": "ExecCredential", "apiVersion": api_version, "status": status}
    body = f"open({str(path)!r} + '.runs', 'a').write('run\\n')\nprint({json.dumps(credential)!r})"
    return write_script(path, body)


def runs_of(path: Path) -> int:
    """How often the plugin ran."""
    record = Path(f"{path}.runs")
    return len(record.read_text().splitlines()) if record.exists() else 0


async def told_to(credentials: Credentials) -> Any:
    """What the ``ECHO`` plugin found in KUBERNETES_EXEC_INFO."""
    token = (await credentials.headers())["Authorization"].removeprefix("Bearer ")
    return json.loads(urlsafe_b64decode(token))


def has_zombie() -> bool:
    """Whether a child of this process has ended and was not waited for; it stays as it is."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False
