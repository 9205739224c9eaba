"""Output of the demo as plain lines."""

import textwrap
from collections.abc import Mapping
from typing import Any

import typer

from cli.demo.corpus import Question

WIDTH = 100
SHOWN = 2
INDENT = " " * 5
LANES = {"lexical": "words", "vector": "meaning", "graph": "relations"}


def title(text: str) -> None:
    typer.echo()
    typer.echo(typer.style(text, bold=True))


def line(text: str, indent: int = 2) -> None:
    typer.echo(textwrap.fill(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2)))


def verbatim(text: str, *, most: int = 5) -> None:
    for shown in text.splitlines()[:most]:
        typer.echo(_cut(f"    | {shown}"))


def answered(question: Question, response: Mapping[str, Any], ms: float) -> None:
    """Print a question and its best hits with their lanes."""
    typer.echo(typer.style(f"  Q  {question.text}", bold=True) + f"  ({question.shows}; {ms:.0f} ms)")
    details = response["filters"].get("graph_retrieval", {}).get("source_details", {})
    for hit in response["results"][:SHOWN]:
        ranks = details.get(hit["id"], {}).get("ranks", {})
        found = ", ".join(f"{name} #{ranks[lane]}" for lane, name in LANES.items() if lane in ranks)
        typer.echo(_cut(f"{INDENT}{hit['score']:.2f}  {_named(hit)}, by {found}"))
        typer.echo(_cut(f'{INDENT}      "{_beginning(hit)}"'))


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1].rstrip() + "…"


def _named(hit: Mapping[str, Any]) -> str:
    if hit["result_origin"] != "document":
        return f"{hit['type']}: {hit['name']}"
    path = " > ".join(hit["metadata"].get("heading_path") or [])
    return f"document: {hit['url']}" + (f", {path}" if path else "")


def _beginning(hit: Mapping[str, Any]) -> str:
    lines = [line for line in str(hit["content"]).splitlines() if not line.startswith(("#", "| ---", "```"))]
    return " ".join(" ".join(lines).replace("|", " ").split())
