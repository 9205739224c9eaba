"""`engrain backup` and `engrain restore`."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from cli.serving import guarded, settings_of
from cli.waiting import waiting
from stores.backup import EXPOSURES, LEDGER, Manifest, unpack, write_backup
from stores.errors import InvalidSetting
from stores.folder import DataFolder, sync_folder
from stores.ledger import Ledger


def run_backup(environ: Mapping[str, str], *, data_dir: Path | None, target: Path | None) -> int:
    """Back up a data folder, also while a server uses it; return 1 if that fails."""

    def command() -> int:
        folder = _folder(environ, data_dir)
        with waiting("Copying the ledger …"):
            path, manifest = write_backup(folder, target)
        typer.echo(f"{path}: {len(manifest['members'])} file(s) of {folder}, {path.stat().st_size / 1e6:.1f} MB")
        if EXPOSURES not in manifest["members"] and (folder / EXPOSURES).exists():
            typer.echo(f"Without {EXPOSURES}: a server has it open, or it cannot be read.", err=True)
        return 0

    return guarded(command)


def run_restore(environ: Mapping[str, str], *, data_dir: Path | None, file: Path) -> int:
    """Restore a backup into an empty folder; return 1 if that fails, or the audit log does not verify."""

    def command() -> int:
        folder = _folder(environ, data_dir)
        with waiting("Restoring the ledger, and verifying the audit log …"):
            manifest, faults = _restored(file, folder)
        typer.echo(f"{folder}: restored, as of {manifest['created_at']} by Engrain {manifest['version']}.")
        typer.echo(
            "\n".join(faults) or "The audit log verifies. The next start rebuilds the indexes.", err=bool(faults)
        )
        return int(bool(faults))

    return guarded(command)


def _folder(environ: Mapping[str, str], data_dir: Path | None) -> Path:
    settings = settings_of(environ, data_dir=data_dir)
    if settings.database_url:
        raise InvalidSetting(
            "The ledger is on PostgreSQL (ENGRAIN_DATABASE_URL), which has its own tools.",
            remediation="Use pg_dump and pg_restore, and keep the signing secret: jwt_secret in the data folder.",
        )
    return settings.data_dir


def _restored(file: Path, folder: Path) -> tuple[Manifest, list[str]]:
    if folder.is_dir() and {each.name for each in folder.iterdir()} - {"lock"}:
        raise InvalidSetting(f"{folder} is not empty.", remediation="Name a new folder with --data-dir.")
    with closing(DataFolder.claim(folder)), TemporaryDirectory(dir=folder, prefix=".restoring-") as place:
        manifest = unpack(file, Path(place))
        faults = _faults(Path(place, LEDGER))
        # The ledger last: a folder without it is no data folder.
        for name in sorted({each.partition("/")[0] for each in manifest["members"]}, key=LEDGER.__eq__):
            Path(place, name).rename(folder / name)
        sync_folder(folder)
    return manifest, faults


def _faults(file: Path) -> list[str]:
    with closing(Ledger.open(f"sqlite:///{file.absolute()}")) as ledger:
        logs = [(None, "server"), *((each.id, each.slug) for each in ledger.people.organizations())]
        found = [f"{name}: {fault}" for log, name in logs for fault in ledger.audit.faults(log)]
        ledger.checkpoint()
    return found
