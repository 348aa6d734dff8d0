"""Every section has its cases, and the table in ``README.md`` tells where they are."""

from __future__ import annotations

import json

import pytest

from conformance.conftest import CASES
from conformance.golden import FOLDER
from conformance.sections import FEWEST, SECTIONS, Cases, modules_in_the_table


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> Cases:
    found = request.config.stash[CASES]
    if not found.is_whole:
        pytest.skip("this counts the whole suite")
    return found


def test_every_section_has_enough_cases(cases: Cases):
    too_few = {section: cases.counts[section] for section in SECTIONS if cases.counts[section] < FEWEST}

    assert too_few == {}


def test_every_recorded_answer_is_of_a_case_that_is_there(cases: Cases):
    recorded = {name for path in FOLDER.glob("*.json") for name in json.loads(path.read_text())}

    assert sorted(recorded - cases.names) == []


def test_the_table_names_the_modules_of_every_section(cases: Cases):
    told = modules_in_the_table()

    assert told == {section: modules for section, modules in cases.modules.items() if section}
