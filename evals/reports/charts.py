"""Charts as SVG that needs nothing else: colours come from the page's style, so that they follow light and dark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isnan, log10

from evals.reports.labels import column, wrapped

WIDTH = 760
_RIGHT, _GAP = 150, 12
_NARROWEST, _WIDEST = 90, 300
"""Of the column of labels: what is longer goes on in the next line, so that the scale keeps its room."""
_PAD, _LINE = 9, 17
_TYPE = 14
"""The size of the style's labels, rounded up for the bold ones."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A mean with its interval, as one row."""

    label: str
    mean: float
    low: float
    high: float
    words: str
    series: int = 0
    is_headline: bool = False


def intervals(bars: Sequence[Bar], *, marks: Sequence[tuple[float, str]], title: str) -> str:
    """Draw means as dots with their intervals on a scale from 0 to 1; marks are upright lines with a word each."""
    most = column([bar.label for bar in bars], _TYPE, _NARROWEST, _WIDEST)
    labels = [wrapped(bar.label, most, _TYPE) for bar in bars]
    left = most + _GAP
    span = WIDTH - left - _RIGHT
    bottom = 22.0 + sum(_PAD + _LINE * len(lines) for lines in labels)

    def x(value: float) -> float:
        return left + span * min(max(value, 0.0), 1.0)

    parts = [_line(x(tick / 5), 22, x(tick / 5), bottom, "grid") for tick in range(6)]
    parts += [_text(x(tick / 5), bottom + 16, f"{tick / 5:.1f}", "tick", "middle") for tick in range(6)]
    for number, (value, word) in enumerate(marks):
        anchor = "end" if number == 0 and len(marks) > 1 else "start"
        parts += [_line(x(value), 22, x(value), bottom, "mark"), _text(x(value), 14, word, "tick", anchor)]
    top = 22.0
    for bar, lines in zip(bars, labels, strict=True):
        height = _PAD + _LINE * len(lines)
        y = top + height / 2
        strong = " strong" if bar.is_headline else ""
        parts += [
            *_lines(left - _GAP, y, lines, f"label{strong}", "end"),
            ""
            if isnan(bar.low)
            else f'<line class="s{bar.series} interval" x1="{x(bar.low):.1f}" y1="{y:.1f}" x2="{x(bar.high):.1f}"'
            f' y2="{y:.1f}"/>',
            f'<circle class="s{bar.series} dot" cx="{x(bar.mean):.1f}" cy="{y:.1f}" r="{5 if bar.is_headline else 4}">'
            f"<title>{escape(bar.label)}: {escape(bar.words)}</title></circle>",
            _text(WIDTH - _RIGHT + _GAP, y + 4, bar.words, f"value{strong}", "start"),
        ]
        top += height
    return _svg(bottom + 26, title, parts)


@dataclass(frozen=True, slots=True)
class Times:
    """The milliseconds of one arm."""

    label: str
    values: Sequence[float]
    series: int = 0


def distribution(times: Sequence[Times], *, limit: float | None, title: str) -> str:
    """Draw how many queries are answered within so many milliseconds: one step line per arm, up to the 99th."""
    highest = max(_nearest(each.values, 0.99) for each in times)
    top = _round_up(max(highest, (limit or 0.0) * 1.1))
    left, right, height = 56, 150, 260
    span, bottom, rise = WIDTH - left - right, height - 34, height - 34 - 16

    def x(value: float) -> float:
        return left + span * min(value / top, 1.0)

    def y(share: float) -> float:
        return bottom - rise * share

    parts = [_line(left, y(tick / 4), WIDTH - right, y(tick / 4), "grid") for tick in range(5)]
    parts += [_text(left - 8, y(tick / 4) + 4, f"{tick * 25} %", "tick", "end") for tick in range(5)]
    parts += [_text(x(top * tick / 4), bottom + 16, _ms(top * tick / 4), "tick", "middle") for tick in range(5)]
    parts.append(_text(WIDTH - right + 22, bottom + 16, "ms per query", "tick", "start"))
    if limit is not None:
        parts += _limit(x(limit), limit, bottom)
    for each in times:
        ordered = sorted(each.values)
        points = [f"{x(0):.1f},{y(0):.1f}"]
        for place, value in enumerate(ordered):
            if value > top:
                break
            points += [f"{x(value):.1f},{y(count / len(ordered)):.1f}" for count in (place, place + 1)]
        parts.append(f'<polyline class="s{each.series} curve" points="{" ".join(points)}"/>')
    legend, end = _legend({each.series: each.label for each in times}, WIDTH - right)
    return _svg(max(height, end), title, [*parts, *legend])


