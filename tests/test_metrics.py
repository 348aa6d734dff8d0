"""Counters, gauges, histograms, and the text that Prometheus reads."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.metrics import CONTENT_TYPE, DEFAULT_BUCKETS, Registry, exponential_buckets

SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?P<labels>.*)\})? (?P<value>\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Sample(NamedTuple):
    name: str
    labels: dict[str, str]
    value: float


def unescape(text: str) -> str:
    return re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], text)


def parse_labels(text: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    position = 0
    while position < len(text):
        pair = LABEL.match(text, position)
        assert pair, text[position:]
        assert pair[1] not in labels
        labels[pair[1]] = unescape(pair[2])
        position = pair.end()
    return labels


def parse(text: str) -> tuple[dict[str, tuple[str, str]], list[Sample]]:
    """Strictly: HELP, then TYPE, then the metric's samples, and no other line."""
    families: dict[str, tuple[str, str]] = {}
    samples: list[Sample] = []
    assert text == "" or text.endswith("\n")
    lines = iter(text.split("\n")[:-1])
    for line in lines:
        if line.startswith("# HELP "):
            name, help_text = line[7:].split(" ", 1)
            kind = next(lines).removeprefix(f"# TYPE {name} ")
            assert name not in families
            families[name] = (kind, unescape(help_text))
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        family = list(families)[-1]
        suffixes = ("_bucket", "_sum", "_count") if families[family][0] == "histogram" else ("",)
        assert found["name"] in [family + suffix for suffix in suffixes]
        value = float(found["value"].replace("Inf", "inf"))
        samples.append(Sample(found["name"], parse_labels(found["labels"] or ""), value))
    return families, samples


def test_a_counter_grows_for_each_combination_of_label_values():
    counter = Registry().counter("requests_total", "Requests.", ["verb", "code"])

    counter.labels("get", "200").inc()
    counter.labels("get", "200").inc(2.5)
    counter.labels("get", "404").inc()

    assert counter.labels("get", "200").value == 3.5
    assert counter.labels("get", "404").value == 1


def test_a_counter_refuses_to_fall():
    counter = Registry().counter("requests_total", "Requests.")

    with pytest.raises(ValueError, match="only grows"):
        counter.inc(-1)


def test_a_gauge_is_set_raised_and_lowered():
    gauge = Registry().gauge("depth", "Depth.")

    gauge.set(10)
    gauge.inc()
    gauge.dec(4)

    assert gauge.labels().value == 7


def test_a_histogram_counts_a_value_in_the_bucket_whose_bound_it_equals():
    registry = Registry()
    histogram = registry.histogram("seconds", "Time.", buckets=[1, 2])

    for value in (1, 1.5, 2, 3):
        histogram.observe(value)

    assert registry.render() == (
        "# HELP seconds Time.\n"
        "# TYPE seconds histogram\n"
        'seconds_bucket{le="1"} 1\n'
        'seconds_bucket{le="2"} 3\n'
        'seconds_bucket{le="+Inf"} 4\n'
        "seconds_sum 7.5\n"
        "seconds_count 4\n"
    )
    assert (histogram.labels().count, histogram.labels().sum) == (4, 7.5)


def test_an_infinite_bound_may_be_given_and_is_not_written_twice():
    registry = Registry()

    registry.histogram("seconds", "Time.", buckets=[1, math.inf])

    assert registry.render().count("+Inf") == 1


def test_the_text_is_sorted_by_name_and_label_values_whatever_the_order_of_use():
    registry = Registry()
    counter = registry.counter("b_total", "B.", ["x"])
    registry.gauge("a", "A.")
    counter.labels("2").inc()
    counter.labels("1").inc()

    assert registry.render() == (
        "# HELP a A.\n"
        "# TYPE a gauge\n"
        "a 0\n"
        "# HELP b_total B.\n"
        "# TYPE b_total counter\n"
        'b_total{x="1"} 1\n'
        'b_total{x="2"} 1\n'
    )


def test_labels_are_written_in_the_order_of_their_names_with_the_bound_last():
    registry = Registry()
    registry.histogram("seconds", "Time.", ["z", "a"], buckets=[1]).labels("first", "second").observe(0)

    assert 'seconds_bucket{z="first",a="second",le="1"} 1\n' in registry.render()


def test_a_metric_without_labels_shows_zero_before_its_first_use():
    registry = Registry()
    registry.counter("plain_total", "Plain.")
    registry.counter("labelled_total", "Labelled.", ["x"])

    _, samples = parse(registry.render())

    assert samples == [Sample("plain_total", {}, 0)]


def test_a_removed_time_series_is_shown_no_more():
    registry = Registry()
    gauge = registry.gauge("depth", "Depth.", ["name"])
    gauge.labels("gone").set(1)
    gauge.labels("here").set(2)

    gauge.remove("gone")
    gauge.remove("never there")

    assert parse(registry.render())[1] == [Sample("depth", {"name": "here"}, 2)]


def test_the_same_name_type_and_labels_give_the_same_metric():
    registry = Registry()

    assert registry.counter("a_total", "A.", ["x"]) is registry.counter("a_total", "Other words.", ("x",))
    assert registry.histogram("b", "B.") is registry.histogram("b", "B.", buckets=DEFAULT_BUCKETS)


def test_a_name_with_another_type_is_refused():
    registry = Registry()
    registry.counter("a", "A.", ["x"])

    with pytest.raises(ValueError, match=r"a exists already, as a counter with labels \['x'\], not a gauge"):
        registry.gauge("a", "A.", ["x"])


