"""What a run was: the suite, its settings, the code, the model, the data and the machine."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import platformdirs

from evals.machine import ENGINES, commit, facts, library_versions, model_digest

MEASURED_WITH = (*ENGINES, "duckdb", "pyarrow", "numpy", "ir-measures", "pytrec-eval-terrier")


def default_runs() -> Path:
    """Return the folder of this user's runs, which is not the server's data folder."""
    return Path(platformdirs.user_data_dir("engrain-evals", appauthor=False))


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. `settings` and what follows decide whether an interrupted run can go on."""

    id: str
    suite: str
    started_at: datetime
    command: Mapping[str, Any]
    """What the user asked for: sets, arms, limit and so on. The same command finds an interrupted run again."""
    settings: Mapping[str, Any]
    """How it is measured beyond that: concurrency, the address of a server."""
    commit: str
    version: str
    model: str
    """A hash of the model files in the package."""
    data: Mapping[str, str]
    """A hash of each set, as it is loaded and asked."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    finished_at: datetime | None = None

    def differences(self, other: "RunRecord") -> dict[str, tuple[object, object]]:
        """Name what makes the answers of two runs of one command incomparable."""
        names = ("settings", "commit", "version", "model", "data")
        pairs = {name: (getattr(self, name), getattr(other, name)) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def command_digest(self) -> str:
        """What two runs of one command have in common."""
        said = json.dumps({"suite": self.suite, **self.command}, sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    def finished(self) -> Self:
        """Return the record of the run now that it is over."""
        return replace(self, finished_at=datetime.now(UTC))

    def plain(self) -> dict[str, Any]:
        """As an object of JSON."""
        moments = {"started_at": self.started_at, "finished_at": self.finished_at}
        return {**asdict(self), **{name: at.isoformat() if at else None for name, at in moments.items()}}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """Read an object of JSON."""
        moments = {name: datetime.fromisoformat(plain[name]) for name in ("started_at", "finished_at") if plain[name]}
        return cls(**{**plain, **moments})


def new_record(
    suite: str, command: Mapping[str, Any], settings: Mapping[str, Any], data: Mapping[str, str]
) -> RunRecord:
    """Describe a run that begins now."""
    machine, now = facts(), datetime.now(UTC)
    return RunRecord(
        id=f"{now:%Y%m%d-%H%M%S}-{suite}",
        suite=suite,
        started_at=now,
        command=command,
        settings=settings,
        commit=commit(),
        version=str(machine["engrain"]),
        model=model_digest(),
        data=data,
        machine={name: machine[name] for name in ("cores", "load_1min", "system", "python")},
        versions=library_versions(MEASURED_WITH),
    )
