"""The client's guide does on the server what it says."""

from __future__ import annotations

import inspect

from kubewright import Client
from tests.documents import ROOT, run_page


async def test_the_examples_of_the_clients_guide_run_in_order(client: Client):
    defined = run_page(ROOT / "docs/guide/client.md")
    examples = [value for value in defined.values() if inspect.iscoroutinefunction(value) and value.__name__ != "tell"]

    for example in examples:
        await example(client)

    assert len(examples) == 6
