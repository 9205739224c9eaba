"""Corrections and decisions of the review queue, from the shell."""

from collections.abc import Mapping
from urllib.parse import quote

import typer

from cli.client import CommandFailed, guarded, open_client
from cli.client.failure import ExitCode, print_json, shown, understanding
from cli.client.server import JsonObject
from cli.verbs.running import given_text

Given = dict[str, str | None]


def run_correct(
    environ: Mapping[str, str], memory: str, given: Given, *, preview: bool, as_json: bool, url: str | None
) -> int:
    def command() -> None:
        path = f"/api/memory/inspect/{quote(memory, safe='')}/corrections{'/preview' if preview else ''}"
        with open_client(environ, url=url) as client:
            done = client.call("POST", path, _body(given, "revised_content"))
            with understanding(client.server.address):
                _tell_correction(done, as_json=as_json)

    return guarded(command)


def run_review(environ: Mapping[str, str], item: str | None, given: Given, *, as_json: bool, url: str | None) -> int:
    def command() -> None:
        if (item is None) is not (given["verb"] is None):
            raise CommandFailed("An item and a verb go together.", "engrain review ITEM approve", code=ExitCode.USAGE)
        with open_client(environ, url=url) as client:
            if item is None:
                found = client.call("GET", "/api/memory/review")
                with understanding(client.server.address):
                    _tell_queue(found, as_json=as_json)
                return
            done = client.call("POST", f"/api/memory/review/{quote(item, safe='')}", _body(given, "content"))
            with understanding(client.server.address):
                print_json(done) if as_json else typer.echo(f"{done['item_id']}: {done['reason']}")
                _require(bool(done["applied"]), str(done["reason"]))

    return guarded(command)


def _body(given: Given, words: str) -> JsonObject:
    read = {words: given_text("-")} if given[words] == "-" else {}
    return {name: value for name, value in (given | read).items() if value is not None}


def _tell_correction(done: JsonObject, *, as_json: bool) -> None:
    if as_json:
        print_json(done)
    else:
        flags = ", ".join([str(done["target_lifecycle_state"]), *done["target_lifecycle_flags"]])
        typer.echo(f"{done['source_id']}: {done['reason']}; {flags}")
        for record, label in done["metadata"]["derived"].items():
            typer.echo(f"  {record}: {label}")
    _require(bool(done["allowed"]), str(done["reason"]))


def _tell_queue(found: JsonObject, *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for each in found["items"]:
        typer.echo(f"{each['id']}  {each['kind']}  {shown(str(each['reason'] or ''))}")
        typer.echo(f"  {shown(' '.join(str(each['content']).split())[:200])}")
    typer.echo(f"{found['total']} waiting", err=True)


def _require(is_done: bool, reason: str) -> None:
    if not is_done:
        raise CommandFailed(f"Refused: {reason}.")
