"""`engrain backup` and `engrain restore`."""

from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from cli.refusals import guarded, settings_of
from stores.backup import EXPOSURES, LEDGER, Manifest, unpack, write_backup
from stores.errors import InvalidSetting
from stores.folder import DataFolder, require_empty, sync_folder
from stores.ledger import Ledger


def run_backup(environ: Mapping[str, str], *, data_dir: Path | None, target: Path | None) -> int:
    """Back up a data folder, also while a server uses it; return 1 if that fails."""

    def command() -> int:
        folder = _folder(environ, data_dir)
        made = write_backup(folder, target)
        size_mb = made.path.stat().st_size / 1e6
        typer.echo(f"{made.path}: {len(made.manifest.members)} file(s) of {folder}, {size_mb:.1f} MB")
        if EXPOSURES not in made.manifest.members and (folder / EXPOSURES).exists():
            typer.echo(f"Without {EXPOSURES}, which a running server has open: see docs/guide/operations.md.", err=True)
        return 0

    return guarded(command)


def run_restore(environ: Mapping[str, str], *, data_dir: Path | None, file: Path) -> int:
    """Restore a backup into an empty folder; return 1 if that fails, or the audit log does not verify."""

    def command() -> int:
        folder = _folder(environ, data_dir)
        manifest, faults = _restored(file, folder)
        typer.echo(f"{folder}: restored, as of {manifest.created_at} by Engrain {manifest.version}.")
        for fault in faults:
            typer.echo(f"Error: {fault}", err=True)
        if not faults:
            typer.echo("The audit log verifies. The next `engrain serve` rebuilds the indexes.")
        return 1 if faults else 0

    return guarded(command)


def _folder(environ: Mapping[str, str], data_dir: Path | None) -> Path:
    settings = settings_of(environ, data_dir=data_dir)
    if settings.database_url:
        raise InvalidSetting(
            "The ledger is on PostgreSQL (ENGRAIN_DATABASE_URL), which has its own tools.",
            remediation="Use pg_dump and pg_restore, and keep ENGRAIN_JWT_SECRET or jwt_secret in the data folder.",
        )
    return settings.data_dir


def _restored(file: Path, folder: Path) -> tuple[Manifest, list[str]]:
    require_empty(folder)
    is_new = not folder.exists()
    claimed = DataFolder.claim(folder)
    done = False
    try:
        with TemporaryDirectory(dir=folder, prefix=".restoring-") as place:
            manifest = unpack(file.absolute(), Path(place))
            faults = _faults(Path(place, LEDGER))
            # The ledger last: a folder without it is no data folder.
            for name in sorted({each.partition("/")[0] for each in manifest.members}, key=LEDGER.__eq__):
                Path(place, name).rename(folder / name)
            sync_folder(folder)
        done = True
    finally:
        claimed.close()
        if not done:
            (folder / "lock").unlink()
            with suppress(OSError):
                if is_new:
                    folder.rmdir()
    return manifest, faults


def _faults(file: Path) -> list[str]:
    with closing(Ledger.open(f"sqlite:///{file.absolute()}")) as ledger:
        found = [f"server: {fault}" for fault in ledger.audit.faults(None)]
        for each in ledger.people.organizations():
            found += [f"{each.slug}: {fault}" for fault in ledger.audit.faults(each.id)]
        ledger.checkpoint()
    return found
