"""`engrain import`: read files with an adapter and send their records to a server, batch by batch."""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import typer

from cli.client import Client, CommandFailed, guarded, open_client
from cli.client.failure import ExitCode, print_json, shown, understanding
from cli.client.server import JsonObject
from stores.errors import EngrainError
from tools.imports.adapters import ADAPTERS, Batch, batches, recognised
from tools.imports.adapters.base import Format
from tools.imports.files import SourceFiles, open_source
from tools.imports.models import BATCH

PATH = "/api/ingestion/imports"
EXAMPLES = 5
STEP_S = 1.0


@dataclass(frozen=True, slots=True)
class ImportOptions:
    source: Path
    format: str | None
    project: str | None
    scope: str | None
    scope_key: str | None
    dry_run: bool
    as_json: bool
    url: str | None


def run_import(environ: Mapping[str, str], wanted: ImportOptions) -> int:
    def command() -> None:
        try:
            source = open_source(wanted.source.expanduser())
            adapter = _adapter(wanted, source)
            if wanted.dry_run:
                _preview(wanted, adapter, source)
                return
            with open_client(environ, url=wanted.url) as client, understanding(client.server.address):
                _tell(wanted, _send(client, wanted, adapter, source))
        except EngrainError as error:
            raise CommandFailed(error.message, error.remediation or "") from error

    return guarded(command)


def _adapter(wanted: ImportOptions, source: SourceFiles) -> Format:
    if wanted.format is not None and wanted.format not in ADAPTERS:
        raise CommandFailed(
            f"There is no format {wanted.format}.", f"Formats are {', '.join(ADAPTERS)}.", code=ExitCode.USAGE
        )
    found = ADAPTERS[wanted.format] if wanted.format is not None else recognised(source)
    if found is None:
        raise CommandFailed(
            f"{wanted.source} is in no format that Engrain recognises.",
            f"Name it with --format: {', '.join(ADAPTERS)}.",
            code=ExitCode.USAGE,
        )
    return found


def _preview(wanted: ImportOptions, adapter: Format, source: SourceFiles) -> None:
    kinds: Counter[str] = Counter()
    examples: list[str] = []
    skipped: list[JsonObject] = []
    for batch in batches(adapter, source, {}, most=BATCH):
        kinds.update(str(each["entity_type"]) for each in batch.records)
        kinds["relation"] += len(batch.relations)
        examples += [str(each["name"] or each["content"])[:80] for each in batch.records[: EXAMPLES - len(examples)]]
        skipped += batch.skipped
    counts = {kind: count for kind, count in kinds.items() if count}
    if wanted.as_json:
        print_json({"adapter": adapter.name, "records": counts, "examples": examples, "skipped": skipped})
        return
    told = ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    typer.echo(f"{wanted.source} ({adapter.name}) would bring: {told}.")
    for example in examples:
        typer.echo(f"  {shown(' '.join(example.split()))}")
    _tell_skipped(skipped)


def _send(client: Client, wanted: ImportOptions, adapter: Format, source: SourceFiles) -> JsonObject:
    scope = "project" if wanted.project else wanted.scope or "private"
    start: JsonObject = {
        "source_uri": wanted.source.expanduser().resolve().as_uri(),
        "adapter_name": adapter.name,
        "target_memory_scope": scope,
        "target_scope_key": wanted.project or wanted.scope_key,
    }
    found = client.patient_call("POST", PATH, start)
    path = f"{PATH}/{quote(str(found['import_id']), safe='')}/records"
    checkpoint = found["checkpoint"]
    begun = checkpoint if isinstance(checkpoint, dict) else {}
    if begun and not wanted.as_json:
        typer.echo(f"Goes on after {shown(str(begun.get('file', '')))}.", err=True)
    told = time.monotonic()
    for batch in _whole(batches(adapter, source, begun, most=BATCH)):
        found = client.patient_call("POST", path, batch.body() | {"completed": batch.is_last})
        if time.monotonic() - told > STEP_S and not batch.is_last and not wanted.as_json:
            told = time.monotonic()
            typer.echo(f"  {_counts(found)} …", err=True)
    return found


def _whole(found: Iterator[Batch]) -> Iterator[Batch]:
    held = Batch()
    for number, batch in enumerate(found):
        if number:
            yield held
        held = batch
    held.is_last = True
    yield held


def _counts(found: JsonObject) -> str:
    progress = found["progress"]
    numbers: Mapping[str, int] = progress if isinstance(progress, dict) else {}
    words = (
        ("imported_count", "new"), ("superseded_count", "changed"), ("dedupe_count", "known"),
        ("skipped_count", "skipped"), ("error_count", "refused"),
        ("credential_count", "with what looks like a credential"),
    )  # fmt: skip
    return ", ".join(f"{numbers[name]:,} {word}" for name, word in words if numbers[name] or name == "imported_count")


def _tell(wanted: ImportOptions, found: JsonObject) -> None:
    if wanted.as_json:
        print_json(found)
        return
    readers = "only you" if found["target_memory_scope"] == "private" else f"the {found['target_memory_scope']}"
    typer.echo(f"Imported {wanted.source} ({found['adapter_name']}): {_counts(found)}. Readable by {readers}.")
    for name in ("skipped_records", "errors"):
        listed = found[name]
        _tell_skipped([each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else [])


def _tell_skipped(skipped: list[JsonObject]) -> None:
    for each in skipped[:EXAMPLES]:
        origin = each.get("origin")
        place: Mapping[str, object] = origin if isinstance(origin, dict) else each
        line = f":{place['line']}" if place.get("line") else ""
        typer.echo(shown(f"  {place.get('path', place.get('key', '?'))}{line}: {each['reason']}"), err=True)
    if len(skipped) > EXAMPLES:
        typer.echo(f"  … and {len(skipped) - EXAMPLES} more", err=True)
    sys.stderr.flush()
