"""`engrain synthesize`: write a document with sources to standard output."""

from collections.abc import Mapping
from dataclasses import dataclass

import typer

from cli.client import CommandFailed, guarded, open_client
from cli.client.failure import ExitCode, print_json, shown, understanding
from cli.client.server import JsonObject

PATH = "/api/synthesis/draft"


@dataclass(frozen=True, slots=True)
class Options:
    goal: str
    output_type: str
    depth: str
    output_format: str
    project: str | None
    audience: str | None
    sections: tuple[str, ...]
    remember: bool
    url: str | None


def run_synthesize(environ: Mapping[str, str], options: Options) -> int:
    """Print a document; report its gaps and the kept record on standard error."""

    def command() -> None:
        if not options.goal.strip():
            raise CommandFailed("--goal says nothing.", "Say in a sentence what the document is about.",
                                code=ExitCode.USAGE)  # fmt: skip
        with open_client(environ, url=options.url) as client:
            draft = client.call("POST", PATH, _body(options))
            with understanding(client.server.address):
                _print(draft["artifact"], options)

    return guarded(command)


def _body(options: Options) -> JsonObject:
    body: JsonObject = {
        "goal": options.goal,
        "output_type": options.output_type,
        "depth": options.depth,
        "output_format": options.output_format,
        "audience": options.audience,
        "project": options.project,
        "required_sections": [{"title": title} for title in options.sections],
        "remember": options.remember,
        "memory_scope": "project" if options.remember and options.project else "private",
    }
    return {name: value for name, value in body.items() if value is not None}


def _print(artifact: JsonObject, options: Options) -> None:
    if options.output_format == "json":
        print_json(artifact["json_payload"])
    else:
        # Documents are inert Markdown; a line break is the only character in them that moves a cursor.
        typer.echo("\n".join(shown(line) for line in str(artifact["markdown"]).split("\n")), nl=False)
    gaps = int(artifact["verification"]["gap_count"])
    if gaps:
        typer.echo(f"Not all of it rests on sources: {gaps} gap(s), listed at the end.", err=True)
    if artifact["remembered_memory_id"]:
        scope = artifact["remembered_scope"]
        typer.echo(f"Kept as {artifact['remembered_memory_id']} ({scope}).", err=True)
        if options.project is not None and scope == "private":
            typer.echo("It is private, because not everybody in the project may read all of its sources.", err=True)