@dataclass(frozen=True, slots=True)
class Point:
    """One stored run of one arm."""

    label: str
    x: float
    y: float
    words: str
    series: int = 0
    is_current: bool = False


def scatter(points: Sequence[Point], *, limit: float | None, measure: str, title: str) -> str:
    """Draw quality against the median time; the run of the report is full, earlier ones are rings."""
    left, right, height = 56, 150, 280
    top = _round_up(max(max(point.x for point in points), (limit or 0.0)) * 1.1)
    levels = _levels([point.y for point in points])
    low, high = levels[0], levels[-1]
    span, bottom, rise = WIDTH - left - right, height - 34, height - 34 - 16

    def x(value: float) -> float:
        return left + span * value / top

    def y(value: float) -> float:
        return bottom - rise * (value - low) / max(high - low, 1e-9)

    parts = [_line(left, y(level), WIDTH - right, y(level), "grid") for level in levels]
    parts += [_text(left - 8, y(level) + 4, f"{level:.2f}", "tick", "end") for level in levels]
    parts += [_text(x(top * tick / 4), bottom + 16, _ms(top * tick / 4), "tick", "middle") for tick in range(5)]
    parts += [
        _text(WIDTH - right + 22, bottom + 16, "ms, p50", "tick", "start"),
        _text(WIDTH - right + 12, 10, measure, "tick", "start"),
    ]  # fmt: skip
    if limit is not None:
        parts += _limit(x(limit), limit, bottom)
    for point in sorted(points, key=lambda each: each.is_current):
        kind = "dot" if point.is_current else "ring"
        parts.append(
            f'<circle class="s{point.series} {kind}" cx="{x(point.x):.1f}" cy="{y(point.y):.1f}" r="5">'
            f"<title>{escape(point.words)}</title></circle>"
        )
    legend, end = _legend({point.series: point.label for point in points}, WIDTH - right)
    return _svg(max(height, end), title, [*parts, *legend])


def _legend(labels: Mapping[int, str], left: float) -> tuple[list[str], float]:
    """Name the arms by their colours, one below the other; says as well where that ends."""
    parts, top = [], 17.0
    for series, label in labels.items():
        lines = wrapped(label, WIDTH - left - 26, _TYPE)
        middle = top + _LINE * len(lines) / 2
        parts.append(f'<circle class="s{series} dot" cx="{left + 16:.1f}" cy="{top + _LINE / 2 + 0.5:.1f}" r="4"/>')
        parts += _lines(left + 26, middle, lines, "label", "start")
        top += _LINE * len(lines) + 1
    return parts, top


def _lines(x: float, middle: float, lines: Sequence[str], kind: str, anchor: str) -> list[str]:
    """Write lines one below the other, around their middle."""
    first = middle + 4 - _LINE * (len(lines) - 1) / 2
    return [_text(x, first + _LINE * row, line, kind, anchor) for row, line in enumerate(lines)]


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _limit(x: float, limit: float, bottom: float) -> list[str]:
    return [_line(x, 12, x, bottom, "mark"), _text(x + 4, 10, f"limit {limit:g} ms", "tick", "start")]


def _text(x: float, y: float, words: str, kind: str, anchor: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _nearest(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def _round_up(value: float) -> float:
    """The next of 1, 2, 4, 6, 8, 10 times a power of ten: its quarters are short numbers."""
    power = 10.0 ** int(log10(max(value, 1e-3)) - (1 if value < 1 else 0))
    return next(step * power for step in (1, 2, 4, 6, 8, 10, 20) if step * power >= value)


def _levels(values: Sequence[float]) -> list[float]:
    """Round shares from below the least to above the greatest value, at most eight of them."""
    for step in (0.02, 0.05, 0.1, 0.2):
        first, last = floor((min(values) - 0.01) / step), ceil((max(values) + 0.01) / step)
        if last - first < 8:
            break
    return [round(step * number, 2) for number in range(max(0, first), min(round(1 / step), last) + 1)]


def _ms(value: float) -> str:
    return f"{value:g}" if value < 10 else f"{value:.0f}"
