"""Every Python block of the documentation runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import PAGES, ROOT, run_page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_blocks_of_a_page_run(page: Path, capsys: pytest.CaptureFixture[str]):
    assert run_page(page)


@pytest.mark.parametrize("example", ["ask_as_others", "read_what_was_asked", "go_back", "go_two_ways"])
async def test_the_examples_of_the_servers_guide_do_what_they_say(example: str, capsys: pytest.CaptureFixture[str]):
    await run_page(ROOT / "docs/guide/apiserver.md")[example]()


@pytest.mark.parametrize(
    "example", ["see_pods_run", "see_a_shop_open", "see_a_crash", "see_a_command_run", "see_another_replica_set"]
)
def test_the_examples_of_the_guide_to_control_loops_do_what_they_say(example: str):
    run_page(ROOT / "docs/guide/controlplane.md")[example]()
