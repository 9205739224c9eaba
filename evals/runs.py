"""Runs: a folder each, with `run.json` and a line in `cases.jsonl` for each answer.

DuckDB reads them: `SELECT * FROM read_json('<folder>/*/cases.jsonl', filename = true)`.
"""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import platformdirs

from evals.datasets.collection import json_lines
from evals.machine import library_versions, machine, model_digest
from evals.results import Case, Part
from stores.errors import EngrainError
from tools.runtime.settings import PREFIX, SET, Settings, without_secrets
from tools.runtime.version import VERSION, commit

RECORD, CASES = "run.json", "cases.jsonl"
LATEST = "latest"
_TEXTS = ("question", "best", "missed")
_SHOWN = frozenset(f"{PREFIX}{name.upper()}" for name, field in Settings.model_fields.items() if field.repr)
_DECIDE = ("settings", "commit", "version", "model", "data", "versions")


def default_runs() -> Path:
    return Path(platformdirs.user_data_dir("engrain-evals", appauthor=False))


@dataclass(frozen=True, slots=True)
class Record:
    suite: str
    command: Mapping[str, Any]
    """Sets, arms, limit and so on: identifies an interrupted run to resume."""
    settings: Mapping[str, Any]
    data: Mapping[str, str]
    """Hash by set."""
    commit: str
    version: str
    model: str
    """Hash of the packaged models, another model's name, or `none`."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    started_at: str = ""
    finished_at: str | None = None
    parts: Sequence[Mapping[str, Any]] = ()

    def differences(self, other: "Record") -> list[str]:
        """Name the differences that make two runs incomparable."""
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in _DECIDE}
        pairs["processor"] = (self.machine.get("processor"), other.machine.get("processor"))
        return [f"{name} was {one}, is {two}" for name, (one, two) in pairs.items() if one != two]


def new_record(suite: str, command: Mapping[str, Any], data: Mapping[str, str], settings: Mapping[str, Any]) -> Record:
    """Describe a run that starts now; `settings["server"]` are a server's."""
    server = settings.get("server", {})
    return Record(
        suite=suite,
        command=dict(command),
        settings={**settings, "server": settings_snapshot(server)},
        data=dict(data),
        commit=commit() or "",
        version=VERSION,
        model=_embedding_model(server),
        machine=machine(),
        versions=library_versions(),
        started_at=_now(),
    )


