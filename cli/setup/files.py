"""Configuration files on disk, and the records of what was written to them."""

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from cli.client.failure import CommandFailed
from cli.setup.formats import Change, Format, applied, reverted
from stores.folder import replace_file


@dataclass(frozen=True, slots=True)
class Record:
    """A file as it was written, and the backup of it without the changes (`None` if there was no file)."""

    path: str
    form: Format
    changes: Sequence[Change]
    sha256: str
    backup: str | None
    folders: Sequence[str]  # made for it, innermost first


_RECORDS = TypeAdapter(dict[str, list[Record]])


@dataclass(frozen=True, slots=True)
class Plan:
    """A file before and after, and without our changes; `None` is no file."""

    path: Path
    before: str | None
    after: str | None
    base: str | None = None
    record: Record | None = None

    @property
    def is_change(self) -> bool:
        return self.after != self.before


class State:
    """Folder with the records and the backups."""

    def __init__(self) -> None:
        import platformdirs  # noqa: PLC0415 - not every command needs it

        self.folder = Path(platformdirs.user_state_dir("engrain", appauthor=False)) / "setup"
        self.path = self.folder / "setup.json"

    def read(self) -> dict[str, list[Record]]:
        text = read_text(self.path)
        with careful(self.path):
            return _RECORDS.validate_json(text) if text else {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other setups out; wait for one that is under way."""
        with careful(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def carry_out(self, client: str, plans: Sequence[Plan]) -> None:
        """Write the files of a client, while `locked`. Each has its record first, else it could not be undone."""
        before, records = self.read(), [plan.record for plan in plans if plan.record]
        for plan in plans:
            if plan.record and plan.record.backup:
                write_text(Path(plan.record.backup), plan.base)
        if records:
            write_text(self.path, _RECORDS.dump_json(before | {client: records}).decode())
        for plan in plans:
            if plan.is_change:
                write_text(plan.path, plan.after)
        if not records:
            gone = before.pop(client, [])
            write_text(self.path, _RECORDS.dump_json(before).decode())
            for record in gone:
                Path(record.backup or self.folder / "none").unlink(missing_ok=True)
                with suppress(OSError):  # it holds something else
                    for folder in record.folders:
                        Path(folder).rmdir()

    def addition(self, client: str, path: Path, form: Format, changes: Sequence[Change]) -> Plan:
        """Plan changes of a file, in place of earlier ones; CommandFailed if it does not parse."""
        target = path.resolve()
        old = next((each for each in self.read().get(client, []) if each.path == str(target)), None)
        before = read_text(target)
        with careful(target):
            if old and before is not None and applied(form, before, changes) == before:
                return Plan(target, before, before, _backup(old), old)
            base = self.removal(old).after if old else before
            after = applied(form, base or "", changes)
        backup = str(self.folder / f"{client}-{_digest(str(target))[:8]}-{target.name}") if base is not None else None
        folders = old.folders if old else [str(each) for each in target.parents if not each.exists()]
        return Plan(target, before, after, base, Record(str(target), form, changes, _digest(after), backup, folders))

    def removal(self, record: Record) -> Plan:
        """Plan to undo the changes of a file: to its backup if nobody changed it since, else they alone."""
        path, base = Path(record.path), _backup(record)
        before = read_text(path)
        if before is None or (_digest(before) == record.sha256 and (base is None) is (record.backup is None)):
            return Plan(path, before, None if before is None else base)
        with careful(path):
            return Plan(path, before, reverted(record.form, before, base or (record.backup and ""), record.changes))


def _backup(record: Record) -> str | None:
    return read_text(Path(record.backup)) if record.backup else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(path: Path) -> str | None:
    with careful(path):
        return path.read_bytes().decode() if path.exists() else None


def write_text(path: Path, text: str | None) -> None:
    with careful(path):
        path.unlink(missing_ok=True) if text is None else replace_file(path, text.encode())


@contextmanager
def careful(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rstrip(".")
        raise CommandFailed(f"{path} was left as it is: {reason}.", "Correct that, and repeat the command.") from None
