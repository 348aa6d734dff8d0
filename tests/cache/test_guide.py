"""The guide's functions run, in its order."""

from __future__ import annotations

import inspect
from pathlib import Path

from kubewright.testing import virtual_time
from tests.cache.wire import cluster
from tests.documents import ROOT, run_page


@virtual_time()
async def test_the_functions_of_the_guide_run_in_order():
    page: Path = ROOT / "docs/guide/cache.md"
    functions = [found for found in run_page(page).values() if inspect.iscoroutinefunction(found)]

    async with cluster() as made:
        for function in functions:
            await function(made.direct)

    assert [function.__name__ for function in functions] == ["read", "handle", "find", "choose", "write"]
