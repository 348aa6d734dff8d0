"""Amounts of resources are read, added, rounded and written as kube-apiserver does."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright_apiserver.schema.amount import (
    ZERO,
    added,
    amount_of,
    amount_or_zero,
    canonical,
    greater,
    in_millis,
    printed,
)
from kubewright_apiserver.schema.quantity import InvalidQuantity

SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi", "Gi", "Ti", "e3", "E-2"]
QUANTITIES = st.builds(
    lambda whole, decimals, suffix: f"{whole}{decimals}{suffix}",
    st.integers(0, 10**7),
    st.sampled_from(["", ".5", ".25", ".001", ".0001"]),
    st.sampled_from(SUFFIXES),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "1"),
        ("0", "0"),
        ("00", "0"),
        ("1000m", "1"),
        ("0.5", "500m"),
        ("1.500", "1.500"),
        ("1024Mi", "1Gi"),
        ("1028Mi", "1028Mi"),
        ("0.5Gi", "512Mi"),
        ("0.1Ki", "102400m"),
        ("1.5Ki", "1536"),
        ("0.0001Ki", "102400u"),
        ("1e3", "1e3"),
        ("1000e3", "1e6"),
        ("12E6", "12E6"),
        ("1000000", "1M"),
        ("9Ei", "9223372036854775807"),
        ("0.0000000001", "1n"),
        ("-1.5", "-1500m"),
        ("007", "007"),
    ],
)
def test_a_quantity_has_one_text(text, expected):
    assert canonical(text) == expected


def test_numbers_are_quantities_too():
    assert [canonical(2), canonical(0.5)] == ["2", "500m"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("100u", "1m"),
        ("0.00015", "1m"),
        ("1500m", "1500m"),
        ("1.500", "1.500"),
        ("1.500001", "1501m"),
        ("-100u", "-1m"),
    ],
)
def test_amounts_of_resources_are_rounded_up_to_thousandths(text, expected):
    assert in_millis(text) == expected


@pytest.mark.parametrize("text", ["", "x", "1x", "1.2.3", "1Kii", "--1", "1e"])
def test_what_is_no_quantity_is_left_to_validation(text):
    assert canonical(text) == text
    assert in_millis(text) == text
    assert amount_or_zero(text) == ZERO
    with pytest.raises(InvalidQuantity):
        amount_of(text)


def test_an_absurd_exponent_costs_nothing():
    assert amount_of("1e999999999").nanos > amount_of("8E").nanos
    assert canonical("1e-999999999") == "1e-9"


def test_a_sum_is_written_as_its_first_part():
    assert printed(added(amount_of("1Gi"), amount_of("512000000"))) == "1548576Ki"
    assert printed(added(amount_of("1Gi"), amount_of("1024Mi"))) == "2Gi"


def test_a_sum_with_nothing_is_written_as_its_second_part():
    assert printed(added(amount_of("0"), amount_of("2048Ki"))) == "2Mi"


def test_the_greater_of_two_amounts_keeps_its_text():
    assert printed(greater(amount_of("1.500"), amount_of("1400m"))) == "1.500"


@settings(derandomize=True, max_examples=300)
@given(QUANTITIES)
def test_the_canonical_text_is_as_much_and_stays(text):
    once = canonical(text)

    assert amount_of(once).nanos == amount_of(text).nanos
    assert canonical(once) == once


@settings(derandomize=True, max_examples=300)
@given(QUANTITIES)
def test_rounding_up_never_takes_away_and_happens_once(text):
    once = in_millis(text)

    assert 0 <= amount_of(once).nanos - amount_of(text).nanos < 10**6
    assert in_millis(once) == once
