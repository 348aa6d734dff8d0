"""Changes: decoded when touched, once."""

from __future__ import annotations

import pytest

from kubewright.cache import Change, Entry
from kubewright.errors import Undecodable
from kubewright.kinds.core_v1 import ConfigMap
from tests.cache.objects import entry


def test_nothing_is_decoded_until_it_is_touched_and_then_once():
    decoded: list[Entry] = []

    def decode(one: Entry) -> ConfigMap:
        decoded.append(one)
        return one.decode(ConfigMap)

    change = Change(ConfigMap, "updated", "live", ("2",), entry("a", 1), entry("a", 2), decode)
    assert (change.key.name, change.head.resource_version, decoded) == ("a", "2", [])

    assert change.new is change.new
    assert change.old is change.old
    assert change.object is change.new
    assert [one.resource_version for one in decoded] == ["2", "1"]


def test_an_undecodable_object_raises_when_it_is_touched_and_not_before():
    broken = entry("a", 2, data={"k": 1})
    change = Change(ConfigMap, "updated", "live", ("2",), entry("a", 1), broken)

    assert change.new_head is broken
    assert change.old is not None
    with pytest.raises(Undecodable, match=r'"default/a" does not fit its Python type'):
        _ = change.new


def test_a_change_says_in_words_what_it_is():
    change = Change(ConfigMap, "deleted", "live", ("2", "3"), entry("a", 3), None)

    assert repr(change) == "<Change ConfigMap default/a deleted (live) at 2,3>"
