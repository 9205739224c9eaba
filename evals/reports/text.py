"""A report in Markdown, and as tables in a terminal."""

import re
import sys
from collections.abc import Sequence

from evals.reports.figures import summaries
from evals.reports.labels import plain
from evals.reports.tables import Table, costs, judged, measures, run_facts
from evals.reports.worst import BREAK, as_table, worst
from evals.runs import Stored

WORST = 10
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_ENTITY = re.compile(r"&(?=#?\w+;)")
_MARKUP = str.maketrans({"|": "\\|", "\\": "\\\\", "`": "\\`"})


def markdown(stored: Stored) -> str:
    """Lay a run out as Markdown."""
    found = summaries(stored)
    tables = [judged(found), *measures(found), costs(found), as_table(worst(found, WORST))]
    if stored.record is not None:
        tables.append(run_facts(stored.record))
    parts = [f"# Evaluation {stored.name}", *(as_markdown(table) for table in tables if table.rows)]
    if stored.details:
        parts.insert(-1, stored.details.strip())
    return plain("\n\n".join(parts)) + "\n"


def as_markdown(table: Table) -> str:
    """Lay one table out."""
    lines = [f"| {' | '.join(map(_escaped, row))} |" for row in (table.columns, *table.rows)]
    lines.insert(1, "|" + "---|" * len(table.columns))
    head = [f"## {_plain_html(table.title)}", ""] if table.title else []
    return "\n".join([*head, *lines, *(["", _plain_html(table.note)] if table.note else [])])


def _escaped(cell: str) -> str:
    """Let nothing of a text be read as HTML, as a link or as the end of a cell; our own breaks stay."""
    parts = (_plain_html(" ".join(part.split())).translate(_MARKUP) for part in cell.split(BREAK))
    return BREAK.join(part.replace("](", "]\\(") for part in parts)


def _plain_html(text: str) -> str:
    """Let no tag and no entity begin here; `p < .05` stays as it is."""
    return _TAG.sub("&lt;", _ENTITY.sub("&amp;", text))


def in_terminal(stored: Stored) -> str:
    """Draw the figures of a run as wide as the terminal, or 160 columns where there is none."""
    found = summaries(stored)
    return draw([judged(found), *measures(found, narrow=True), costs(found)])


def draw(tables: Sequence[Table]) -> str:
    """Draw tables one below the other."""
    from rich.console import Console  # noqa: PLC0415 - loads slowly
    from rich.markup import escape  # noqa: PLC0415 - as above
    from rich.table import Table as Drawn  # noqa: PLC0415 - as above

    console = Console(width=None if sys.stdout.isatty() else 160)
    with console.capture() as captured:
        for table in tables:
            if not table.rows:
                continue
            title, note = escape(table.title), escape(table.note)
            drawn = Drawn(title=title, caption=note, title_justify="left", caption_justify="left")
            for place, column in enumerate(table.columns):
                # What a row is about can be copied from a narrow terminal, too, and nothing is cut off.
                drawn.add_column(column, no_wrap=place == 0, overflow="fold")
            for row in table.rows:
                drawn.add_row(*[_coloured(escape(plain(cell))) for cell in row])
            console.print(drawn)
    return captured.get()


def _coloured(cell: str) -> str:
    colour = {"goal": "green", "passed": "green", "MISSED": "red"}.get(cell)
    return f"[{colour}]{cell}[/]" if colour else cell
