"""A report as one HTML page that needs nothing from elsewhere: style, charts and tables are in it."""

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from evals.reports import charts
from evals.reports.figures import HEADLINE, Summary, summaries
from evals.reports.labels import plain
from evals.reports.tables import NONE, Table, costs, digits, judged, measures, run_facts, shown
from evals.reports.worst import TITLE, Asked, named, said, worst
from evals.runs import Stored

WORST = 15
SERIES = 22
"""Colours that the style has; more arms begin again."""


def page(stored: Stored, points: Sequence[Mapping[str, Any]] = ()) -> str:
    """Lay a run out; `points` are the stored runs on the same data, for quality against time."""
    found = summaries(stored)
    series = {arm: number % SERIES for number, arm in enumerate(dict.fromkeys(each.part.arm for each in found))}
    names = list(dict.fromkeys(each.part.set for each in found))
    parts = [_header(stored, found, names), _table(judged(found), "verdicts")]
    by_set = {table.title: table for table in measures(found)}
    for name in names:
        same = [each for each in found if each.part.set == name]
        parts.append(
            _set_section(name, same, series, by_set[name], [p for p in points if p["set"] == name], stored.name)
        )
    parts.append(_table(costs(found)))
    parts.append(_worst(worst(found, WORST), series))
    if stored.details:
        parts.append(f"<section><h2>In its own words</h2><pre>{escape(stored.details)}</pre></section>")
    if stored.record is not None:
        parts.append(_table(run_facts(stored.record), "facts"))
    return plain(_PAGE.format(title=escape(stored.name), style=_style(), body="\n".join(parts)))


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Evaluation {title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def _style() -> str:
    return files("evals").joinpath("reports", "page.css").read_text(encoding="utf-8")


def _header(stored: Stored, found: Sequence[Summary], names: Sequence[str]) -> str:
    record = stored.record
    said = [
        f"{sum(len(each.cases) for each in found):,} answers",
        f"{len(names)} {'set' if len(names) == 1 else 'sets'}",
    ]
    if record is not None:
        said = [
            f"{record.started_at:%d %B %Y, %H:%M} UTC",
            *([f"{record.command['url']}, version {record.version}"] if record.command.get("url") else []),
            *([f"commit {record.commit}"] if record.commit else []),
            *said,
        ]
        if limit := record.command.get("limit"):
            said.append(f"a sample of at most {limit} questions per set: no figure of a whole set")
    links = "".join(f'<a href="#{_anchor(name)}">{escape(name)}</a>' for name in names)
    return (
        f'<header><p class="eyebrow">Engrain evaluation</p><h1>{escape(stored.name)}</h1>'
        f"<p>{escape(' · '.join(said))}</p><nav>{links}</nav></header>"
    )


def _set_section(
    name: str, same: Sequence[Summary], series: Mapping[str, int], table: Table, points: Sequence[Mapping[str, Any]],
    run: str,
) -> str:  # fmt: skip
    part = same[0].part
    count = same[0].headline.interval.n if same[0].headline else 0
    head = f"{part.measure} by {part.unit}, n = {count:,} questions"
    drawn = [_figure(_quality(same, series), f"{head}. Dots are means, lines 95 % intervals.")]
    timed = [each for each in same if each.latency is not None]
    if timed:
        times = [
            charts.Times(each.part.arm, [case.took_ms for case in each.cases if case.took_ms is not None],
                         series[each.part.arm])
            for each in timed
        ]  # fmt: skip
        chart = charts.distribution(times, limit=part.p50_limit_ms, title=f"{name}: share answered within a time")
        drawn.append(_figure(chart, "Share of the queries that are answered within so many milliseconds."))
    if chart := _against_time(name, part.measure, part.p50_limit_ms, points, series, run):
        drawn.append(
            _figure(
                chart,
                "Quality against time, over the stored runs on the same data and sample; this run is filled, others are"
                " rings.",
            )
        )
    return f'<section id="{_anchor(name)}"><h2>{escape(name)}</h2>{"".join(drawn)}{_rows(table)}</section>'


def _anchor(name: str) -> str:
    """Name a section; an id holds no spaces."""
    return quote(name, safe="")


def _quality(same: Sequence[Summary], series: Mapping[str, int]) -> str:
    measure, part, several = same[0].part.measure, same[0].part, len(same) > 1
    bars = []
    for category in dict.fromkeys(name for each in same for name in each.categories):
        for each in same:
            if (figure := each.figure(category, measure)) is None:
                continue
            bars.append(
                charts.Bar(
                    f"{figure.title}, {each.part.arm}" if several else figure.title,
                    figure.interval.mean, figure.interval.low, figure.interval.high, shown(figure.interval),
                    series[each.part.arm], category == HEADLINE,
                )
            )  # fmt: skip
    marks = [(value, word) for value, word in ((part.floor, "floor"), (part.goal, "goal")) if value is not None]
    return charts.intervals(bars, marks=marks, title=f"{part.set}: {measure} by category")


def _against_time(
    name: str,
    measure: str,
    limit: float | None,
    points: Sequence[Mapping[str, Any]],
    series: Mapping[str, int],
    run: str,
) -> str:
    drawn = [
        charts.Point(
            each["arm"], each["p50_ms"], each["mean"],
            f"{each['run_id']}, {each['arm']}: {each['mean']:.3f} at {each['p50_ms']:.1f} ms, n = {each['n']}",
            series[each["arm"]], each["run_id"] == run,
        )
        for each in points
        if each["measure"] == measure and each["mean"] is not None and each["arm"] in series
    ]  # fmt: skip
    return charts.scatter(drawn, limit=limit, measure=measure, title=f"{name}: quality against time") if drawn else ""


def _figure(chart: str, caption: str) -> str:
    return f"<figure>{chart}<figcaption>{escape(caption)}</figcaption></figure>"


def _table(table: Table, kind: str = "") -> str:
    return f'<section class="{kind}"><h2>{escape(table.title)}</h2>{_rows(table)}</section>' if table.rows else ""


def _rows(table: Table) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns) if any(table.columns) else ""
    body = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in table.rows)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f'<div class="wide"><table>{top}<tbody>{body}</tbody></table></div>{note}'


