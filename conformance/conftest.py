"""The servers that the suite runs on, and for each test a client or a raw ``api`` in a namespace of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from conformance.differences import DIFFERENCES
from conformance.exchange import Api, differences, normalised
from conformance.golden import Golden
from conformance.kubectl import Kubectl, told_apart
from conformance.planes import real_plane
from conformance.rights import Rights
from conformance.sections import Cases
from conformance.widgets import Widgets
from kubewright import Client, Config, InProcessTransport, Metadata
from kubewright.client import HttpTransport, Transport
from kubewright.config import Anonymous
from kubewright.kinds.core_v1 import Namespace
from kubewright.testing import RealControlPlane
from kubewright_apiserver.access import Peer
from kubewright_apiserver.server import ApiServer
from tests.real import require_binaries

# Versions behind feature gates that the real server has off are left out.
SERVED = {"api/beta": True, "certificates.k8s.io/v1beta1": False, "storagemigration.k8s.io/v1beta1": False}
HERE = Path(__file__).parent
SERVERS = ("real", "memory", "sqlite", "http")
CASES = pytest.StashKey[Cases]()
FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--server`` chooses the server; ``--record`` keeps the real one's answers as what every server must give."""
    parser.addoption("--server", choices=SERVERS, default="real", help="which server to ask")
    parser.addoption("--record", action="store_true", help="record the answers of the real server in golden/")


def pytest_configure(config: pytest.Config) -> None:
    """Know the mark of sections.

    Asyncio's own leak may pass: a TLS handshake that a restarting server cuts off leaves its socket open.
    """
    config.addinivalue_line("markers", "section(number): the section of Kubernetes' behaviour that a case is about")
    if config.getoption("--server") == "real":
        config.addinivalue_line("filterwarnings", "default::pytest.PytestUnraisableExceptionWarning")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Count the cases. On an embedded server the listed differences are expected; one that is gone must leave."""
    config.stash[CASES] = Cases(items)
    if config.getoption("--server") == "real":
        return
    for item in items:
        if item.path.parent == HERE and item.path.stem in ("test_round_trip", "test_defaulting"):
            item.add_marker(pytest.mark.skip(reason="this asks the real server only; its answers are tested elsewhere"))
        if item.name in DIFFERENCES:
            item.add_marker(pytest.mark.xfail(reason=DIFFERENCES[item.name], strict=True))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember which cases failed: what they heard is not recorded."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    """Tell how many cases each section has."""
    return str(config.stash[CASES])


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def real(request: pytest.FixtureRequest) -> AsyncIterator[RealControlPlane | None]:
    """A real kube-apiserver with everything that is GA or beta, if that is the server that was chosen."""
    async with real_plane(request) as plane:
        yield plane


@pytest.fixture
def server_options() -> dict[str, Any]:
    """Further options of an embedded server; a module that has its own gives ``real`` the same."""
    return {}


@pytest.fixture
def plane(real: RealControlPlane | None) -> RealControlPlane:
    """The real server, for cases that start and stop it."""
    if real is None:
        pytest.skip("this case starts and stops the real server")
    return real


Forget = Callable[[], Awaitable[None]]


class Chosen(NamedTuple):
    """The server that was chosen: the way to it, and a kubeconfig if it listens."""

    transport: Transport
    kubeconfig: Path | None
    forget: Forget | None
    """Makes the server forget what has changed so far, if that can be done."""
    embedded: ApiServer | None = None
    """The server itself, if it is reached without a socket."""


@pytest_asyncio.fixture
async def server(
    request: pytest.FixtureRequest, real: RealControlPlane | None, tmp_path: Path, server_options: dict[str, Any]
) -> AsyncIterator[Chosen]:
    """The server that was chosen; an embedded one is new for each case."""
    name = request.config.getoption("--server")
    if real is not None:
        http = HttpTransport(Config.from_kubeconfig(real.kubeconfig))
        yield Chosen(http, real.kubeconfig, real.restart_api_server)
        await http.aclose()
        return
    data = tmp_path / "store.db" if name == "sqlite" else None
    listens = name == "http" or "kubectl" in request.fixturenames
    async with ApiServer(data=data, listens=listens, runtime_config=SERVED, **server_options) as embedded:
        forget = _forgetting(embedded) if data is None else None
        if not listens:
            yield Chosen(InProcessTransport(embedded.handle, embedded.connect), None, forget, embedded)
            return
        made = HttpTransport(Config.from_kubeconfig(embedded.kubeconfig))
        yield Chosen(made, embedded.kubeconfig, forget)
        await made.aclose()


def _forgetting(embedded: ApiServer) -> Forget:
    async def forget() -> None:
        store = embedded.app.engine.store
        store.restore(store.snapshot())

    return forget


@pytest.fixture
def listening(server: Chosen) -> None:
    """That the server is reached by HTTP; for cases of what HTTP adds."""
    if server.kubeconfig is None:
        pytest.skip("without a socket there is no HTTP")


@pytest.fixture
def forget(server: Chosen) -> Forget:
    """What makes the server forget the past."""
    if server.forget is None:
        pytest.skip("on a file the past is kept")
    return server.forget


@pytest.fixture
def transport(server: Chosen) -> Transport:
    """The way to the server."""
    return server.transport


@pytest_asyncio.fixture
async def client(transport: Transport) -> AsyncIterator[Client]:
    """A client whose default namespace is new and its test's own."""
    admin = Client(transport=transport)
    namespace = await admin.create(Namespace(metadata=Metadata(generate_name="conformance-")))
    yield admin.using(namespace=namespace.name)


