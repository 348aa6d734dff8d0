from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.metadata import Metadata
from kubewright.api.model import Model
from kubewright.api.quantity import Quantity
from kubewright.api.resource import Resource
from kubewright.api.wire import changes, decode, to_dict
from kubewright.errors import Undecodable

# What Go's k8s.io/apimachinery v0.36.3 makes of these texts: (*Quantity).CanonicalizeBytes.
CANONICAL = [
    ("0", "0"), ("-0", "0"), ("0.0", "0"), ("0Ki", "0"), ("0m", "0"), ("0e0", "0"), ("000", "0"), ("1", "1"),
    ("+1", "1"), ("-1", "-1"), ("01", "1"), ("1.5", "1500m"), ("1.50", "1500m"), ("1.500", "1500m"), (".5", "500m"),
    ("5.", "5"), ("-.5", "-500m"), ("0.25", "250m"), ("0.1", "100m"), ("1.", "1"),
    ("3.14159265358979", "3141592654n"), ("1000", "1k"), ("1024", "1024"), ("1500", "1500"), ("1000000", "1M"),
    ("100m", "100m"), ("1000m", "1"), ("1500m", "1500m"), ("2000m", "2"), ("0.1m", "100u"), ("1m", "1m"),
    ("1u", "1u"), ("1n", "1n"), ("0.1n", "1n"), ("0.0000000001", "1n"), ("-0.1n", "-1n"),
    ("1.0000000001", "1000000001n"), ("0.1234567891", "123456790n"), ("1234567890.123456789", "1234567890123456789n"),
    ("9.999999999999", "10"), ("1k", "1k"), ("10k", "10k"), ("1000k", "1M"), ("1M", "1M"), ("129M", "129M"),
    ("1G", "1G"), ("1T", "1T"), ("1P", "1P"), ("12E", "12E"), ("9E", "9E"), ("1e3", "1e3"), ("1E3", "1e3"),
    ("1e+6", "1e6"), ("1e-3", "1e-3"), ("1E-3", "1e-3"), ("5e2", "500"), ("12e1", "120"), ("1.2e3", "1200"),
    ("1.5e1", "15"), ("1e0", "1"), ("1e-9", "1e-9"), ("1e-10", "1e-9"), ("1e-30", "1e-9"), ("1e18", "1e18"),
    ("1e21", "1e21"), ("1e30", "1e30"), ("100e-2", "1"), ("1500e-3", "1500e-3"), ("1e03", "1e3"), ("1Ki", "1Ki"),
    ("2Ki", "2Ki"), ("999Ki", "999Ki"), ("1000Ki", "1000Ki"), ("1023Ki", "1023Ki"), ("1024Ki", "1Mi"),
    ("1025Ki", "1025Ki"), ("1.25Ki", "1280"), ("1.1Ki", "1126400m"), ("0.5Ki", "512"), ("0.1Ki", "102400m"),
    ("0.001Ki", "1024m"), ("0.0001Ki", "102400u"), ("1.Ki", "1Ki"), (".5Ki", "512"), ("512Ki", "512Ki"),
    ("0.1Mi", "104857600m"), ("0.7Mi", "734003200m"), ("1.5Mi", "1536Ki"), ("3Mi", "3Mi"), ("1024Mi", "1Gi"),
    ("2048Mi", "2Gi"), ("123Mi", "123Mi"), ("0.3Gi", "322122547200m"), ("0.5Gi", "512Mi"), ("1.5Gi", "1536Mi"),
    ("-1.5Gi", "-1536Mi"), ("1.333Ti", "1465648999825408m"), ("1Ti", "1Ti"), ("1Pi", "1Pi"), ("1Ei", "1Ei"),
    ("7Ei", "7Ei"), ("8Ei", "9223372036854775807"), ("100Ei", "9223372036854775807"),
    ("-8Ei", "-9223372036854775807"), ("-9Ei", "-9223372036854775807"), ("1024Ei", "9223372036854775807"),
    ("18446744073709551616Ki", "9223372036854775807"), ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775808", "9223372036854775808"), ("-9223372036854775809", "-9223372036854775809"),
    ("123456789012345678901234567890", "123456789012345678901234567890"), ("1000000000000000000000n", "1T"),
    ("128974848", "128974848"), ("-1500m", "-1500m"),
]  # fmt: skip

