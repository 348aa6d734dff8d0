"""Counters, gauges and histograms, and their text form for Prometheus; every room that counts something stands on it.

A :class:`Registry` belongs to one run of an operator; nothing here is global. Like everything else that lives in the
event loop, metrics are not made for several threads.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from math import inf, isinf, isnan
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

__all__ = [
    "CONTENT_TYPE",
    "DEFAULT_BUCKETS",
    "Counter",
    "CounterChild",
    "Gauge",
    "GaugeChild",
    "Histogram",
    "HistogramChild",
    "Metric",
    "Registry",
    "Sample",
    "exponential_buckets",
]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The media type of what :meth:`Registry.render` gives."""

DEFAULT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds, as Prometheus' own clients have them."""

Sample: TypeAlias = tuple[str, list[str], float]
"""A line of the text form: suffix of the name, label pairs beyond the metric's own, value."""

_METRIC_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL_NAME: Final = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


def exponential_buckets(start: float, factor: float, count: int) -> tuple[float, ...]:
    """``count`` upper bounds, each ``factor`` times the one before; the very floats that Go's client computes."""
    return tuple(accumulate([start] + [factor] * (count - 1), lambda bound, by: bound * by))


class CounterChild:
    """One time series that only ever grows; keep it where it is counted often."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def inc(self, n: float = 1) -> None:
        """Count ``n`` more; a negative ``n`` is a ``ValueError``."""
        if n < 0:
            raise ValueError(f"a counter only grows: inc({n}); use a gauge for what also falls")
        self.value += n

    def samples(self) -> Iterator[Sample]:
        """The value alone."""
        yield "", [], self.value


class GaugeChild:
    """One time series that rises and falls."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: float = 0

    def set(self, value: float) -> None:
        """Let the gauge show this value."""
        self.value = value

    def inc(self, n: float = 1) -> None:
        """Raise the gauge by ``n``."""
        self.value += n

    def dec(self, n: float = 1) -> None:
        """Lower the gauge by ``n``."""
        self.value -= n

    def samples(self) -> Iterator[Sample]:
        """The value alone."""
        yield "", [], self.value


class HistogramChild:
    """How often values fell below each bound, and their sum."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum: float = 0

    def observe(self, value: float) -> None:
        """Count this value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        """How many values were observed."""
        return sum(self._counts)

    def samples(self) -> Iterator[Sample]:
        """For each upper bound the number of values not above it, then their sum and count."""
        for bound, count in zip((*self._bounds, inf), accumulate(self._counts), strict=True):
            yield "_bucket", [f'le="{_number(bound)}"'], count
        yield "_sum", [], self.sum
        yield "_count", [], self.count


Child = TypeVar("Child", bound=CounterChild | GaugeChild | HistogramChild)


class Metric(ABC, Generic[Child]):
    """All time series of one name: one child for each combination of label values."""

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]] = ("",)
    """What is appended to the name in the text form."""

    def __init__(self, name: str, help: str, labels: Sequence[str] = ()) -> None:
        if not _METRIC_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no metric name: letters, digits, '_' and ':', no digit first")
        for label in labels:
            if not _LABEL_NAME.fullmatch(label):
                raise ValueError(f"{label!r} is no label name ({name}): letters, digits, '_', no digit or '__' first")
        if len(set(labels)) < len(labels):
            raise ValueError(f"metric {name} has a label twice: {', '.join(labels)}")
        self.name = name
        self.help = help
        self.label_names: tuple[str, ...] = tuple(labels)
        self._children: dict[tuple[str, ...], Child] = {}
        if not labels:
            self.labels()

    def labels(self, *values: str) -> Child:
        """The time series with these label values, in the order of the label names; begun at zero if it is new."""
        child = self._children.get(values)
        return child if child is not None else self._begin(values)

    def remove(self, *values: str) -> None:
        """Show the time series with these label values no more, if there is one."""
        self._children.pop(values, None)

    def render(self) -> Iterator[str]:
        """The lines of this metric, sorted by label values."""
        yield f"# HELP {self.name} {_escape(self.help)}"
        yield f"# TYPE {self.name} {self.kind}"
        for values in sorted(self._children):
            pairs = [f'{name}="{_escape_value(value)}"' for name, value in zip(self.label_names, values, strict=True)]
            for suffix, more, value in self._children[values].samples():
                yield _line(self.name + suffix, [*pairs, *more], value)

    def describe(self) -> str:
        """Type and labels in words; metrics of one name must agree in this."""
        return f"a {self.kind} with labels {list(self.label_names)}"

    def _begin(self, values: tuple[str, ...]) -> Child:
        if len(values) != len(self.label_names):
            wanted = ", ".join(self.label_names) or "no labels"
            raise ValueError(f"metric {self.name} has {wanted}; {len(values)} label value(s) were given")
        for name, value in zip(self.label_names, values, strict=True):
            if not isinstance(value, str):
                raise TypeError(f"label {name} of metric {self.name} needs a str, not {type(value).__name__}")
        return self._children.setdefault(values, self._make())

    @abstractmethod
    def _make(self) -> Child: ...


