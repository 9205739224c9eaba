"""How the demo speaks: plain lines for a terminal, a file or a pipe."""

import sys
import textwrap
from collections.abc import Mapping
from typing import Any

import typer

from cli.demo.questions import Question

WIDTH = 100
SHOWN = 3
"""Results printed per question."""
INDENT = " " * 5

LANES = {"lexical": "words", "vector": "meaning", "graph": "relations"}
"""What a reader calls each lane."""
STAGES = {
    "embedding": "embedding the question",
    "lexical": "words",
    "vector": "meaning",
    "graph": "relations",
    "hydration": "rights",
}


def title(text: str) -> None:
    """Begin a part of the demo."""
    typer.echo()
    typer.echo(typer.style(text, bold=True))


def line(text: str, indent: int = 2) -> None:
    """Say one thing, wrapped."""
    typer.echo(textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2)))


def verbatim(text: str, *, most: int = 12) -> None:
    """Show what a tool said, cut to size, as it is."""
    lines = text.splitlines()
    for shown in lines[:most]:
        typer.echo(_cut(f"    | {shown}"))
    if len(lines) > most:
        typer.echo(f"    | … {len(lines) - most} more lines")


def progress(text: str) -> None:
    """Show a state that will be overwritten; only where somebody watches."""
    if sys.stdout.isatty():
        sys.stdout.write(f"\r  {text:<{WIDTH - 4}}")
        sys.stdout.flush()


def end_progress() -> None:
    """Leave no half line behind."""
    if sys.stdout.isatty():
        sys.stdout.write("\r" + " " * WIDTH + "\r")
        sys.stdout.flush()


def asked(question: Question) -> None:
    """Print a question and what it shows."""
    typer.echo()
    typer.echo(typer.style(f"  Q  {question.text}", bold=True))
    typer.echo(f"{INDENT}({question.shows})")


def answered(response: Mapping[str, Any], ms: float) -> None:
    """Print the best hits of a search, how each was found, and where the time went."""
    retrieval = response["filters"].get("graph_retrieval", {})
    details = retrieval.get("source_details", {})
    for rank, hit in enumerate(response["results"][:SHOWN], start=1):
        typer.echo(_cut(f"{INDENT}{rank}. {hit['score']:.2f}  {_named(hit)}"))
        typer.echo(f"{INDENT}         {_found_by(details.get(hit['id'], {}))}")
        if beginning := _beginning(hit):
            typer.echo(_cut(f'{INDENT}         "{beginning}"'))
    counts = ", ".join(f"{name} {retrieval.get(f'{lane}_count', 0)}" for lane, name in LANES.items())
    typer.echo(f"{INDENT}lanes: {counts}; {response['total']} candidates in all")
    typer.echo(f"{INDENT}time:  {ms:.0f} ms over REST; {_stages(retrieval.get('stage_timings_ms', {}))}")


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1].rstrip() + "…"


def _named(hit: Mapping[str, Any]) -> str:
    if hit["result_origin"] != "document":
        return f"{hit['type']}: {hit['name']}"
    path = " > ".join(hit["metadata"].get("heading_path") or [])
    return f"document: {hit['url']}" + (f", {path}" if path else "")


def _found_by(details: Mapping[str, Any]) -> str:
    ranks = details.get("ranks", {})
    found = [f"{name} #{ranks[lane]}" for lane, name in LANES.items() if lane in ranks]
    return "found by " + (", ".join(found) or "nothing")


def _beginning(hit: Mapping[str, Any]) -> str:
    """How a hit begins, without its heading, which stands above it anyway, and without the lines of tables."""
    lines = [line for line in str(hit["content"]).splitlines() if not line.startswith(("#", "| ---", "```"))]
    return " ".join(" ".join(lines).replace("|", " ").split())


def _stages(timings: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {timings[stage]:.1f}" for stage, name in STAGES.items() if stage in timings)
