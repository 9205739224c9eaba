"""`engrain correct` and `engrain review`."""

import os
from typing import Annotated
from urllib.parse import quote

import typer

from cli.client import CommandFailed, open_client
from cli.client.failure import ExitCode, print_json, shown
from cli.client.server import JsonObject
from cli.options import JsonOption, UrlOption
from cli.verbs.running import given_text

ContentOption = Annotated[str | None, typer.Option("--content", "-c", help="Words that hold; - reads standard input.")]
ReasonOption = Annotated[str | None, typer.Option("--reason", "-r", help="Why; it is kept.")]


def correct(  # noqa: PLR0913 - a parameter for each flag
    memory: Annotated[str, typer.Argument(help="Id of the raw memory, or of a record made of it.")],
    action: Annotated[
        str,
        typer.Argument(help="wrong, stale, duplicate, superseded, hide, sensitive, redact, revise, restore or delete."),
    ],
    reason: ReasonOption = None,
    content: ContentOption = None,
    other: Annotated[
        str | None, typer.Option("--with", help="The memory that replaces it, or that it duplicates.")
    ] = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only tell what would change.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Exit code 1 where the correction is refused."""
    path = f"/api/memory/inspect/{quote(memory, safe='')}/corrections{'/preview' if preview else ''}"
    with open_client(os.environ, url=url) as client:
        body = {
            "action": action, "reason": reason, "revised_content": _words(content), "replacement_source_id": other,
            "duplicate_of_source_id": other,
        }  # fmt: skip
        done = client.call("POST", path, body)
        if as_json:
            print_json(done)
        else:
            flags = ", ".join([str(done["target_lifecycle_state"]), *done["target_lifecycle_flags"]])
            typer.echo(f"{done['source_id']}: {done['reason']}; {flags}")
            for record, label in done["metadata"]["derived"].items():
                typer.echo(f"  {record}: {label}")
        _require(bool(done["allowed"]), str(done["reason"]))


def review(
    item: Annotated[str | None, typer.Argument(help="Id of an item; without one, the queue is listed.")] = None,
    verb: Annotated[str | None, typer.Argument(help="approve, reject or edit.")] = None,
    content: ContentOption = None,
    reason: ReasonOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Exit code 1 where the decision is refused."""
    if (item is None) is not (verb is None):
        raise CommandFailed("An item and a verb go together.", "engrain review ITEM approve", code=ExitCode.USAGE)
    with open_client(os.environ, url=url) as client:
        if item is None:
            found = client.call("GET", "/api/memory/review")
            print_json(found) if as_json else _tell_queue(found)
            return
        body = {"verb": verb, "content": _words(content), "reason": reason}
        done = client.call("POST", f"/api/memory/review/{quote(item, safe='')}", body)
        print_json(done) if as_json else typer.echo(f"{done['item_id']}: {done['reason']}")
        _require(bool(done["applied"]), str(done["reason"]))


def _words(content: str | None) -> str | None:
    return given_text("-") if content == "-" else content


def _tell_queue(found: JsonObject) -> None:
    for each in found["items"]:
        typer.echo(f"{each['id']}  {each['kind']}  {shown(str(each['reason'] or ''))}")
        typer.echo(f"  {shown(' '.join(str(each['content']).split())[:200])}")
    typer.echo(f"{found['total']} waiting", err=True)


def _require(is_done: bool, reason: str) -> None:
    if not is_done:
        raise CommandFailed(f"Refused: {reason}.")
