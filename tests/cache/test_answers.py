"""Answers: laid over what the watch told, if they are news; asked for, if there were none."""

from __future__ import annotations

from typing import Any

from kubewright.api import Key
from kubewright.cache import Scope
from kubewright.cache.answers import Answers
from kubewright.cache.mirror import Mirror
from kubewright.client import Client
from kubewright.kinds.core_v1 import ConfigMap
from tests.cache.objects import entry, raw
from tests.client.scripted import Call, Server, page, thing

A = Key("default", "a")


class Place:
    """A watch that is as far as a test says."""

    def __init__(self, revision: str | None) -> None:
        self.revision = revision
        self.woken: list[Key] = []

    def reached(self, namespace: str) -> str | None:
        return self.revision

    def shown(self, key: Key) -> None:
        self.woken.append(key)


def answers_over(mirror: Mirror[Any], place: Place, client: Client | None = None) -> Answers:
    return Answers(client or Server((200, page())).client(), ConfigMap, Scope(), mirror, place)


def shown(mirror: Mirror[Any]) -> str | None:
    found = mirror.store.get(A)
    return None if found is None else found.resource_version


def test_an_answer_is_shown_though_its_event_is_only_pending():
    mirror, place = Mirror(ConfigMap), Place("5")
    mirror.add(entry("a", 5))

    answers_over(mirror, place).wrote(raw("a", 5))

    assert shown(mirror) == "5"
    assert place.woken == [A]


def test_an_answer_that_the_watch_has_passed_is_not_shown():
    mirror = Mirror(ConfigMap)

    answers_over(mirror, Place("5")).wrote(raw("a", 5))

    assert shown(mirror) is None


def test_an_answer_is_not_laid_over_something_later_while_the_first_list_is_applied():
    mirror = Mirror(ConfigMap)
    mirror.replace([entry("a", 8)], cause="initial")
    mirror.changes(10)

    answers_over(mirror, Place("")).wrote(raw("a", 6))

    assert shown(mirror) == "8"
    assert len(mirror.overlay) == 0


def test_an_answer_without_a_number_is_shown_if_it_is_another():
    mirror, place = Mirror(ConfigMap), Place("x1")
    answers = answers_over(mirror, place)

    answers.wrote(raw("a", "x5"))

    assert shown(mirror) == "x5"


def test_an_answer_from_where_nothing_is_watched_is_not_shown():
    mirror = Mirror(ConfigMap)
    answers = answers_over(mirror, Place(None))

    answers.wrote(raw("a", 5))
    answers.doubt("default", "a")

    assert shown(mirror) is None
    assert answers.is_sure


def test_what_cannot_be_read_is_no_answer():
    mirror = Mirror(ConfigMap)

    answers_over(mirror, Place("")).wrote(b'{"metadata":7}')

    assert len(mirror.store) == 0


async def test_a_doubt_that_arises_while_the_server_is_asked_is_asked_about_again():
    mirror, place = Mirror(ConfigMap), Place("1")
    doubts = [True, False]

    def listed(call: Call) -> Any:
        if doubts.pop(0):
            answers.doubt("default", "a")
            return 200, page(version=5)
        return 200, page(thing("a", 6), version=7)

    server = Server(listed)
    async with server.client() as client:
        answers = answers_over(mirror, place, client)
        answers.doubt("default", "a")

        await answers.settle()

    assert len(server.calls) == 2
    assert shown(mirror) == "6"
    assert answers.is_sure
