"""`engrain synthesize`: write a document with sources to standard output."""

import os
from collections.abc import Callable
from typing import Annotated

import typer

from cli.client import CommandFailed, open_client
from cli.client.failure import ExitCode, print_json, shown
from cli.options import UrlOption

PATH = "/api/synthesis/draft"
OUTPUT_TYPES = (
    "documentation", "report", "briefing", "roadmap", "release_notes", "audit_packet", "custom", "handbook",
)  # fmt: skip
DEPTHS = ("brief", "standard", "deep")
OUTPUT_FORMATS = ("markdown", "json")


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def check(word: str) -> str:
        meant = word.strip().lower().replace("-", "_")
        if meant not in words:
            raise typer.BadParameter(f"{word!r} is none of {', '.join(words)}")
        return meant

    return check


def synthesize(  # noqa: PLR0913 - a parameter for each flag
    goal: Annotated[str, typer.Option("--goal", "-g", help="Subject of the document, in a sentence.")],
    output_type: Annotated[
        str, typer.Option("--type", "-t", callback=_one_of(OUTPUT_TYPES), help=f"One of {', '.join(OUTPUT_TYPES)}.")
    ] = "documentation",
    project: Annotated[str | None, typer.Option("--project", "-p", help="Id or name of the project.")] = None,
    output_format: Annotated[
        str, typer.Option("--format", "-f", callback=_one_of(OUTPUT_FORMATS), help="markdown or json.")
    ] = "markdown",
    depth: Annotated[
        str, typer.Option("--depth", callback=_one_of(DEPTHS), help="brief, standard or deep: how much is in it.")
    ] = "standard",
    audience: Annotated[str | None, typer.Option("--audience", help="For whom it is.")] = None,
    section: Annotated[
        list[str] | None, typer.Option("--section", help="A section in place of those of the type; repeatable.")
    ] = None,
    remember: Annotated[
        bool, typer.Option("--remember", help="Also keep it: for the members of the project, else for you alone.")
    ] = False,
    url: UrlOption = None,
) -> None:
    if not goal.strip():
        raise CommandFailed("--goal says nothing.", "Say the subject of the document in a sentence.",
                            code=ExitCode.USAGE)  # fmt: skip
    body = {
        "goal": goal, "output_type": output_type, "depth": depth, "output_format": output_format, "audience": audience,
        "project": project, "required_sections": [{"title": title} for title in section or ()], "remember": remember,
        "memory_scope": "project" if remember and project else "private",
    }  # fmt: skip
    with open_client(os.environ, url=url) as client:
        artifact = client.call("POST", PATH, body)["artifact"]
        if output_format == "json":
            print_json(artifact["json_payload"])
        else:
            # Documents are inert Markdown; a line break is the only character in them that moves a cursor.
            typer.echo("\n".join(shown(line) for line in str(artifact["markdown"]).split("\n")), nl=False)
        if gaps := int(artifact["verification"]["gap_count"]):
            typer.echo(f"Parts of the document lack sources: {gaps} gap(s), listed at the end.", err=True)
        if kept := artifact["remembered_memory_id"]:
            scope = artifact["remembered_scope"]
            typer.echo(f"Kept as {kept} ({scope}).", err=True)
            if project is not None and scope == "private":
                typer.echo("It is private, because not everybody in the project may read all of its sources.", err=True)