def settings_snapshot(settings: Mapping[str, str]) -> dict[str, str]:
    """Mask all values but those of settings that are no secret."""
    return {name: without_secrets(value) if name in _SHOWN or not value else SET for name, value in settings.items()}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _embedding_model(server: Mapping[str, str]) -> str:
    provider = server.get(f"{PREFIX}EMBEDDING_PROVIDER") or "builtin"
    if provider == "builtin":
        return model_digest()
    return "none" if provider == "none" else f"{server.get(f'{PREFIX}EMBEDDING_MODEL')} ({provider})"


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run, or a baseline, which has no record."""

    name: str
    record: Record | None
    cases: Sequence[Case]
    parts: Sequence[Part]
    data: Mapping[str, str] = field(default_factory=dict)


class Journal:
    """An unfinished run; its finished parts are on disk."""

    def __init__(self, folder: Path, record: Record) -> None:
        self.folder, self.record = folder, record
        self.parts = {(part["set"], part["arm"]): Part(**part) for part in record.parts}
        stored = _cases(folder) if self.parts else []
        self.cases = [case for case in stored if (case.set, case.arm) in self.parts]

    @classmethod
    def begin(cls, runs: Path, record: Record) -> Self:
        """Begin a run, or resume the interrupted one of the same command and circumstances, or raise EngrainError."""
        record = Record(**json.loads(json.dumps(asdict(record))))
        for folder, earlier in list_runs(runs):
            is_same = (earlier.suite, earlier.command) == (record.suite, record.command)
            if is_same and not earlier.finished_at and not earlier.differences(record):
                return cls(folder, earlier)
        try:
            runs.mkdir(parents=True, exist_ok=True)
            stamp = record.started_at[:19].translate(str.maketrans("T", "-", "-:"))
            journal = cls(Path(tempfile.mkdtemp(prefix=f"{stamp}-{record.suite}-", dir=runs)), record)
            journal._store()
        except OSError as error:
            raise EngrainError(f"No run can be kept in {runs}: {error}. Name another folder with --runs.") from error
        return journal

    def add(self, case: Case) -> None:
        self.cases.append(case)

    def close_part(self, part: Part) -> None:
        """Store a part with its cases."""
        self.parts[part.set, part.arm] = part
        self._store(parts=[asdict(each) for each in self.parts.values()])

    def server_data(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="server-", dir=self.folder)

    def finish(self) -> Run:
        self._store(finished_at=_now())
        return _read(self.folder, self.record)

    def _store(self, **changes: Any) -> None:  # noqa: ANN401, RUF100 - fields of a record
        self.record = replace(self.record, **changes)
        _write(self.folder / CASES, "".join(json.dumps(asdict(case), ensure_ascii=False) + "\n" for case in self.cases))
        _write(self.folder / RECORD, json.dumps(asdict(self.record), indent=1))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A suite with its data read and checked."""

    data: Mapping[str, str]
    measure: Callable[[Journal], None]
    """Add the cases of missing parts and close each part."""
    command: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def list_runs(runs: Path) -> list[tuple[Path, Record]]:
    """Return all runs in a folder, the latest first; EngrainError for a damaged one."""
    found = []
    for path in runs.glob(f"*/{RECORD}"):
        try:
            found.append((path.parent, Record(**json.loads(path.read_text(encoding="utf-8")))))
        except (OSError, ValueError, TypeError) as error:
            raise EngrainError(f"{path} cannot be read: {error}. Remove its folder to forget that run.") from error
    return sorted(found, key=lambda each: each[1].finished_at or each[1].started_at, reverse=True)


def read_run(name: str, runs: Path) -> Run:
    """Read a run by id or its beginning, `latest`, `latest~1`, or a baseline's path, or raise EngrainError."""
    if Path(name).is_file():
        return read_baseline(Path(name))
    finished = [(folder, record) for folder, record in list_runs(runs) if record.finished_at]
    word, _, place = name.partition("~")
    if word == LATEST and (not place or place.isdecimal()):
        found = finished[int(place or 0) :][:1]
    else:
        found = [each for each in finished if name and each[0].name.startswith(name)]
    if len(found) != 1:
        problem = f"Several runs begin with {name!r}" if found else f"There is no finished run {name!r} in {runs}"
        raise EngrainError(f"{problem}; `engrain eval runs` lists them. The last two are `latest` and `latest~1`.")
    return _read(*found[0])


def _read(folder: Path, record: Record) -> Run:
    try:
        parts = [Part(**part) for part in record.parts]
        return Run(folder.name, record, _cases(folder), parts, record.data)
    except (OSError, ValueError, TypeError) as error:
        raise EngrainError(f"{folder} cannot be read: {error}. Remove it and measure again.") from error


def baseline_lines(run: Run) -> str:
    """Format a baseline: a header, then a case a line, without texts."""
    header = {"kind": "baseline", "data": run.data, "measures": {part.set: part.measure for part in run.parts}}
    rows = [{name: value for name, value in asdict(case).items() if name not in _TEXTS} for case in run.cases]
    for row in rows:
        row["took_ms"] = None if row["took_ms"] is None else round(row["took_ms"], 2)
    return "".join(json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in (header, *rows))


def read_baseline(path: Path) -> Run:
    """Read a baseline, or raise EngrainError."""
    try:
        header, *rows = json_lines(path)
        cases, measures = [Case(**row) for row in rows], header["measures"]
        arms = {(case.set, case.arm): case.unit for case in cases}
        parts = [Part(*key, unit, None, measures[key[0]]) for key, unit in arms.items()]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EngrainError(f"{path} is no baseline: {type(error).__name__} {error}.") from error
    return Run(path.name, None, cases, parts, header["data"])


def _cases(folder: Path) -> list[Case]:
    return [Case(**row) for row in json_lines(folder / CASES)]


def _write(path: Path, content: str) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(content, encoding="utf-8")
    draft.replace(path)
