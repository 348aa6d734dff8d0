"""Small scripted programs in place of the real binaries: quick to start, and they misbehave on demand."""

from __future__ import annotations

import shlex
import sys
import textwrap
from pathlib import Path

from kubewright.testing import Binaries

_SERVER = """
    import http.server, ssl, sys

    flags = dict(flag.split("=", 1) for flag in sys.argv[1:] if "=" in flag)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(flags["--secure-port"])), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(flags["--tls-cert-file"], flags["--tls-private-key-file"])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
"""


def write_script(path: Path, text: str) -> Path:
    """An executable shell script at ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def write_server(path: Path, *, first: str = ":") -> Path:
    """A script that runs ``first`` and then answers 200 to every request at its ``--secure-port``."""
    source = path.with_suffix(".py")
    source.write_text(textwrap.dedent(_SERVER), encoding="utf-8")
    command = shlex.join([sys.executable, "-S", str(source)])
    return write_script(path, f'{first}\nexec {command} "$@"')


def scripted_binaries(folder: Path, *, etcd: str = "touch client:1; exec sleep 1000") -> Binaries:
    """Binaries of a control plane that starts at once and serves nothing but 200."""
    return Binaries(
        etcd=write_script(folder / "etcd", etcd),
        kube_apiserver=write_server(folder / "kube-apiserver"),
        kubectl=write_script(folder / "kubectl", 'echo "$KUBECONFIG" "$@"; cat; exit 0'),
    )