# (*Quantity).Value and (*Quantity).MilliValue of the same.
VALUES = [
    ("0", 0, 0), ("1", 1, 1000), ("1.5", 2, 1500), (".5", 1, 500), ("1n", 1, 1), ("0.1n", 1, 1), ("1500m", 2, 1500),
    ("-1500m", -2, -1500), ("1m", 1, 1), ("0.0000000001", 1, 1), ("1e3", 1000, 1000000), ("1e-3", 1, 1),
    ("1.1Ki", 1127, 1126400), ("0.5Gi", 536870912, 536870912000), ("1.5Gi", 1610612736, 1610612736000),
    ("1.2e3", 1200, 1200000), ("129M", 129000000, 129000000000), ("9.999999999999", 10, 10000),
]  # fmt: skip

MALFORMED = [
    "", "1K", "1ki", "1KI", "1e", "1e+", "1E-", "1e3m", "1m3", "1e3.5", "1.2.3", "1..2", "--1", "+-1", "1-1", "1+1",
    " 1", "1 ", "1\n", "1_000", "1,5", "0x10", "Inf", "NaN", "\u0661", "1Mib", "1MB", "1i", "1e1e1", "abc", "-", "+",
    ".", "m", "Ki", "-.Ki", "e3",
]  # fmt: skip


class TankSpec(Model):
    size: Quantity


class Tank(Resource, group="demo.example.com", version="v1"):
    spec: TankSpec


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_canonical_is_what_kubernetes_writes(text: str, canonical: str) -> None:
    assert Quantity.parse(text).canonical() == canonical


@pytest.mark.parametrize(("text", "value", "milli"), VALUES)
def test_whole_values_are_rounded_away_from_zero(text: str, value: int, milli: int) -> None:
    quantity = Quantity(text)

    assert (int(quantity), quantity.milli_value()) == (value, milli)


@pytest.mark.parametrize("text", MALFORMED)
def test_parse_refuses_a_malformed_text_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity") as caught:
        Quantity.parse(text)

    assert repr(text) in str(caught.value)


def test_twelve_capital_e_is_exa_and_not_an_exponent() -> None:
    assert int(Quantity("12E")) == 12 * 10**18


def test_amounts_beyond_exa_keep_their_suffix() -> None:
    assert Quantity("1000E").canonical() == "1000E"
    assert (Quantity("4Ei") * 1024).canonical() == "4096Ei"


def test_a_text_of_astronomic_size_is_refused_instead_of_taking_all_memory() -> None:
    with pytest.raises(ValueError, match="too large"):
        int(Quantity("1e999999999"))


def test_a_text_of_astronomic_smallness_is_one_nano() -> None:
    assert Quantity("1e-999999999") == Quantity("1n")
    assert Quantity("-1e-999999999") == Quantity("-1n")
    assert Quantity("12345e-30") == Quantity("1n")


def test_an_endless_text_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity.parse("1" * 5000)


def test_text_is_kept_as_given() -> None:
    assert str(Quantity("01.500Gi")) == "01.500Gi"
    assert repr(Quantity("1500m")) == "Quantity('1500m')"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3, "3"), (-4096, "-4096"), (1000, "1k"), (0.1, "100m"), (1e22, "10000E"), (2.5, "2500m"),
        (Decimal("0.25"), "250m"), (Decimal("1e-12"), "1n"), (Fraction(1, 3), "333333334n"),
        (Fraction(-1, 3), "-333333334n"),
    ],
)  # fmt: skip
def test_numbers_are_written_canonically(number: float | Decimal | Fraction, text: str) -> None:
    assert str(Quantity(number)) == text


