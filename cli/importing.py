"""`engrain import`: read files with an adapter and send their records to a server, batch by batch."""

import os
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from cli.client import Client, CommandFailed, open_client
from cli.client.failure import ExitCode, print_json, shown
from cli.client.server import JsonObject
from cli.options import JsonOption, UrlOption
from tools.imports.adapters import ADAPTERS, batches, recognised
from tools.imports.adapters.base import Format
from tools.imports.files import SourceFiles, open_source
from tools.imports.models import BATCH

PATH = "/api/ingestion/imports"
EXAMPLES = 5
STEP_S = 1.0


def import_source(  # noqa: PLR0913 - a parameter for each flag
    source: Annotated[Path, typer.Argument(help="A file, a folder, or a zip archive.")],
    format_name: Annotated[
        str | None, typer.Option("--format", "-f", help="Its format; without it, Engrain looks.")
    ] = None,
    project: Annotated[str | None, typer.Option("--project", "-p", help="Project whose members may read it.")] = None,
    scope: Annotated[
        str | None, typer.Option(help="Readers: private (only you; the default), organization, team or shared.")
    ] = None,
    scope_key: Annotated[str | None, typer.Option("--scope-key", help="Team or memory space of the scope.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would come.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """An interrupted import goes on where it stopped. Private unless a project or scope is named."""
    files = open_source(source.expanduser())
    adapter = _adapter(source, format_name, files)
    if dry_run:
        _preview(source, adapter, files, as_json=as_json)
        return
    start: JsonObject = {
        "source_uri": source.expanduser().resolve().as_uri(),
        "adapter_name": adapter.name,
        "target_memory_scope": "project" if project else scope or "private",
        "target_scope_key": project or scope_key,
    }
    with open_client(os.environ, url=url) as client:
        found = _send(client, start, adapter, files, is_quiet=as_json)
        print_json(found) if as_json else _tell(source, found)


def _adapter(source: Path, name: str | None, files: SourceFiles) -> Format:
    known = ", ".join(ADAPTERS)
    if name is not None and name not in ADAPTERS:
        raise CommandFailed(f"There is no format {name}.", f"Formats are {known}.", code=ExitCode.USAGE)
    found = ADAPTERS[name] if name is not None else recognised(files)
    if found is None:
        raise CommandFailed(
            f"{source} is in no format that Engrain recognises.", f"Name it with --format: {known}.",
            code=ExitCode.USAGE,
        )  # fmt: skip
    return found


def _preview(source: Path, adapter: Format, files: SourceFiles, *, as_json: bool) -> None:
    kinds: Counter[str] = Counter()
    examples: list[str] = []
    skipped: list[JsonObject] = []
    for batch in batches(adapter, files, {}, most=BATCH):
        kinds.update(str(each["entity_type"]) for each in batch.records)
        kinds["relation"] += len(batch.relations)
        examples += [str(each["name"] or each["content"])[:80] for each in batch.records[: EXAMPLES - len(examples)]]
        skipped += batch.skipped
    counts = {kind: count for kind, count in kinds.items() if count}
    if as_json:
        print_json({"adapter": adapter.name, "records": counts, "examples": examples, "skipped": skipped})
        return
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    typer.echo(f"{source} ({adapter.name}) would bring: {told}.")
    for example in examples:
        typer.echo(f"  {shown(' '.join(example.split()))}")
    _tell_skipped(skipped)


def _send(client: Client, start: JsonObject, adapter: Format, files: SourceFiles, *, is_quiet: bool) -> JsonObject:
    found = client.patient_call("POST", PATH, start)
    path = f"{PATH}/{quote(str(found['import_id']), safe='')}/records"
    begun = found["checkpoint"] or {}
    if begun and not is_quiet:
        typer.echo(f"Goes on after {shown(str(begun.get('file', '')))}.", err=True)
    told = time.monotonic()
    for batch in batches(adapter, files, begun, most=BATCH):
        found = client.patient_call("POST", path, batch.body() | {"completed": batch.is_last})
        if time.monotonic() - told > STEP_S and not batch.is_last and not is_quiet:
            told = time.monotonic()
            typer.echo(f"  {_counts(found)} …", err=True)
    return found


def _counts(found: JsonObject) -> str:
    numbers: Mapping[str, int] = found["progress"]
    words = (
        ("imported_count", "new"), ("superseded_count", "changed"), ("dedupe_count", "known"),
        ("skipped_count", "skipped"), ("error_count", "refused"),
        ("credential_count", "with what looks like a credential"),
    )  # fmt: skip
    return ", ".join(f"{numbers[name]:,} {word}" for name, word in words if numbers[name] or name == "imported_count")


def _tell(source: Path, found: JsonObject) -> None:
    readers = "only you" if found["target_memory_scope"] == "private" else f"the {found['target_memory_scope']}"
    typer.echo(f"Imported {source} ({found['adapter_name']}): {_counts(found)}. Readable by {readers}.")
    _tell_skipped(found["skipped_records"])
    _tell_skipped(found["errors"])


def _tell_skipped(skipped: list[JsonObject]) -> None:
    for each in skipped[:EXAMPLES]:
        place: JsonObject = each.get("origin") or each
        line = f":{place['line']}" if place.get("line") else ""
        typer.echo(shown(f"  {place.get('path', place.get('key', '?'))}{line}: {each['reason']}"), err=True)
    if len(skipped) > EXAMPLES:
        typer.echo(f"  … and {len(skipped) - EXAMPLES} more", err=True)
    sys.stderr.flush()
