"""`engrain synthesize`: write a document with sources to standard output."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

import typer

from cli.client import Client, CommandFailed, guarded, open_client
from cli.client.failure import ExitCode, shown, understanding
from cli.client.server import JsonObject

PATH = "/api/synthesis/draft"
MOST_PROJECTS = 200


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
            draft = client.call("POST", PATH, _body(client, options))
            with understanding(client.server.address):
                _print(draft["artifact"], options)

    return guarded(command)


def _body(client: Client, options: Options) -> JsonObject:
    project = None if options.project is None else _project_id(client, options.project)
    body: JsonObject = {
        "goal": options.goal,
        "output_type": options.output_type,
        "depth": options.depth,
        "output_format": options.output_format,
        "audience": options.audience,
        "project": project,
        "required_sections": [{"title": title} for title in options.sections],
        "remember": options.remember,
        "memory_scope": "project" if options.remember and project else "private",
    }
    return {name: value for name, value in body.items() if value is not None}


def _project_id(client: Client, named: str) -> str:
    if named.startswith("project_"):
        return named
    path = f"/api/entities?entity_type=project&page_size={MOST_PROJECTS}&search={quote(named)}"
    with understanding(client.server.address):
        found = [each["id"] for each in client.call("GET", path)["entities"]
                 if each["name"].casefold() == named.casefold()]  # fmt: skip
    if len(found) != 1:
        what = "There is no project" if not found else f"There are {len(found)} projects"
        raise CommandFailed(f"{what} of the name {named!r}.", "Name it by its id, which begins with project_.")
    return str(found[0])


def _print(artifact: JsonObject, options: Options) -> None:
    if options.output_format == "json":
        typer.echo(json.dumps(artifact["json_payload"], ensure_ascii=False, indent=2))
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
