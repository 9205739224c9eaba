"""`engrain check` and `engrain reindex`, while the server is stopped."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.options import DataDir, OrganizationOption
from cli.serving import settings_of
from stores.errors import EngrainError
from stores.folder import require_data_folder
from stores.indexer import Indexer
from stores.indexer.options import NAMES, Examined
from stores.ledger import Ledger
from stores.records import Organization
from tools.app import open_stores
from tools.runtime.log_ring import LogRing, configure_logs

SHOWN = 10
BEHIND = 3
IndexName = StrEnum("IndexName", ("LEXICAL", "GRAPH", "VECTORS"))


@contextmanager
def _stores(data_dir: Path | None) -> Iterator[tuple[Ledger, Indexer]]:
    settings = settings_of(data_dir)
    configure_logs("warning", "console", LogRing())
    require_data_folder(settings.data_dir)
    with open_stores(settings) as stores:
        yield stores.ledger, stores.indexer


def _chosen(ledger: Ledger, organization: str | None) -> list[Organization]:
    found = [each for each in ledger.people.organizations() if organization in (None, each.id, each.slug)]
    if organization is not None and not found:
        raise EngrainError(f"There is no organization {organization}.")
    return found


def check(
    data_dir: DataDir = None,
    organization: OrganizationOption = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait for indexes that are behind, all in all.")
    ] = 10,
) -> int:
    """Exit code 1 if an index differs or a record cannot be read, 3 if an index is only behind."""
    wrong = behind = 0
    until = time.monotonic() + wait
    with _stores(data_dir) as (ledger, indexer):
        chosen = _chosen(ledger, organization)
        for each in chosen:
            found = [Examined("ledger", 0, [*ledger.feed.unreadable(each.id), *ledger.audit.faults(each.id)])]
            found += indexer.examine(each.id, max(0.0, until - time.monotonic()))
            wrong += sum(len(index.differences) for index in found)
            behind += any(index.pending for index in found)
            typer.echo("\n".join(_described(each.slug, found)))
        for fault in ledger.audit.faults(None) if organization is None else ():
            wrong += 1
            typer.echo(f"server: {fault}")
        typer.echo(f"{len(chosen)} organization(s), {wrong} difference(s), {behind} behind the ledger")
    return 1 if wrong else BEHIND if behind else 0


def _described(slug: str, found: Sequence[Examined]) -> list[str]:
    differences = [f"{each.index}: {difference}" for each in found for difference in each.differences]
    behind = [f"{each.index} has {each.pending} change(s) to take in" for each in found if each.pending]
    if not differences and not behind:
        return [f"{slug}: every index equals the ledger"]
    lines = [f"{slug}: behind the ledger: {', '.join(behind)}"] if behind else []
    if not differences:
        return [*lines, f"{slug}: the indexed records equal the ledger; wait longer (--wait), or start the server"]
    shown = [f"  {each}" for each in differences[:SHOWN]]
    more = [f"  and {len(differences) - SHOWN} more"] if len(differences) > SHOWN else []
    return [*lines, f"{slug}: {len(differences)} difference(s)", *shown, *more]


def reindex(
    data_dir: DataDir = None,
    organization: OrganizationOption = None,
    index: Annotated[list[IndexName] | None, typer.Option(help="Only this index.")] = None,
) -> None:
    with _stores(data_dir) as (ledger, indexer):
        for each in _chosen(ledger, organization):
            start = time.perf_counter()
            indexer.reindex(each.id, [name for name in NAMES if name in (index or NAMES)])
            typer.echo(f"{each.slug}: rebuilt in {time.perf_counter() - start:.1f} s")