class Counter(Metric[CounterChild]):
    """A number that only grows; by convention its name ends in ``_total``."""

    kind = "counter"

    def inc(self, n: float = 1) -> None:
        """Count ``n`` more; for a counter without labels."""
        self.labels().inc(n)

    def _make(self) -> CounterChild:
        return CounterChild()


class Gauge(Metric[GaugeChild]):
    """A number that rises and falls."""

    kind = "gauge"

    def set(self, value: float) -> None:
        """Let it show this value; for a gauge without labels."""
        self.labels().set(value)

    def inc(self, n: float = 1) -> None:
        """Raise it by ``n``; for a gauge without labels."""
        self.labels().inc(n)

    def dec(self, n: float = 1) -> None:
        """Lower it by ``n``; for a gauge without labels."""
        self.labels().dec(n)

    def _make(self) -> GaugeChild:
        return GaugeChild()


class Histogram(Metric[HistogramChild]):
    """How often values fell below each of some bounds, and their sum."""

    kind = "histogram"
    suffixes: ClassVar[tuple[str, ...]] = ("", "_bucket", "_count", "_sum")

    def __init__(
        self, name: str, help: str, labels: Sequence[str] = (), buckets: Sequence[float] = DEFAULT_BUCKETS
    ) -> None:
        if "le" in labels:
            raise ValueError(f"histogram {name} cannot have the label le: it names the bucket")
        bounds = [float(bound) for bound in buckets if bound != inf]
        if any(isnan(bound) for bound in bounds) or any(low >= high for low, high in pairwise(bounds)):
            raise ValueError(f"the buckets of histogram {name} do not rise: {list(buckets)}")
        self.bounds: tuple[float, ...] = tuple(bounds)
        super().__init__(name, help, labels)

    def observe(self, value: float) -> None:
        """Count this value; for a histogram without labels."""
        self.labels().observe(value)

    def describe(self) -> str:
        """Type, labels and buckets in words; metrics of one name must agree in this."""
        return f"{super().describe()} and buckets {list(self.bounds)}"

    def _make(self) -> HistogramChild:
        return HistogramChild(self.bounds)


AnyMetric = TypeVar("AnyMetric", bound=Counter | Gauge | Histogram)


class Registry:
    """The metrics of one run, and their text form."""

    def __init__(self) -> None:
        self._metrics: dict[str, Counter | Gauge | Histogram] = {}
        self._samples: dict[str, str] = {}
        self._collectors: list[Callable[[], None]] = []

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> Counter:
        """The counter of this name, made if it is new; ``ValueError`` if the name means something else already."""
        return self._register(Counter(name, help, labels))

    def gauge(self, name: str, help: str, labels: Sequence[str] = ()) -> Gauge:
        """The gauge of this name, made if it is new; ``ValueError`` if the name means something else already."""
        return self._register(Gauge(name, help, labels))

    def histogram(
        self, name: str, help: str, labels: Sequence[str] = (), buckets: Sequence[float] = DEFAULT_BUCKETS
    ) -> Histogram:
        """The histogram of this name, made if it is new; ``ValueError`` if the name means something else already."""
        return self._register(Histogram(name, help, labels, buckets))

    def collect(self, function: Callable[[], None]) -> None:
        """Call ``function`` before each rendering, so that it sets gauges that are dear or pointless to keep up."""
        self._collectors.append(function)

    def stop_collecting(self, function: Callable[[], None]) -> None:
        """Call ``function`` no more, and forget it; one that is not known is fine."""
        if function in self._collectors:
            self._collectors.remove(function)

    def render(self) -> str:
        """All metrics as Prometheus' text format 0.0.4 (:data:`CONTENT_TYPE`), sorted by name and label values."""
        for function in self._collectors:
            function()
        return "".join(f"{line}\n" for name in sorted(self._metrics) for line in self._metrics[name].render())

    def _register(self, metric: AnyMetric) -> AnyMetric:
        known = self._metrics.get(metric.name)
        if known is not None:
            if isinstance(known, type(metric)) and known.describe() == metric.describe():
                return known
            raise ValueError(f"metric {metric.name} exists already, as {known.describe()}, not {metric.describe()}")
        samples = [metric.name + suffix for suffix in metric.suffixes]
        for sample in samples:
            if sample in self._samples:
                raise ValueError(f"metric {metric.name} would write {sample}, as {self._samples[sample]} does already")
        self._samples.update(dict.fromkeys(samples, metric.name))
        self._metrics[metric.name] = metric
        return metric


def _line(name: str, pairs: list[str], value: float) -> str:
    return f"{name}{{{','.join(pairs)}}} {_number(value)}" if pairs else f"{name} {_number(value)}"


def _escape(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _escape_value(text: str) -> str:
    return _escape(text).replace('"', r"\"")


def _number(value: float) -> str:
    """As Go writes a float: bounds are labels, so another spelling would be another time series."""
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    whole, _, fraction = repr(float(value)).removesuffix(".0").partition(".")
    digits = whole.removeprefix("-")
    if len(digits) < 7:
        return f"{whole}.{fraction}" if fraction else whole
    mantissa = f"{digits[0]}.{digits[1:]}{fraction}".rstrip("0").rstrip(".")
    return f"{'-' if value < 0 else ''}{mantissa}e+{len(digits) - 1:02d}"