def test_a_quantity_of_a_quantity_is_the_same() -> None:
    assert str(Quantity(Quantity("0.5Gi"))) == "0.5Gi"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity")])
def test_numbers_that_are_none_are_refused(number: float | Decimal) -> None:
    with pytest.raises(ValueError, match="finite number"):
        Quantity(number)


@pytest.mark.parametrize("value", [None, True, {}, [], b"1"])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(TypeError, match="text or of a finite number"):
        Quantity(value)  # type: ignore[arg-type]


def test_a_malformed_text_is_noticed_only_when_computed_with() -> None:
    quantity = Quantity("lots")

    assert str(quantity) == "lots"
    for compute in (int, float, bool, abs, Quantity.canonical, Quantity.as_fraction, Quantity.milli_value):
        with pytest.raises(ValueError, match="'lots' is not a quantity"):
            compute(quantity)
    with pytest.raises(ValueError, match="'lots' is not a quantity"):
        Quantity("1") + quantity
    with pytest.raises(ValueError, match="'lots' is not a quantity"):
        _ = quantity < Quantity("1")


def test_malformed_texts_compare_and_hash_by_text() -> None:
    assert Quantity("lots") == Quantity("lots")
    assert Quantity("lots") != Quantity("more")
    assert Quantity("lots") != Quantity("1")
    assert hash(Quantity("lots")) == hash(Quantity("lots"))


def test_amounts_are_equal_and_hash_alike_however_written() -> None:
    ones = {Quantity("1"), Quantity("1000m"), Quantity("1e0"), Quantity("1.0"), Quantity(1)}

    assert ones == {Quantity("1")}
    assert Quantity("1Mi") == Quantity("1024Ki")
    assert Quantity("1") != Quantity("1001m")


def test_quantities_compare_with_exact_numbers() -> None:
    assert Quantity("1500m") > 1
    assert Quantity("1500m") <= Decimal("1.5")
    assert Quantity("500m") == Fraction(1, 2)
    assert hash(Quantity("2Ki")) == hash(2048)
    assert Quantity("1") != "1"
    assert Quantity("1") != Decimal("NaN")


def test_quantities_are_ordered_by_amount() -> None:
    texts = ["1Ki", "1k", "-1", "900m", "1e2", "0"]

    assert sorted(texts, key=Quantity) == ["-1", "0", "900m", "1e2", "1k", "1Ki"]
    assert Quantity("1Ki") >= Quantity("1k")
    assert not Quantity("1Ki") < Quantity("1k")


def test_comparing_with_text_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        _ = Quantity("1") < "2"  # type: ignore[operator]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (Quantity("1Gi") + Quantity("1G"), "2073741824"),
        (Quantity("1Gi") + Quantity("512Mi"), "1536Mi"),
        (Quantity("1G") + Quantity("24M"), "1024M"),
        (Quantity("1e3") + Quantity("1k"), "2e3"),
        (Quantity("0") + Quantity("1Gi"), "1Gi"),
        (Quantity("0Ki") - Quantity("1000m"), "-1"),
        (Quantity("1") - Quantity("1500m"), "-500m"),
        (Quantity("1Ki") + 1, "1025"),
        (Quantity("0Ki") + 2048, "2Ki"),
        (1 - Quantity("250m"), "750m"),
        (Quantity("250m") * 3, "750m"),
        (3 * Quantity("250m"), "750m"),
        (Quantity("2Gi") * Fraction(3, 4), "1536Mi"),
        (Quantity("1") * Fraction(1, 3), "333333334n"),
        (Quantity("1Mi") * Decimal("0.5"), "512Ki"),
        (Quantity("7Ei") + Quantity("7Ei"), "14Ei"),
        (-Quantity("1Ki"), "-1Ki"),
        (+Quantity("01"), "01"),
        (abs(Quantity("-1500m")), "1500m"),
        (sum([Quantity("1Gi"), Quantity("1Gi")]), "2Gi"),
        (sum([Quantity("100m")] * 3, Quantity(0)), "300m"),
    ],
)
def test_results_are_exact_and_written_in_the_manner_of_the_left_operand(result: Quantity, text: str) -> None:
    assert str(result) == text