def test_a_name_with_other_labels_is_refused():
    registry = Registry()
    registry.counter("a", "A.", ["x", "y"])

    with pytest.raises(ValueError, match=r"not a counter with labels \['y', 'x'\]"):
        registry.counter("a", "A.", ["y", "x"])


def test_a_histogram_with_other_buckets_is_refused():
    registry = Registry()
    registry.histogram("a", "A.", buckets=[1])

    with pytest.raises(ValueError, match=r"buckets \[1.0\], not .* buckets \[2.0\]"):
        registry.histogram("a", "A.", buckets=[2])


def test_a_name_that_a_histogram_writes_is_refused():
    registry = Registry()
    registry.histogram("a", "A.")

    with pytest.raises(ValueError, match="a_count would write a_count, as a does already"):
        registry.counter("a_count", "A.")


def test_a_histogram_that_would_write_a_taken_name_is_refused():
    registry = Registry()
    registry.counter("a_count", "A.")

    with pytest.raises(ValueError, match="a would write a_count, as a_count does already"):
        registry.histogram("a", "A.")


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "ä", "a\n"])
def test_a_name_outside_prometheus_letters_is_refused(name: str):
    with pytest.raises(ValueError, match="no metric name"):
        Registry().counter(name, "A.")


@pytest.mark.parametrize("label", ["", "1a", "a-b", "a:b", "__a", "a\n"])
def test_a_label_outside_prometheus_letters_is_refused(label: str):
    with pytest.raises(ValueError, match="no label name"):
        Registry().counter("a", "A.", [label])


def test_a_label_given_twice_is_refused():
    with pytest.raises(ValueError, match="a label twice: x, x"):
        Registry().counter("a", "A.", ["x", "x"])


def test_a_histogram_refuses_the_label_of_its_buckets():
    with pytest.raises(ValueError, match="le"):
        Registry().histogram("a", "A.", ["le"])


@pytest.mark.parametrize("buckets", [[2, 1], [1, 1], [math.nan]])
def test_a_histogram_refuses_buckets_that_do_not_rise(buckets: list[float]):
    with pytest.raises(ValueError, match="do not rise"):
        Registry().histogram("a", "A.", buckets=buckets)


def test_a_wrong_number_of_label_values_is_refused_with_the_names():
    counter = Registry().counter("a", "A.", ["x", "y"])

    with pytest.raises(ValueError, match=r"a has x, y; 1 label value"):
        counter.labels("1")


def test_a_metric_with_labels_cannot_be_used_without_values():
    gauge = Registry().gauge("a", "A.", ["x"])

    with pytest.raises(ValueError, match=r"a has x; 0 label value"):
        gauge.set(1)


def test_a_label_value_that_is_no_text_is_refused():
    counter = Registry().counter("a", "A.", ["x"])

    with pytest.raises(TypeError, match="label x of metric a needs a str, not int"):
        counter.labels(1)  # type: ignore[arg-type]


def test_collectors_run_before_each_rendering():
    registry = Registry()
    gauge = registry.gauge("depth", "Depth.")
    registry.collect(gauge.inc)

    texts = [registry.render(), registry.render()]

    assert [parse(text)[1][0].value for text in texts] == [1, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1.0, "1"),
        (-2.5, "-2.5"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (999999, "999999"),
        (1e6, "1e+06"),
        (-12345678.5, "-1.23456785e+07"),
        (1e16, "1e+16"),
        (1.5e300, "1.5e+300"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_are_written_as_go_writes_them(value: float, text: str):
    registry = Registry()
    registry.gauge("a", "A.").set(value)

    assert registry.render().splitlines()[-1] == f"a {text}"


def test_exponential_buckets_are_the_floats_of_gos_client():
    buckets = exponential_buckets(1e-8, 10, 12)

    assert len(buckets) == 12
    assert buckets[3:6] == (9.999999999999999e-06, 9.999999999999999e-05, 0.001)
    assert buckets[-1] == 1000


def test_an_empty_registry_renders_nothing():
    assert Registry().render() == ""


def test_the_content_type_names_the_version_of_the_text_format():
    assert CONTENT_TYPE == "text/plain; version=0.0.4; charset=utf-8"


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    help_text=st.text(),
    values=st.lists(st.tuples(st.text(), st.text()), unique=True, max_size=5),
    number=st.floats(allow_nan=False),
)
def test_whatever_is_written_reads_back_the_same(help_text: str, values: list[tuple[str, str]], number: float):
    registry = Registry()
    gauge = registry.gauge("a", help_text, ["x", "y"])
    for pair in values:
        gauge.labels(*pair).set(number)

    families, samples = parse(registry.render())

    assert families == {"a": ("gauge", help_text)}
    assert samples == [Sample("a", {"x": x, "y": y}, number) for x, y in sorted(values)]


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.floats(min_value=-10, max_value=1000)))
def test_a_histogram_agrees_with_counting_by_hand(values: list[float]):
    registry = Registry()
    histogram = registry.histogram("a", "A.")
    for value in values:
        histogram.observe(value)

    _, samples = parse(registry.render())

    buckets = {sample.labels["le"]: sample.value for sample in samples if sample.name == "a_bucket"}
    assert list(buckets) == [*(f"{bound:g}" for bound in DEFAULT_BUCKETS), "+Inf"]
    assert all(
        count == sum(value <= float(bound.replace("Inf", "inf")) for value in values)
        for bound, count in buckets.items()
    )
    assert samples[-1].value == len(values)


def test_a_function_that_is_collected_no_more_is_not_called():
    registry, calls = Registry(), list[int]()

    def collect() -> None:
        calls.append(1)

    registry.collect(collect)
    registry.render()
    registry.stop_collecting(collect)
    registry.stop_collecting(collect)
    registry.render()

    assert calls == [1]
