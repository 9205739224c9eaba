"""Runs: a folder each, with `run.json` and a line in `cases.jsonl` for each answer.

DuckDB reads them: `SELECT * FROM read_json('<folder>/*/cases.jsonl', filename = true)`.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import platformdirs

from evals.datasets.collection import json_lines
from evals.machine import library_versions, machine, resident_mb
from stores.embedding.shipped import SHA256
from stores.errors import EngrainError
from tools.runtime.settings import PREFIX, SET, Settings, without_secrets
from tools.runtime.version import VERSION, commit

RECORD, CASES = "run.json", "cases.jsonl"
LATEST = "latest"
_TEXTS = ("question", "best", "missed")
_SHOWN = frozenset(f"{PREFIX}{name.upper()}" for name, field in Settings.model_fields.items() if field.repr)


def default_data() -> Path | None:
    beside = Path(__file__).parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@dataclass(frozen=True, slots=True)
class Options:
    data: Path | None = None
    sets: Sequence[str] = ()
    """Names of public sets or paths of files; empty for all public sets."""
    arms: Sequence[str] = ("fast",)
    limit: int | None = None
    """Questions per set."""
    server: Mapping[str, str] = field(default_factory=dict)
    """Settings by full name."""
    without_speakers: bool = False
    runs: Path | None = None
    name: str = ""
    strict: bool = False
    """Fail if a floor or limit is missed."""

    def changed(self) -> set[str]:
        default = Options()
        return {name for name in NAMES if getattr(self, name) != getattr(default, name)}


NAMES = frozenset(each.name for each in fields(Options))


def default_runs() -> Path:
    return Path(platformdirs.user_data_dir("engrain-evals", appauthor=False))


@dataclass(frozen=True, slots=True)
class Case:
    """The result of one arm on one question, goal or note."""

    set: str
    arm: str
    unit: str
    """A turn, session, document or record."""
    id: str
    """Unique within the set, and stable between runs."""
    values: Mapping[str, float]
    cluster: str = ""
    """Cases of one cluster are dependent."""
    category: str = ""
    apart: bool = False
    """Left out of the headline figures."""
    question: str = ""
    wanted: Mapping[str, int] = field(default_factory=dict)
    found: Sequence[str] = field(default_factory=list)
    """Ids, best first."""
    took_ms: float | None = None
    tokens: int | None = None
    best: Sequence[str] = field(default_factory=list)
    """Beginnings of the best texts."""
    missed: Sequence[str] = field(default_factory=list)
    """Beginnings of missed texts."""
    score: float | None = None
    """Score of the best hit, 0 without one; `None` if the arm's scores do not compare."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.set, self.arm, self.id


@dataclass(frozen=True, slots=True)
class Part:
    set: str
    arm: str
    unit: str
    texts: int | None
    measure: str
    floor: float | None = None
    goal: float | None = None
    p50_limit_ms: float | None = None
    resident_mb: float | None = None
    """Server memory after the last question."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    suite: str
    command: Mapping[str, Any]
    """Sets, arms, limit and so on."""
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
    finished_at: str = ""
    parts: Sequence[Mapping[str, Any]] = ()


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
        return hashlib.sha256("".join(SHA256.values()).encode()).hexdigest()[:16]
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
    """The cases and parts of a run that is under way; they are kept when it has finished."""

    def __init__(self, runs: Path, record: Record) -> None:
        self.runs, self.record = runs, record
        self.cases: list[Case] = []
        self.parts: list[Part] = []
        try:
            runs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngrainError(f"No run can be kept in {runs}: {error}. Name another folder with --runs.") from error

    def server_data(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="server-", dir=self.runs)

    def add(self, part: Part, cases: Iterable[Case], server: int | None = None) -> None:
        """Add a part and its cases, and the memory of the server's process afterwards."""
        self.cases += cases
        self.parts.append(part if server is None else replace(part, resident_mb=resident_mb(server)[0]))

    def finish(self) -> Run:
        record = replace(self.record, finished_at=_now(), parts=[asdict(part) for part in self.parts])
        stamp = record.started_at[:19].translate(str.maketrans("T", "-", "-:"))
        folder = Path(tempfile.mkdtemp(prefix=f"{stamp}-{record.suite}-", dir=self.runs))
        lines = (json.dumps(asdict(case), ensure_ascii=False) + "\n" for case in self.cases)
        (folder / CASES).write_text("".join(lines), encoding="utf-8")
        (folder / RECORD).write_text(json.dumps(asdict(record), indent=1), encoding="utf-8")
        return read_run(folder.name, self.runs)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A suite with its data read and checked."""

    data: Mapping[str, str]
    measure: Callable[[Journal], None]
    """Add the cases and parts."""
    command: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def stored_runs(runs: Path) -> list[tuple[Path, Record]]:
    """Return all runs in a folder, the latest first; EngrainError for a damaged one."""
    found = []
    for path in runs.glob(f"*/{RECORD}"):
        try:
            found.append((path.parent, Record(**json.loads(path.read_text(encoding="utf-8")))))
        except (OSError, ValueError, TypeError) as error:
            raise EngrainError(f"{path} cannot be read: {error}. Remove its folder to forget that run.") from error
    return sorted(found, key=lambda each: each[1].finished_at, reverse=True)


def read_run(name: str, runs: Path | None) -> Run:
    """Read a run by id or its beginning, `latest`, `latest~1`, or a baseline's path, or raise EngrainError."""
    runs = runs or default_runs()
    if Path(name).is_file():
        return read_baseline(Path(name))
    finished = stored_runs(runs)
    word, _, place = name.partition("~")
    if word == LATEST and (not place or place.isdecimal()):
        found = finished[int(place or 0) :][:1]
    else:
        found = [each for each in finished if name and each[0].name.startswith(name)]
    if len(found) != 1:
        problem = f"Several runs begin with {name!r}" if found else f"There is no run {name!r} in {runs}"
        raise EngrainError(f"{problem}; `engrain eval runs` lists them. The last two are `latest` and `latest~1`.")
    folder, record = found[0]
    try:
        cases = [Case(**row) for row in json_lines(folder / CASES)]
        return Run(folder.name, record, cases, [Part(**part) for part in record.parts], record.data)
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
    try:
        header, *rows = json_lines(path)
        cases, measures = [Case(**row) for row in rows], header["measures"]
        arms = {(case.set, case.arm): case.unit for case in cases}
        parts = [Part(*key, unit, None, measures[key[0]]) for key, unit in arms.items()]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EngrainError(f"{path} is no baseline: {type(error).__name__} {error}.") from error
    return Run(path.name, None, cases, parts, header["data"])
