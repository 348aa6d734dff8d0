"""kopf's own examples run as a service account that may do what kopf's documentation says, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from conformance.peers.account import Account, Accounts
from conformance.peers.defined import define
from conformance.peers.kopf_examples import KopfExamples, Unfetched
from conformance.peers.logged import Logged, logged
from conformance.peers.peer import PYTHON
from conformance.rights import rule
from kubewright import Client, MergePatch, Unstructured
from kubewright.kinds.core_v1 import Event, Pod

KopfExample = Unstructured.of("kopf.dev/v1", "KopfExample", plural="kopfexamples")
NAME = "kopf-example-1"
_DEFINITIONS = ("customresourcedefinitions", "apiextensions.k8s.io")
HANDLED = "kopf.zalando.org/last-handled-configuration"
# The documentation's role has no right to the status, which its CRD has made a subresource.
STATUS = {"kind": "Role", "metadata": {"name": "status"}, "rules": [rule("patch", "kopfexamples/status", "kopf.dev")]}
READS_PODS = {"kind": "Role", "metadata": {"name": "pods"}, "rules": [rule("list,watch", "pods")]}
HANDLES_PODS = {"kind": "Role", "metadata": {"name": "pods"}, "rules": [rule("get,list,watch,patch,delete", "pods")]}


class Operators:
    """Starts examples as an account of the case."""

    def __init__(self, examples: KopfExamples, account: Account, namespace: str, folder: Path) -> None:
        self.account = account
        self._examples = examples
        self._namespace = namespace
        self._folder = folder

    def start(self, example: str, *flags: str, everywhere: bool = False) -> AbstractAsyncContextManager[Logged]:
        """The operator of an example, while it runs; alone unless flags say otherwise."""
        place = ("--all-namespaces",) if everywhere else ("-n", self._namespace)
        command = (PYTHON, "-u", "-m", "kopf", "run", *place, "--verbose", *(flags or ("--standalone",)))
        program = self._examples.program(example)
        return logged(*command, program, kubeconfig=self.account.kubeconfig, folder=self._folder)


@pytest.fixture(scope="session")
def examples(request: pytest.FixtureRequest) -> KopfExamples:
    if request.config.getoption("--server") not in ("http", "real"):
        pytest.skip("peers need a server that listens")
    if not PYTHON.exists():
        pytest.skip("the peers are not installed: `make peers` does it")
    try:
        return KopfExamples()
    except Unfetched as error:
        pytest.skip(str(error))


@pytest_asyncio.fixture
async def operators(
    examples: KopfExamples, accounts: Accounts, client: Client, tmp_path: Path
) -> AsyncIterator[Operators]:
    await define(client, examples.definition)
    account = await accounts.new("kopfexample-account", [*examples.roles, STATUS])
    yield Operators(examples, account, client.namespace, tmp_path)
    # An operator of all namespaces must find none that waits for its own to end.
    async for found in client.list(KopfExample):
        await client.patch(found, MergePatch({"metadata": {"finalizers": None}}))
    await client.delete_all(KopfExample)


async def create(client: Client, examples: KopfExamples) -> None:
    await client.create(Unstructured.from_dict(examples.example))


async def is_ready(operator: Logged) -> None:
    await operator.wait_for("Client is configured")


async def wait_status(client: Client, field: str) -> Any:
    """The value of a field of the status once it is there."""
    found = await client.wait_until(KopfExample, NAME, lambda found: field in found.content.get("status", {}))
    return found["status"][field]


def was_refused(operator: Logged) -> str | None:
    return operator.told("forbidden")


async def test_minimal_writes_what_its_handler_returns(operators: Operators, examples: KopfExamples, client: Client):
    async with operators.start("01-minimal") as operator:
        await create(client, examples)
        status = await wait_status(client, "create_fn")
        await operator.wait_for("And here we are! Creating: {'duration': '1m', 'field': 'value'")

    assert status == {"message": "hello world"}
    assert was_refused(operator) is None


async def test_children_creates_a_pod_that_it_owns(operators: Operators, examples: KopfExamples, client: Client):
    async with operators.start("02-children") as operator:
        await create(client, examples)
        status = await wait_status(client, "create_fn")

    (pod,) = [found async for found in client.list(Pod)]
    (owner,) = pod.metadata.owner_references
    assert status == {"children": [pod.metadata.uid]}
    assert (owner.kind, owner.name) == ("KopfExample", NAME)
    assert was_refused(operator) is None


async def test_exceptions_end_retries_as_they_say(operators: Operators, examples: KopfExamples, client: Client):
    async with operators.start("03-exceptions") as operator:
        await create(client, examples)
        await operator.wait_for("'instant_failure_with_only_a_message' failed permanently", "Fail once and for all.")
        await operator.wait_for("'instant_failure_with_traceback' failed")
        await operator.wait_for("'eventual_success_with_a_few_messages' succeeded")
        await operator.wait_for("'eventual_failure_with_tracebacks' failed", "will stop")

    assert was_refused(operator) is None


async def test_events_are_recorded(operators: Operators, examples: KopfExamples, client: Client):
    types = set()
    async with operators.start("04-events") as operator:
        await create(client, examples)
        async for change in client.watch(Event):
            if change.type == "ADDED" and change.object.reason == "SomeReason":
                types.add((change.object.type, change.object.involved_object.name))
            if len(types) == 4:
                break

    assert types == {(type, NAME) for type in ("SomeType", "Normal", "Warning", "Error")}
    assert was_refused(operator) is None


async def test_handlers_follow_the_life_of_an_object(operators: Operators, examples: KopfExamples, client: Client):
    async with operators.start("05-handlers") as operator:
        await create(client, examples)
        await operator.wait_for("Creation is processed: 3 succeeded; 0 failed.")
        await client.patch(KopfExample, MergePatch({"spec": {"field": "changed"}}), name=NAME)
        await operator.wait_for("Updating is processed: 2 succeeded; 0 failed.")
        await client.wait_until(KopfExample, NAME, lambda found: "changed" in found.metadata.annotations[HANDLED])
    async with operators.start("05-handlers") as again:
        await again.wait_for("Resuming is processed: 2 succeeded; 0 failed.")
        await client.delete(KopfExample, NAME)
        await client.wait_gone(KopfExample, NAME)
        await again.wait_for("Deleted, really deleted")

    for words in ("CREATED 1st", "CREATED 2nd", "FIELD CHANGED: None -> value", "UPDATED", "value -> changed"):
        assert operator.told(words)
    for words in ("RESUMED 1st", "RESUMED 2nd", "DELETED 1st", "DELETED 2nd"):
        assert again.told(words)
    assert was_refused(operator) is None
    assert was_refused(again) is None


SAID = {
    "07-subhandlers": ("=== Handling creation for item1. ===", "=== Handling creation for item2. ==="),
    "08-events": ("Event received: {'type': ", "Oops!"),
    "09-testing": ("Something was logged here.",),
    "11-filtering-handlers": ("Label is matching.", "Field value is satisfied.", "Field daemon is satisfied."),
    "14-daemons": ("=> Ping from a sync daemon: field='value'", "=> Ping from an async daemon: field='value'"),
    "15-timers": ("Ping from a sync timer: field='value'", "Ping from an async timer: field='value'"),
}


@pytest.mark.parametrize("example", SAID)
async def test_an_example_says_what_it_does(operators: Operators, examples: KopfExamples, client: Client, example: str):
    async with operators.start(example) as operator:
        await is_ready(operator)
        await create(client, examples)
        for words in SAID[example]:
            await operator.wait_for(words)

    assert was_refused(operator) is None


async def test_builtins_watches_pods(operators: Operators, client: Client):
    await operators.account.grant(HANDLES_PODS)
    spec = {"containers": [{"name": "c", "image": "busybox"}]}
    pod = Unstructured.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})

    async with operators.start("10-builtins") as operator:
        await client.create(pod)
        await operator.wait_for("=== Pod killing happens in 30s.")
        await client.delete(Pod, "p")
        await client.wait_gone(Pod, "p")
        await operator.wait_for("=== Pod killing is cancelled!")

    assert was_refused(operator) is None


async def test_hooks_log_in_by_themselves(operators: Operators, client: Client):
    await operators.account.grant(READS_PODS)
    spec = {"containers": [{"name": "c", "image": "busybox"}]}
    await client.create(
        Unstructured.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    )

    async with operators.start("13-hooks") as operator:
        await operator.wait_for("Logging in in 2s...")
        await operator.wait_for("[" + client.namespace + "/p]", "Served by the background task.")

    assert was_refused(operator) is None


async def test_indexing_sees_pods(operators: Operators, examples: KopfExamples, client: Client):
    await operators.account.grant(READS_PODS)
    spec = {"containers": [{"name": "c", "image": "busybox"}]}
    metadata = {"name": "p", "labels": {"app": "indexed"}}
    await client.create(Unstructured.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))

    async with operators.start("16-indexing") as operator:
        await create(client, examples)
        status = await wait_status(client, "running-pods")
        await operator.wait_for("('app', 'indexed'): ")

    assert status == []
    assert was_refused(operator) is None


async def test_embedded_handles_what_its_own_program_creates(
    operators: Operators, examples: KopfExamples, tmp_path: Path
):
    everything = [rule("get,list,watch,create,patch,delete", "kopfexamples", "kopf.dev"), rule("create", "events")]
    role = {"kind": "ClusterRole", "metadata": {"name": "everything"}, "rules": everything}
    await operators.account.grant(role)

    program = examples.program("12-embedded")
    async with logged(PYTHON, "-u", program, kubeconfig=operators.account.kubeconfig, folder=tmp_path) as embedded:
        code = await embedded.code()

    assert code == 0, str(embedded)
    for step in range(3):
        assert embedded.told(f"Hello, kopf-example-{step}!")
        assert embedded.told(f"Good bye, kopf-example-{step}!")
    assert was_refused(embedded) is None


async def test_all_at_once_does_all_of_it(operators: Operators, examples: KopfExamples, client: Client):
    await operators.account.grant(READS_PODS)

    async with operators.start("99-all-at-once") as operator:
        await create(client, examples)
        await operator.wait_for("Handler 'create_1' succeeded")
        await operator.wait_for("Handler 'create_2' failed with an exception and will try again in 60 seconds: Whoops!")
        await operator.wait_for("Handler 'create_pod' succeeded")
        await operator.wait_for("This pod is special for us.")
        await client.delete(KopfExample, NAME)
        await client.wait_gone(KopfExample, NAME)

    assert was_refused(operator) is None


async def test_an_operator_pauses_while_one_with_a_higher_priority_runs(
    operators: Operators, examples: KopfExamples, client: Client
):
    for definition in examples.peerings:
        await define(client, definition)
    peering = {"apiVersion": "kopf.dev/v1", "kind": "KopfPeering", "metadata": {"name": "default"}}
    await client.create(Unstructured.from_dict(peering))

    async with operators.start("06-peering", "--peering=default") as operator:
        await is_ready(operator)
        async with operators.start("06-peering", "--peering=default", "--dev") as developer:
            await operator.wait_for("Pausing operations in favour of", "priority=666")
            await create(client, examples)
            await developer.wait_for("Handler 'create_fn' succeeded")
            assert operator.told("Handler 'create_fn'") is None
            await developer.terminate()
            await operator.wait_for("Resuming operations after the pause.")

    assert was_refused(operator) is None
    assert was_refused(developer) is None


async def test_an_operator_of_all_namespaces_peers_cluster_wide(
    operators: Operators, examples: KopfExamples, client: Client
):
    for definition in examples.peerings:
        await define(client, definition)
    name = client.namespace
    peering = {"apiVersion": "kopf.dev/v1", "kind": "ClusterKopfPeering", "metadata": {"name": name}}
    made = await client.create(Unstructured.from_dict(peering))

    async with operators.start("01-minimal", f"--peering={name}", everywhere=True) as operator:
        await client.wait_until(type(made), name, lambda found: bool(found.content.get("status")))
        await create(client, examples)
        status = await wait_status(client, "create_fn")

    assert status == {"message": "hello world"}
    assert was_refused(operator) is None
    await client.delete(type(made), name)


async def test_an_operator_without_a_right_to_what_it_handles_is_refused(
    operators: Operators, examples: KopfExamples, accounts: Accounts, client: Client, tmp_path: Path
):
    framework = {**examples.roles[0], "rules": [rule("list,watch", "namespaces"), rule("list,watch", *_DEFINITIONS)]}
    stranger = await accounts.new("stranger", [framework])
    await create(client, examples)

    async with Operators(examples, stranger, client.namespace, tmp_path).start("01-minimal") as operator:
        line = await operator.wait_for("kopfexamples.kopf.dev is forbidden")

    assert f'User "{stranger.user}" cannot list resource "kopfexamples" in API group "kopf.dev"' in line
    assert "status" not in (await client.get(KopfExample, NAME)).content


async def test_an_operator_without_a_right_to_the_status_is_refused_it(
    examples: KopfExamples, accounts: Accounts, client: Client, tmp_path: Path
):
    await define(client, examples.definition)
    account = await accounts.new("kopfexample-account", examples.roles)
    await create(client, examples)

    async with Operators(examples, account, client.namespace, tmp_path).start("01-minimal") as operator:
        await operator.wait_for(
            f'kopfexamples.kopf.dev "{NAME}" is forbidden: User "{account.user}" cannot patch resource '
            '"kopfexamples/status" in API group "kopf.dev"'
        )

    await client.delete(KopfExample, NAME)
