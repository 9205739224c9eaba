"""Answers as they come, on disk: an interrupted run goes on where it was."""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TextIO

from evals.results import Case, Part
from evals.runs.record import RunRecord, read_records, write_record
from stores.errors import EngrainError

CASES, PARTS = "cases.jsonl", "parts.jsonl"
SERVERS, NOTES = "servers", "notes"
"""The data folders of servers that a run starts, and what has been stored there. Both go when it is finished."""
LOADING = "loading"
"""How the notes begin that say how long storing a set took."""
TOOK_S, BESIDE = "took_s", "beside"
_Key = tuple[str, str, str]


class Journal:
    """The folder of one unfinished run. One process writes; every case is handed to the system at once."""

    def __init__(self, folder: Path, record: RunRecord) -> None:
        self.folder = folder
        self.record = record
        self._file = _locked(folder / CASES, record.id)
        try:
            for name in (CASES, PARTS):
                _mend(folder / name)
            self._took_s, self.cases = dict[_Key, float | None](), dict[_Key, Case]()
            self._beside = dict[_Key, Mapping[str, Any]]()
            for row in json_rows(folder / CASES):
                took_s, beside = row.pop(TOOK_S, None), row.pop(BESIDE, {})
                case = Case.of(row)
                self.cases[case.key], self._took_s[case.key], self._beside[case.key] = case, took_s, beside
            self.parts = {(row["set"], row["arm"]): Part(**row) for row in json_rows(folder / PARTS)}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self._file.close()
            raise _damaged(folder, error) from error

    @classmethod
    def begin(cls, runs: Path, record: RunRecord, *, afresh: bool = False) -> Self:
        """Begin a run, or go on with the one of the same command that was interrupted.

        Raises:
            EngrainError: The interrupted one was measured otherwise, or is being measured by another process; the
                message names what differs and the ways out.
        """
        for folder, earlier in _interrupted(runs, record):
            if afresh:
                with _locked(folder / CASES, earlier.id):
                    shutil.rmtree(folder)
                continue
            journal, differs = cls(folder, earlier), earlier.differences(record)
            if not differs:
                return journal
            if journal.is_resumed:
                journal.close()
                raise EngrainError(_refusal(folder, earlier, differs))
            # It has no answer that would be lost.
            journal.discard()
        folder = _made(runs, record.id)
        record = replace(record, id=folder.name)
        write_record(folder, record)
        return cls(folder, record)

    @property
    def is_resumed(self) -> bool:
        """Whether it holds answers of an earlier try."""
        return bool(self.cases)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was stored and nothing answered, so that nothing is lost with it."""
        return not self.cases and not self.parts and not _has_stored(self.folder)

    def add(self, case: Case, took_s: float | None = None, beside: Mapping[str, Any] | None = None) -> None:
        """Keep an answer, with the wall time since the one before it, and what its suite has to know of it besides."""
        self.cases[case.key], self._took_s[case.key], self._beside[case.key] = case, took_s, beside or {}
        row = {**case.plain(), TOOK_S: took_s, **({BESIDE: beside} if beside else {})}
        self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self._file.flush()

    def beside(self, key: tuple[str, str, str]) -> Mapping[str, Any]:
        """Read back what was kept with an answer besides its case."""
        return self._beside[key]

    def asking_s(self, name: str, arm: str) -> float | None:
        """Sum up the wall time of all answers of a set through an arm, whoever was interrupted between them.

        None where there are none, or it was not kept of some.
        """
        times = [self._took_s[key] for key in self.cases if key[:2] == (name, arm)]
        known = [each for each in times if each is not None]
        return sum(known) if known and len(known) == len(times) else None

    def close_part(self, part: Part) -> None:
        """Keep what one set through one arm took; its cases are whole."""
        self.parts[part.set, part.arm] = part
        with (self.folder / PARTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(_plain(part)) + "\n")

    def forget(self, name: str) -> None:
        """Let a set be measured anew; what was written of it is overruled by what comes."""
        self.cases = {key: case for key, case in self.cases.items() if case.set != name}
        self.parts = {key: part for key, part in self.parts.items() if part.set != name}
        for note in ("places", LOADING):
            (self.folder / NOTES / f"{note}-{name}.json").unlink(missing_ok=True)

    def server_folder(self, name: str) -> Path:
        """Where the server of a set keeps its data until the run is finished."""
        return self.folder / SERVERS / name

    def note(self, name: str) -> Mapping[str, Any]:
        """Read back what was kept under a name; empty where nothing was."""
        path = self.folder / NOTES / f"{name}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if not isinstance(found, dict):
                raise ValueError(f"{path.name} holds no object")
        except ValueError as error:
            raise _damaged(self.folder, error) from error
        return found

    def keep(self, name: str, value: Mapping[str, Any]) -> None:
        """Keep an object under a name, whole or not at all."""
        path = self.folder / NOTES / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text(json.dumps(value), encoding="utf-8")
        draft.replace(path)

    def close(self) -> None:
        """Let go of the file; what is in it stays."""
        self._file.close()

    def discard(self) -> None:
        """Remove the run with everything that it has."""
        shutil.rmtree(self.folder)
        self.close()

    def clear(self) -> None:
        """Remove what only an unfinished run needs; its record and what the archive wrote stay."""
        self.close()
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name in (CASES, PARTS):
                path.unlink()


def standing(folder: Path, record: RunRecord) -> str:
    """Say when a run was finished, or how far it is."""
    if record.finished_at is not None:
        return f"{record.finished_at:%Y-%m-%d %H:%M}"
    if _is_being_measured(folder / CASES):
        return "being measured"
    answers = 0
    with suppress(OSError), (folder / CASES).open("rb") as file:
        answers = sum(line.endswith(b"\n") for line in file)
    if answers:
        return f"interrupted, {answers} answers"
    return "interrupted, no answers" if _has_stored(folder) else "never started"


def _has_stored(folder: Path) -> bool:
    """Whether something was stored as a whole; that storing has begun is nothing yet."""
    return any(not path.name.startswith(f"{LOADING}-") for path in (folder / NOTES).glob("*.json"))


def _is_being_measured(path: Path) -> bool:
    with suppress(FileNotFoundError, PermissionError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _interrupted(runs: Path, record: RunRecord) -> Iterator[tuple[Path, RunRecord]]:
    for folder, earlier in read_records(runs)[0]:
        if earlier.finished_at is None and earlier.command_digest == record.command_digest:
            yield folder, earlier


def _damaged(folder: Path, error: Exception) -> EngrainError:
    return EngrainError(
        f"What the interrupted run in {folder} has cannot be read: {type(error).__name__} {error}. Add --afresh to"
        " throw it away and begin anew, or --name to begin another beside it."
    )


def _refusal(folder: Path, earlier: RunRecord, differs: Mapping[str, tuple[object, object]]) -> str:
    changes = "; ".join(f"{name} was {before}, is {now}" for name, (before, now) in differs.items())
    return (
        f"The interrupted run {earlier.id} was measured otherwise: {changes}. Go back to that to go on with it, add"
        f" --afresh to throw it away and begin anew, or --name to begin another beside it. It lies in {folder}."
    )


def _made(runs: Path, name: str) -> Path:
    """Make the folder of a run; others may begin in the same moment, and each has one of its own."""
    runs.mkdir(parents=True, exist_ok=True)
    number, folder = 1, runs / name
    while True:
        with suppress(FileExistsError):
            folder.mkdir()
            return folder
        number += 1
        folder = runs / f"{name}-{number}"


def _plain(part: Part) -> dict[str, Any]:
    return {name: getattr(part, name) for name in Part.__dataclass_fields__}


def _locked(path: Path, run_id: str) -> TextIO:
    file = path.open("a", encoding="utf-8")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise EngrainError(
            f"Another process measures {run_id} now. Wait for it, or add --name for another run."
        ) from None
    return file


def _mend(path: Path) -> None:
    """Cut off the last line where a process was killed as it wrote it."""
    if path.exists() and not (content := path.read_bytes()).endswith(b"\n"):
        path.write_bytes(content[: content.rfind(b"\n") + 1])


def json_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Read JSON Lines; where there is no file, there are none."""
    if path.exists():
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line)
