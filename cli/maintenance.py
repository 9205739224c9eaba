"""`engrain check` and `engrain reindex`, while the server is stopped."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from cli.serving import guarded, settings_of
from stores.errors import EngrainError
from stores.folder import require_data_folder
from stores.indexer import Indexer
from stores.indexer.options import NAMES, Examined
from stores.ledger import Ledger
from stores.records import Organization
from tools.app import open_stores
from tools.runtime.log_ring import LogRing, configure_logs

SHOWN = 10
NOT_LEVEL = 3


@contextmanager
def _stores(environ: Mapping[str, str], data_dir: Path | None) -> Iterator[tuple[Ledger, Indexer]]:
    settings = settings_of(environ, data_dir=data_dir)
    configure_logs("warning", "console", LogRing())
    require_data_folder(settings.data_dir)
    with open_stores(settings) as stores:
        yield stores.ledger, stores.indexer


def _chosen(ledger: Ledger, organization: str | None) -> list[Organization]:
    found = [each for each in ledger.people.organizations() if organization in (None, each.id, each.slug)]
    if organization is not None and not found:
        raise EngrainError(f"There is no organization {organization}.")
    return found


def run_check(environ: Mapping[str, str], *, data_dir: Path | None, organization: str | None, wait_s: float) -> int:
    """Print the first differences; return 1 for any, or a folder that cannot be opened, 3 if some are only behind."""

    def command() -> int:
        wrong = behind = 0
        until = time.monotonic() + wait_s
        with _stores(environ, data_dir) as (ledger, indexer):
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
            typer.echo(f"{len(chosen)} organization(s), {wrong} difference(s), {behind} not level")
        return 1 if wrong else NOT_LEVEL if behind else 0

    return guarded(command)


def _described(slug: str, found: Sequence[Examined]) -> list[str]:
    differences = [f"{each.index}: {difference}" for each in found for difference in each.differences]
    behind = [f"{each.index} has {each.pending} change(s) to take in" for each in found if each.pending]
    if not differences and not behind:
        return [f"{slug}: every index equals the ledger"]
    lines = [f"{slug}: not level: {', '.join(behind)}"] if behind else []
    if not differences:
        return [*lines, f"{slug}: what the indexes hold equals the ledger; wait longer (--wait), or start the server"]
    shown = [f"  {each}" for each in differences[:SHOWN]]
    more = [f"  and {len(differences) - SHOWN} more"] if len(differences) > SHOWN else []
    return [*lines, f"{slug}: {len(differences)} difference(s)", *shown, *more]


def run_reindex(
    environ: Mapping[str, str], *, data_dir: Path | None, organization: str | None, names: Sequence[str]
) -> int:
    def command() -> int:
        with _stores(environ, data_dir) as (ledger, indexer):
            for each in _chosen(ledger, organization):
                start = time.perf_counter()
                indexer.reindex(each.id, [name for name in NAMES if name in (names or NAMES)])
                typer.echo(f"{each.slug}: rebuilt in {time.perf_counter() - start:.1f} s")
        return 0

    return guarded(command)
