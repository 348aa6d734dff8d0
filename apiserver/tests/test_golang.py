"""Values in messages are written as Go writes them."""

from __future__ import annotations

import pytest

from kubewright_apiserver.golang import go_json, go_number, go_quoted
from kubewright_apiserver.status import invalid_field


@pytest.mark.parametrize(
    ("number", "printed", "encoded"),
    [
        (5, "5", "5"),
        (1.0, "1", "1"),
        (-2.25, "-2.25", "-2.25"),
        (123456.0, "123456", "123456"),
        (1e6, "1e+06", "1000000"),
        (1234567.5, "1.2345675e+06", "1234567.5"),
        (1e20, "1e+20", "100000000000000000000"),
        (1e21, "1e+21", "1e+21"),
        (0.0001, "0.0001", "0.0001"),
        (0.00001, "1e-05", "0.00001"),
        (1.5e-7, "1.5e-07", "1.5e-7"),
        (-0.0, "-0", "-0"),
        (2**63, "9.223372036854776e+18", "9223372036854776000"),
        (2**63 - 1, "9223372036854775807", "9223372036854775807"),
    ],
)
def test_a_number_is_printed_and_encoded(number, printed, encoded):
    assert go_number(number) == printed
    assert go_json(number) == encoded


def test_a_text_is_quoted_with_gos_escapes():
    assert go_quoted('a"\\\n\x00\x7fé\u200b\U000e0001<') == '"a\\"\\\\\\n\\x00\\x7fé\\u200b\\U000e0001<"'


def test_json_has_its_keys_sorted_and_is_safe_in_html():
    assert go_json({"b": [1.0, None, True], "a": "<&>\u2028"}) == (
        '{"a":"\\u003c\\u0026\\u003e\\u2028","b":[1,null,true]}'
    )


@pytest.mark.parametrize(
    ("value", "shown"), [("a", '"a"'), (1e6, "1e+06"), (True, "true"), (None, "null"), ([1e6], "[1000000]")]
)
def test_a_wrong_value_is_shown_plainly_and_inner_values_as_json(value, shown):
    assert invalid_field("f", value, "why").message == f"f: Invalid value: {shown}: why"