def _cell(cell: str) -> str:
    kind = {"goal": "good", "passed": "good", "MISSED": "bad"}.get(cell, "")
    if kind:
        return f'<td><span class="{kind}">{escape(cell.lower())}</span></td>'
    is_number = cell == NONE or cell[:1] in "0123456789.+-"
    return f'<td class="number">{escape(cell)}</td>' if is_number and len(cell) < 40 else f"<td>{escape(cell)}</td>"


def _worst(entries: Sequence[Asked], series: Mapping[str, int]) -> str:
    if not entries:
        return ""
    cards = "".join(_card(entry, series) for entry in entries)
    return (
        f'<section><h2>{escape(TITLE)}</h2><p class="note">{escape(said(entries))} Open one to see what was found'
        f" instead.</p>{cards}</section>"
    )


def _card(entry: Asked, series: Mapping[str, int]) -> str:
    """One question: what was wanted once, and what each arm found beside the others."""
    place = " · ".join(word for word in (entry.case.set, entry.case.category) if word)
    values = "".join(
        f'<span class="s{series[arm]} arm">{escape(arm)} <b class="number">{digits(entry.value(arm))}</b></span>'
        for arm in entry.cases
    )
    missed = [named(text, arms, entry) for text, arms in entry.missed.items()]
    wanted = f"<dl><dt>Not found</dt>{_quotes(missed)}</dl>" if missed else ""
    columns = "".join(
        f'<dl class="s{series[arm]}"><dt><span class="arm">{escape(arm)}</span>'
        f"{' wanted:' if case.wanted else ''} {escape(entry.places(arm))}."
        f" Found first:</dt>{_quotes(case.best or ['nothing'])}</dl>"
        for arm, case in entry.cases.items()
    )
    return (
        f"<details><summary>{escape(entry.case.question)}<small>{escape(place)}</small><small>{values}</small></summary>"
        f'{wanted}<div class="beside">{columns}</div></details>'
    )


def _quotes(texts: Sequence[str]) -> str:
    return "".join(f"<dd>{escape(text)}</dd>" for text in texts)
