"""Every Python block of the documentation runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents import PAGES, run_page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_the_blocks_of_a_page_run(page: Path, capsys: pytest.CaptureFixture[str]):
    assert run_page(page)
