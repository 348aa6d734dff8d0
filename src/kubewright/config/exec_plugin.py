"""Credentials from an exec plugin: a command that prints an ``ExecCredential`` (client.authentication.k8s.io)."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec

from kubewright.config.certificate import expiry_of
from kubewright.config.child import Outcome, run_child
from kubewright.config.credentials import bearer
from kubewright.config.renewal import Issued, Renewal, wall_clock
from kubewright.config.secret import Secretive, masked
from kubewright.errors import CredentialError

__all__ = ["API_VERSIONS", "ExecPlugin", "InteractiveMode", "PluginCommand"]

API_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
InteractiveMode = Literal["Never", "IfAvailable", "Always"]

_TIME_LIMIT: Final = timedelta(seconds=60)
_TIME_LIMIT_OF_PEOPLE: Final = timedelta(minutes=10)
_TELLING_NAMES: Final = ("token", "password", "secret", "key", "credential")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginCommand(Secretive):
    """An exec plugin as the kubeconfig describes it; ``command`` is a name on PATH or a path."""

    command: str
    api_version: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    interactive_mode: InteractiveMode = "IfAvailable"
    install_hint: str = ""
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)
    """What to tell the plugin about the cluster (``provideClusterInfo``), or None."""


class _Status(msgspec.Struct, rename="camel"):
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


def _has_terminal() -> bool:
    return sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()


class ExecPlugin(Secretive):
    """Credentials that a plugin prints, used until shortly before they expire and obtained anew after a 401.

    Guarantees: all who wait share one run; a run that takes longer than the time limit (60 s; ten minutes if a person
    may have to answer it) or whose callers are all cancelled is killed with its children; no message shows what the
    plugin printed to its standard output.
    """

    renewable: bool = True

    def __init__(
        self,
        plugin: PluginCommand,
        *,
        environ: Mapping[str, str] = os.environ,
        has_terminal: Callable[[], bool] = _has_terminal,
        time_limit: timedelta | None = None,
        clock: Callable[[], datetime] = wall_clock,
    ) -> None:
        self._plugin = plugin
        self._environ = environ
        self._has_terminal = has_terminal
        self._time_limit = time_limit
        self._clock = clock
        self._renewal = Renewal(self._obtain, clock=clock)

    def __repr__(self) -> str:
        return f"ExecPlugin({self._plugin.command!r})"

    async def headers(self) -> dict[str, str]:
        """The plugin's token as an Authorization header; empty if it gives a certificate only."""
        return dict((await self._renewal.current()).headers)

    def invalidate(self, refused: Mapping[str, str] | None = None) -> None:
        """Run the plugin again next time, unless it ran since the refused headers were sent."""
        self._renewal.forget(refused)

    def client_certificate(self) -> tuple[bytes, bytes] | None:
        """The certificate and key that the plugin gave when ``headers`` last ran it."""
        issued = self._renewal.issued
        return issued.certificate if issued is not None else None

    async def _obtain(self) -> Issued:
        interactive = self._is_interactive()
        limit = self._time_limit or (_TIME_LIMIT_OF_PEOPLE if interactive else _TIME_LIMIT)
        command = [self._executable(), *self._plugin.args]
        try:
            outcome = await run_child(command, self._env(interactive), interactive=interactive, time_limit=limit)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise self._error(f"did not end within {limit.total_seconds():g} s and was killed") from None
            raise self._error(f"cannot be started: {error.strerror}") from error
        if outcome.code:
            raise self._error(self._failure(outcome))
        return self._issued(outcome.stdout)

    def _is_interactive(self) -> bool:
        mode = self._plugin.interactive_mode
        if mode == "Always" and not self._has_terminal():
            raise self._error("has interactiveMode Always, but standard input is not a terminal; run it at a terminal")
        return mode != "Never" and self._has_terminal()

    def _executable(self) -> str:
        found = shutil.which(self._plugin.command, path=self._environ.get("PATH", os.defpath))
        if found is None:
            remedy = masked(self._plugin.install_hint) or "install it, put it on PATH, or correct the kubeconfig"
            raise self._error(f"is not there, or may not be executed: {remedy}")
        return found

    def _env(self, interactive: bool) -> dict[str, str]:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        told = {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}
        return {**self._environ, **self._plugin.env, "KUBERNETES_EXEC_INFO": json.dumps(told, default=str)}

    def _failure(self, outcome: Outcome) -> str:
        ended = f"exited with code {outcome.code}" if outcome.code > 0 else f"was ended by signal {-outcome.code}"
        env = self._plugin.env.items()
        secrets = [value for name, value in env if any(word in name.lower() for word in _TELLING_NAMES)]
        said = masked(outcome.stderr.decode("utf-8", "replace").strip(), secrets)
        return f"{ended}: {said}" if said else f"{ended} and said nothing"

    def _issued(self, stdout: bytes) -> Issued:
        status = self._status(stdout)
        certificate = self._certificate(status)
        if not status.token and certificate is None:
            raise self._error("printed neither a token nor a certificate")
        headers = bearer(status.token, f"the exec plugin {self._plugin.command!r}") if status.token else {}
        ends = [status.expiration_timestamp, expiry_of(certificate[0]) if certificate else None]
        expiry = min((end for end in ends if end is not None), default=None)
        return Issued.until(expiry, headers, certificate, now=self._clock())

    def _status(self, stdout: bytes) -> _Status:
        try:
            printed = msgspec.json.decode(stdout, type=_ExecCredential)
        except msgspec.MsgspecError as error:
            raise self._error(f"did not print an ExecCredential as JSON: {error}") from None
        wanted = self._plugin.api_version
        if (printed.kind, printed.api_version) != ("ExecCredential", wanted):
            got = masked(f"{printed.kind[:60]!r} of {printed.api_version[:60]!r}")
            raise self._error(f"must print an ExecCredential of {wanted!r} as the kubeconfig says, but printed {got}")
        if printed.status is None:
            raise self._error("printed an ExecCredential without a status")
        return printed.status

    def _certificate(self, status: _Status) -> tuple[bytes, bytes] | None:
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("printed a certificate without its key, or a key without its certificate")
        if not status.client_certificate_data or not status.client_key_data:
            return None
        return status.client_certificate_data.encode(), status.client_key_data.encode()

    def _error(self, problem: str) -> CredentialError:
        return CredentialError(f"the exec plugin {self._plugin.command!r} {problem}")