def test_arithmetic_with_floats_is_a_type_error() -> None:
    with pytest.raises(TypeError):
        Quantity("1") * 0.5  # type: ignore[operator]
    with pytest.raises(TypeError):
        Quantity("1") + 0.5  # type: ignore[operator]


def test_float_is_the_nearest_one() -> None:
    assert float(Quantity("100m")) == 0.1
    assert float(Quantity("9223372036854775807")) == float(2**63 - 1)


def test_only_zero_is_false() -> None:
    assert not Quantity("0Ki")
    assert Quantity("1n")


def test_quantities_are_immutable() -> None:
    with pytest.raises(AttributeError):
        Quantity("1").value = 2  # type: ignore[attr-defined]


def test_quantities_pickle_and_copy_with_their_manner() -> None:
    given_text, computed = Quantity("0.5Gi"), Quantity("1Ki") - Quantity("512")

    twins = pickle.loads(pickle.dumps([given_text, computed])) + copy.deepcopy([given_text, computed])

    assert [str(twin) for twin in twins] == ["0.5Gi", "512", "0.5Gi", "512"]
    assert [str(twin + twin) for twin in twins] == ["1Gi", "1Ki", "1Gi", "1Ki"]


def test_objects_keep_quantities_as_they_were_written() -> None:
    tank = decode(Tank, b'{"metadata":{"name":"a"},"spec":{"size":"1024Ki"}}')

    assert tank.spec.size == Quantity("1Mi")
    assert changes(tank) == {}


def test_objects_take_quantities_written_as_numbers() -> None:
    tank = decode(Tank, b'{"metadata":{"name":"a"},"spec":{"size":2}}')

    assert tank.spec.size == Quantity("2")
    assert changes(tank) == {}


@pytest.mark.parametrize("value", ["true", "{}", "[1]"])
def test_an_object_with_another_value_is_undecodable(value: str) -> None:
    with pytest.raises(Undecodable, match="size"):
        decode(Tank, f'{{"metadata":{{"name":"a"}},"spec":{{"size":{value}}}}}'.encode())


def test_objects_survive_a_malformed_quantity() -> None:
    tank = decode(Tank, b'{"metadata":{"name":"a"},"spec":{"size":"lots"}}')

    assert to_dict(tank)["spec"] == {"size": "lots"}


def test_objects_write_a_computed_quantity_canonically() -> None:
    tank = Tank(metadata=Metadata(name="a"), spec=TankSpec(size=Quantity("512Mi") * 2))

    assert to_dict(tank)["spec"] == {"size": "1Gi"}


texts = st.from_regex(
    r"[+-]?([0-9]{1,12}(\.[0-9]{0,12})?|\.[0-9]{1,12})([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?", fullmatch=True
)


@given(texts)
@settings(derandomize=True)
def test_canonical_text_names_the_same_amount(text: str) -> None:
    quantity = Quantity.parse(text)

    again = Quantity.parse(quantity.canonical())

    assert again == quantity
    assert again.canonical() == quantity.canonical()


@given(texts, texts)
@settings(derandomize=True)
def test_arithmetic_and_order_agree_with_fractions(left: str, right: str) -> None:
    a, b = Quantity(left), Quantity(right)

    assert (a + b).as_fraction() == a.as_fraction() + b.as_fraction()
    assert (a - b).as_fraction() == a.as_fraction() - b.as_fraction()
    assert (a < b) is (a.as_fraction() < b.as_fraction())
    assert (a == b) is (a.as_fraction() == b.as_fraction())
