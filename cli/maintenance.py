"""`engrain check` and `engrain reindex`: the indexes held against the ledger, with the server stopped."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import typer

from stores.errors import EngrainError
from stores.indexer import Indexer
from stores.indexer.status import NAMES
from stores.ledger import Ledger
from stores.records import Organization
from tools.app import open_stores
from tools.logs import LogRing, configure_logs
from tools.settings import read_settings


@contextmanager
def _stores(environ: Mapping[str, str], data_dir: Path | None) -> Iterator[tuple[Ledger, Indexer]]:
    settings, warnings = read_settings(environ, data_dir=data_dir)
    for warning in warnings:
        typer.echo(f"Warning: {warning}.", err=True)
    configure_logs("warning", "console", LogRing())
    with ExitStack() as stack:
        stores = stack.enter_context(open_stores(settings))
        yield stores.ledger, stores.indexer


def _chosen(ledger: Ledger, organization: str | None) -> list[Organization]:
    found = [each for each in ledger.organizations() if organization in (None, each.id, each.slug)]
    if organization is not None and not found:
        raise EngrainError(f"There is no organization {organization}.")
    return found


def _guarded(command: Callable[[], int]) -> int:
    try:
        return command()
    except EngrainError as error:
        typer.echo(f"Error: {error.message}", err=True)
        return 1


def run_check(environ: Mapping[str, str], *, data_dir: Path | None, organization: str | None) -> int:
    """Check; print each difference. 0: all equal, 1: some are not, or the folder cannot be opened."""

    def command() -> int:
        wrong = 0
        with _stores(environ, data_dir) as (ledger, indexer):
            chosen = _chosen(ledger, organization)
            for each in chosen:
                differences = indexer.check(each.id)
                wrong += len(differences)
                typer.echo(f"{each.slug}: {'; '.join(differences) if differences else 'every index equals the ledger'}")
            typer.echo(f"{len(chosen)} organization(s), {wrong} difference(s)")
        return 1 if wrong else 0

    return _guarded(command)


def run_reindex(
    environ: Mapping[str, str], *, data_dir: Path | None, organization: str | None, names: Sequence[str]
) -> int:
    """Rebuild the named indexes, or all."""

    def command() -> int:
        with _stores(environ, data_dir) as (ledger, indexer):
            for each in _chosen(ledger, organization):
                start = time.perf_counter()
                indexer.reindex(each.id, [name for name in NAMES if name in (names or NAMES)])
                typer.echo(f"{each.slug}: rebuilt in {time.perf_counter() - start:.1f} s")
        return 0

    return _guarded(command)
