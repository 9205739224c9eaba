"""`engrain backup` and `engrain restore`."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from cli.options import DataDir
from cli.serving import settings_of
from cli.waiting import waiting
from stores.backup import EXPOSURES, LEDGER, Manifest, unpack, write_backup
from stores.errors import InvalidSetting
from stores.folder import DataFolder, sync_folder
from stores.ledger import Ledger


def backup(
    file: Annotated[
        Path | None,
        typer.Argument(help="A new file (….gz), or a folder; DATA_DIR/backups by default.", show_default=False),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    folder = _folder(data_dir)
    with waiting("Copying the ledger …"):
        path, manifest = write_backup(folder, file)
    typer.echo(f"{path}: {len(manifest['members'])} file(s) of {folder}, {path.stat().st_size / 1e6:.1f} MB")
    if EXPOSURES not in manifest["members"] and (folder / EXPOSURES).exists():
        typer.echo(f"Without {EXPOSURES}: a server has it open, or it cannot be read.", err=True)


def restore(
    file: Annotated[Path, typer.Argument(help="File that `engrain backup` wrote.", show_default=False)],
    data_dir: DataDir = None,
) -> int:
    folder = _folder(data_dir)
    with waiting("Restoring the ledger, and verifying the audit log …"):
        manifest, faults = _restored(file, folder)
    typer.echo(f"{folder}: restored, as of {manifest['created_at']} by Engrain {manifest['version']}.")
    typer.echo("\n".join(faults) or "The audit log verifies. The next start rebuilds the indexes.", err=bool(faults))
    return int(bool(faults))


def _folder(data_dir: Path | None) -> Path:
    settings = settings_of(data_dir)
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
        # The ledger last: a folder without it is not a data folder.
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
