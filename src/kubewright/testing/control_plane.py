"""A real control plane for tests: etcd and kube-apiserver, and the other two if asked for.

What passes on the embedded API server is run here too, which is why the embedded one can be believed.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from kubewright.errors import KubewrightError
from kubewright.testing.binaries import Binaries, find_binaries
from kubewright.testing.components import Components
from kubewright.testing.flags import merged
from kubewright.testing.kubectl import KubectlFailed, run_kubectl
from kubewright.testing.launcher import Launcher, StartFailed

if TYPE_CHECKING:
    from kubewright.testing.identities import Identities

__all__ = ["MissingExtra", "RealControlPlane"]


class MissingExtra(KubewrightError):
    """A package is missing that only tests need; the message names the extra to install."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Running:
    components: Components
    port: int
    kubeconfig: Path


class RealControlPlane:
    """A control plane of real binaries on loopback, gone without a trace at the end of ``async with``.

    ``flags`` go to kube-apiserver in place of the defaults of the same name; ``controller_manager`` and ``scheduler``
    start these two as well, with further flags if a list is given instead of ``True``. ``runtime_config`` chooses the
    APIs served, for example ``"api/all=true"``. ``disable_admission_plugins`` is ``["ServiceAccount"]`` unless given,
    because pods would wait for service accounts that only a controller manager makes; with one, nothing is disabled.

    Guarantees: on entering, the API server is ready and the namespace ``default`` is there. However this Python ends,
    no process and no file is left.

    Raises ``BinariesNotFound``, ``MissingExtra`` or ``StartFailed`` on entering. Only ``StartFailed`` leaves something
    behind: the folder of logs that its message names.

    Example::

        async with RealControlPlane() as plane:
            await plane.kubectl("create", "namespace", "shop")
    """

    def __init__(
        self,
        *,
        flags: Sequence[str] = (),
        controller_manager: bool | Sequence[str] = False,
        scheduler: bool | Sequence[str] = False,
        disable_admission_plugins: Sequence[str] | None = None,
        runtime_config: str | None = None,
        binaries: Binaries | None = None,
        time_limit: timedelta = timedelta(minutes=1),
    ) -> None:
        self._controller_manager = _flags_if_wanted(controller_manager)
        self._scheduler = _flags_if_wanted(scheduler)
        if disable_admission_plugins is None:
            disable_admission_plugins = ["ServiceAccount"] if self._controller_manager is None else []
        own = [f"--runtime-config={runtime_config}"] if runtime_config else []
        if disable_admission_plugins:
            own.append(f"--disable-admission-plugins={','.join(disable_admission_plugins)}")
        self._flags = merged(own, flags)
        self._binaries = binaries
        self._time_limit = time_limit
        self._state: _Running | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """Address of the API server, for example ``https://127.0.0.1:40123``; it survives a restart."""
        return _url(self._running.port)

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file of the administrator, with the certificates inside."""
        return self._running.kubeconfig

    @property
    def ca_file(self) -> Path:
        """The certificate that the API server's own certificate is checked with."""
        return self._running.components.identities.ca_file

    @property
    def logs(self) -> Path:
        """The folder with one log file for each process."""
        return self._running.components.launcher.logs

    def user(self, name: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig file for another user, known by a fresh client certificate; RBAC lets them do nothing yet."""
        return self._running.components.identities.kubeconfig(self.url, name, groups)

    async def kubectl(
        self, *arguments: str, input: str | None = None, kubeconfig: Path | None = None, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """What kubectl answered: ``stdout``, ``stderr`` and ``returncode``.

        ``input`` is its standard input (for ``-f -``); ``kubeconfig`` is the administrator's unless given.

        Raises ``KubectlFailed`` on another exit code than 0, unless ``check`` is false.
        """
        running = self._running
        result = await run_kubectl(
            running.components.binaries.kubectl,
            arguments,
            kubeconfig=kubeconfig or running.kubeconfig,
            cache=running.components.launcher.folder / "kubectl-cache",
            input=input,
        )
        if check and result.returncode:
            raise KubectlFailed(result)
        return result

    async def start(self) -> None:
        """Starts everything and returns when it is ready; ``async with`` does this."""
        if self._state is not None:
            raise KubewrightError("This control plane is running already; make another RealControlPlane beside it")
        binaries = self._find_binaries()
        make_identities = _identities_class()
        launcher = Launcher(time_limit=self._time_limit)
        try:
            identities = make_identities(launcher.folder)
            self._state = await self._launch(Components(binaries=binaries, launcher=launcher, identities=identities))
        except BaseException as error:
            launcher.close(keep_logs=isinstance(error, StartFailed))
            raise

    async def stop(self) -> None:
        """Kills every process and removes every file; a second call does nothing. ``async with`` does this."""
        state, self._state = self._state, None
        if state is not None:
            # Nothing is awaited here: a cancelled test must not leave processes behind.
            state.components.launcher.close()

    async def stop_api_server(self) -> None:
        """Kills the API server and keeps all else: clients see a crash, and the objects stay in etcd."""
        self._running.components.kill_api_server()

    async def restart_api_server(self) -> None:
        """Kills the API server if it is running, and returns when a new one is ready at the same address."""
        running = self._running
        running.components.kill_api_server()
        await running.components.start_api_server(self._flags, port=running.port)

    @property
    def _running(self) -> _Running:
        if self._state is None:
            raise KubewrightError("This control plane is not running; use it inside `async with RealControlPlane()`")
        return self._state

    def _find_binaries(self) -> Binaries:
        if self._binaries is not None:
            return self._binaries
        return find_binaries(
            controller_manager=self._controller_manager is not None, scheduler=self._scheduler is not None
        )

    async def _launch(self, components: Components) -> _Running:
        await components.start_etcd()
        port = await components.start_api_server(self._flags)
        url = _url(port)
        if self._controller_manager is not None:
            await components.start_controller_manager(url, self._controller_manager)
        if self._scheduler is not None:
            await components.start_scheduler(url, self._scheduler)
        return _Running(components=components, port=port, kubeconfig=components.identities.admin_kubeconfig(url))


def _url(port: int) -> str:
    return f"https://127.0.0.1:{port}"


def _flags_if_wanted(choice: bool | Sequence[str]) -> tuple[str, ...] | None:
    if isinstance(choice, bool):
        return () if choice else None
    return tuple(choice)


def _identities_class() -> type[Identities]:
    try:
        from kubewright.testing.identities import Identities
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"RealControlPlane makes certificates and needs the package {error.name!r}; "
            "install it with: pip install 'kubewright[testing]'"
        ) from error
    return Identities
