"""How far an operation is, as anybody reads it off the object."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright import Metadata, Model, Resource
from kubewright.api import now, using_clock
from kubewright.crd import crd_of
from kubewright.operation import PROGRESS, Phase, Progress, revision_of


class ShipSpec(Model):
    image: str
    replicas: int = 3
    note: str = ""


class Ship(Resource, group="tests.example.com", version="v1", columns=[PROGRESS]):
    spec: ShipSpec
    status: Progress = Progress()


def desired(ship: Ship) -> str:
    return revision_of(ship.spec.image, ship.spec.replicas)


class Life:
    """A ship, and what happens to it: its spec is changed, and its operator looks."""

    def __init__(self, image: str) -> None:
        self.ship = Ship(metadata=Metadata(name="a", generation=1), spec=ShipSpec(image=image))

    def change(self, image: str) -> None:
        self.ship.spec.image = image
        self.ship.metadata.generation += 1

    def look(self, done: int, *, started: bool = True) -> None:
        ship = self.ship
        ship.status.observe(ship, desired(ship), done=done, total=ship.spec.replicas, started=started)
        ship.status.observed_generation = ship.metadata.generation

    @property
    def phase(self) -> str:
        return str(self.ship.status.phase_of(self.ship, desired(self.ship)))


def test_a_spec_that_the_operator_has_not_seen_is_unknown() -> None:
    life = Life("a")
    assert life.phase == "Unknown"
    life.look(3)
    assert life.phase == "Done"

    life.change("b")

    assert life.phase == "Unknown"


def test_an_operation_goes_from_not_started_over_its_counts_to_done() -> None:
    life = Life("a")
    life.look(3)
    life.change("b")
    told = []

    for done, started in [(0, False), (0, True), (2, True), (3, True)]:
        life.look(done, started=started)
        told.append((life.phase, life.ship.status.progress))

    assert told == [(text, text) for text in ("NotStarted", "InProgress 0/3", "InProgress 2/3", "Done")]


def test_a_change_and_back_is_told_from_no_change() -> None:
    life = Life("a")
    life.look(3)
    life.change("b")
    life.change("a")
    assert life.phase == "Unknown"

    life.look(3)

    assert life.phase == "Done"


def test_an_operation_given_up_half_way_is_not_taken_for_done_although_the_old_revision_is_back() -> None:
    life = Life("a")
    life.look(3)
    life.change("b")
    life.look(1)
    life.change("a")

    life.look(2)
    assert life.phase == "InProgress 2/3"
    life.look(3)

    assert life.phase == "Done"


def test_a_loss_after_the_end_is_no_operation() -> None:
    life = Life("a")
    life.look(3)

    life.look(2)

    assert life.phase == "Done"
    assert life.ship.status.updated == 2


def test_what_does_not_matter_makes_no_operation() -> None:
    life = Life("a")
    life.look(3)
    life.ship.spec.note = "other"
    life.ship.metadata.generation += 1

    life.look(3)

    assert life.phase == "Done"


def test_failing_to_observe_is_unknown_until_it_is_observed_again() -> None:
    life = Life("a")
    life.look(3)
    life.ship.status.lose_sight("the database does not answer")
    assert life.phase == "Unknown"
    condition = life.ship.status.get("Progressing")
    assert condition is not None
    assert (condition.status, condition.reason) == ("Unknown", "ObservingFailed")

    life.look(3)

    assert life.phase == "Done"


def test_the_condition_says_the_same_and_keeps_its_time_while_it_goes_on() -> None:
    life = Life("a")
    life.look(1)
    first = life.ship.status.get("Progressing")
    assert first is not None
    assert (first.status, first.reason, first.message) == ("True", "InProgress", "1 of 3 are as desired")
    since = first.last_transition_time

    later = now() + timedelta(hours=1)
    with using_clock(lambda: later):
        life.look(2)

    second = life.ship.status.get("Progressing")
    assert second is not None
    assert second.last_transition_time == since
    assert second.message == "2 of 3 are as desired"


def test_the_column_shows_it() -> None:
    columns = crd_of(Ship).spec.versions[0].additional_printer_columns

    assert next((column.name, column.json_path) for column in columns) == ("Progress", ".status.progress")


@pytest.mark.parametrize("other", [{"a": 1}, [1, "a"], "a1", {"a": "1"}])
def test_revisions_of_different_things_differ(other: object) -> None:
    assert revision_of({"a": 1, "b": 2}) != revision_of(other)


def test_a_revision_is_the_same_in_every_process() -> None:
    assert revision_of({"image": "nginx", "port": 80}) == revision_of({"port": 80, "image": "nginx"}) == "ea0cbb864b"


@settings(derandomize=True, max_examples=200)
@given(st.lists(st.one_of(st.sampled_from("abc"), st.integers(min_value=0, max_value=3)), max_size=12))
def test_done_is_never_told_of_a_revision_that_was_not_reached(steps: list[str | int]) -> None:
    """``ships`` is what is really there: a look with n of 3 means that n were as desired then."""
    life = Life("a")
    last_look: tuple[str, int] | None = None
    reached: str | None = None
    for step in steps:
        if isinstance(step, str):
            life.change(step)
            continue
        life.look(step)
        image = life.ship.spec.image
        if step == 3:
            reached = image
        elif last_look is not None and last_look[0] != image:
            reached = None
        last_look = (image, step)
        assert (life.phase == "Done") == (reached == image)


def test_a_phase_is_a_value() -> None:
    assert Phase("InProgress", 1, 2) == Phase("InProgress", 1, 2)
    assert str(Phase("Unknown")) == "Unknown"
