"""Configuration files on disk, and what was written to them."""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from cli.client.failure import CommandFailed
from cli.setup.formats import Change, Format, applied, reverted

VERSION = 1


@dataclass(frozen=True, slots=True)
class Record:
    """A file as it was written, and the copy of it without our changes."""

    path: str
    form: Format
    changes: Sequence[Change]
    sha256: str = ""
    backup: str | None = None
    """`None` if there was no file."""
    folders: Sequence[str] = ()
    """Folders that were made for it, the innermost first."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A file before and after; `None` is no file."""

    path: Path
    before: str | None
    after: str | None
    base: str | None
    """The file without our changes."""
    record: Record | None

    @property
    def is_change(self) -> bool:
        return self.after != self.before


class State:
    """Folder with the records of `engrain setup`, and with backups."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "setup.json"

    @classmethod
    def of_user(cls) -> "State":
        import platformdirs  # noqa: PLC0415 - not every command needs it

        return cls(Path(platformdirs.user_state_dir("engrain", appauthor=False)) / "setup")

    def read(self) -> dict[str, list[Record]]:
        """Return the records by client; CommandFailed if they cannot be read."""
        try:
            kept = json.loads(read_text(self.path) or '{"version": 1, "clients": {}}')
            if kept["version"] != VERSION:
                raise ValueError(kept["version"])
            return {client: [_record(**each) for each in files] for client, files in kept["clients"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CommandFailed(
                f"{self.path} does not hold what this version of `engrain setup` writes.",
                f"If another version wrote it, use that one. Else remove it; backups are in {self.folder}.",
            ) from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait for other setups, and keep them waiting."""
        with writing(self.folder):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def carry_out(self, client: str, plans: Sequence[Plan]) -> None:
        """Write the files of a client and their records, while `locked`."""
        records = [plan.record for plan in plans if plan.record]
        for plan in plans:
            if plan.record and plan.record.backup:
                replace_file(Path(plan.record.backup), plan.base or "")
        # A file without a record could not be undone; a record without its file does no harm.
        if records:
            self._write({**self.read(), client: records})
        for plan in plans:
            if plan.is_change:
                replace_file(plan.path, plan.after)
        if not records:
            self._forget(client)

    def _forget(self, client: str) -> None:
        kept = self.read()
        for record in kept.pop(client, []):
            if record.backup:
                Path(record.backup).unlink(missing_ok=True)
            with suppress(OSError):  # somebody else uses it
                for folder in record.folders:
                    Path(folder).rmdir()
        self._write(kept)

    def _write(self, clients: Mapping[str, Sequence[Record]]) -> None:
        body = {client: [asdict(record) for record in records] for client, records in clients.items()}
        replace_file(self.path, json.dumps({"version": VERSION, "clients": body}, indent=1) + "\n")

    def addition(self, client: str, path: Path, form: Format, changes: Sequence[Change]) -> Plan:
        """Plan the changes of a file; CommandFailed if it does not parse. Our earlier changes go first."""
        target = path.resolve()
        old = next((each for each in self.read().get(client, []) if each.path == str(target)), None)
        before = read_text(target)
        base = self._undone(old, before) if old else before
        with understood(target):
            after = applied(form, base, changes)
        backup = f"{client}-{_digest(str(target))[:8]}-{target.name}"
        folders = old.folders if old else [str(each) for each in target.parents if not each.exists()]
        record = Record(
            str(target), form, changes, _digest(after), str(self.folder / backup) if base is not None else None, folders
        )
        return Plan(target, before, after, base, record)

    def removal(self, record: Record) -> Plan:
        """Plan to undo the changes of a file."""
        before = read_text(Path(record.path))
        return Plan(Path(record.path), before, self._undone(record, before), None, None)

    def _undone(self, record: Record, text: str | None) -> str | None:
        base = read_text(Path(record.backup)) if record.backup else None
        if text is None or _digest(text) == record.sha256:
            return base if text is not None else None
        with understood(Path(record.path)):
            return reverted(record.form, text, base, record.changes)


def _record(**kept: object) -> Record:
    record = Record(**kept)  # type: ignore[arg-type]
    changes = [Change(tuple(steps), value, is_item) for steps, value, is_item in record.changes]
    return Record(**(asdict(record) | {"changes": changes}))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read_text(path: Path) -> str | None:
    """Return a file with its line ends, None without one, or raise CommandFailed."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise CommandFailed(f"{path} cannot be read: {reason}. It was left as it is.") from None


def replace_file(path: Path, text: str | None) -> None:
    """Replace a file atomically, with its mode; `None` removes it. CommandFailed if it cannot be written."""
    with writing(path):
        if text is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
                if path.exists():
                    os.fchmod(file.fileno(), path.stat().st_mode & 0o7777)
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise CommandFailed for a place that cannot be written."""
    try:
        yield
    except OSError as error:
        raise CommandFailed(
            f"{path} cannot be written: {error.strerror or error}.", "Make it writable for you, and repeat the command."
        ) from None


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """Raise CommandFailed for a file that does not parse or has no place for a change."""
    try:
        yield
    except ValueError as error:
        raise CommandFailed(
            f"{path} was left as it is: {str(error).rstrip('.')}.", "Correct the file, and repeat the command."
        ) from None