@pytest_asyncio.fixture
async def api(client: Client, transport: Transport, request: pytest.FixtureRequest) -> AsyncIterator[Api]:
    """Raw requests whose answers must be those that the real server gave."""
    api = Api(transport.send, client.namespace)
    api.is_patient = request.config.getoption("--server") == "real"
    yield api
    exchanges = normalised(api)
    found = differences(exchanges, _recorded(request, exchanges))
    assert not found, "\n".join(found)


def _recorded(request: pytest.FixtureRequest, told: list[dict[str, Any]]) -> Any:
    """What a case heard from the real server: what it heard now, if that is to be recorded."""
    golden = Golden(request.node.path.stem.removeprefix("test_"))
    if request.config.getoption("--record") and not request.node.stash[FAILED]:
        assert request.config.getoption("--server") == "real", "only the real server's answers are recorded"
        golden.record(request.node.name, told)
    return golden.expected(request.node.name)


@pytest_asyncio.fixture
async def kubectl(
    server: Chosen, client: Client, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Kubectl]:
    """kubectl in the case's namespace; what it prints must be what it prints on the real server.

    Its many starts take a minute, and where objects are stored is all one to it: it is tried on one server of ours.
    """
    if request.config.getoption("--server") in ("memory", "sqlite"):
        pytest.skip("kubectl is tried with --server http and real")
    assert server.kubeconfig is not None
    kubectl = Kubectl(require_binaries().kubectl, server.kubeconfig, client.namespace, tmp_path)
    yield kubectl
    found = told_apart(kubectl.told, _recorded(request, kubectl.told))
    assert not found, found


@pytest_asyncio.fixture
async def stranger(api: Api, server: Chosen) -> AsyncIterator[Api]:
    """The same case's requests without the administrator's credentials; a token may go in a header."""
    bare = _bare(server)
    stranger = Api(bare.send, api.namespace)
    stranger.exchanges = api.exchanges
    yield stranger
    await bare.aclose()


@pytest_asyncio.fixture
async def rights(api: Api) -> AsyncIterator[Rights]:
    """What gives rights to the case's users."""
    rights = Rights(api)
    yield rights
    await rights.end()


def _bare(server: Chosen) -> Transport:
    embedded = server.embedded
    if embedded is None:
        assert server.kubeconfig is not None
        config = Config.from_kubeconfig(server.kubeconfig)
        tls = dataclasses.replace(config.tls, cert_file=None, cert_data=b"", key_file=None, key_data=b"")
        return HttpTransport(dataclasses.replace(config, tls=tls, credentials=Anonymous()))
    app = embedded.app
    return InProcessTransport(lambda method, target, headers, body: app.handle(method, target, headers, body, Peer()))


@pytest_asyncio.fixture
async def widgets(api: Api) -> AsyncIterator[Widgets]:
    """A custom resource of the case's own group; gone afterwards, for a server with many of them is slow."""
    widgets = Widgets(api)
    yield widgets
    with api.unrecorded():
        await api.delete(widgets.definition)
