"""What a run was: the suite, its settings, the code, the model, the data and the machine."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import platformdirs
from pydantic import AwareDatetime, TypeAdapter, ValidationError

from evals.machine import ENGINES, UNKNOWN, Subject, facts, library_versions, model_digest
from evals.told import told
from stores.errors import EngrainError
from tools.client_settings import PREFIX
from tools.revision import commit
from tools.version import VERSION

RECORD = "run.json"
MEASURED_WITH = ("duckdb", "pyarrow", "numpy", "ir-measures", "pytrec-eval-terrier")
"""The libraries that figures are computed and kept with, whatever is measured."""
_MACHINE = ("processor", "instructions", "cores", "memory_gb", "load_1min", "system", "python")


def default_runs() -> Path:
    """Return the folder of this user's runs, which is not the server's data folder."""
    return Path(platformdirs.user_data_dir("engrain-evals", appauthor=False))


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. `settings` and what follows decide whether an interrupted run can go on."""

    id: str
    suite: str
    started_at: AwareDatetime
    command: Mapping[str, Any]
    """What the user asked for: sets, arms, limit and so on. The same command finds an interrupted run again."""
    settings: Mapping[str, Any]
    """How it is measured beyond that: concurrency, the address of a server."""
    commit: str
    version: str
    model: str
    """As those of the server that is asked; `unknown` where it does not say."""
    data: Mapping[str, str]
    """A hash of each set, as it is loaded and asked."""
    machine: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    finished_at: AwareDatetime | None = None

    def differences(self, other: "RunRecord") -> dict[str, tuple[object, object]]:
        """Name what makes the answers of two runs of one command incomparable."""
        names = ("settings", "commit", "version", "model", "data", "versions")
        pairs: dict[str, tuple[object, object]] = {name: (getattr(self, name), getattr(other, name)) for name in names}
        pairs["instructions"] = (self.machine.get("instructions"), other.machine.get("instructions"))
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    @property
    def command_digest(self) -> str:
        """What two runs of one command have in common."""
        said = json.dumps({"suite": self.suite, **self.command}, sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:12]

    @property
    def place(self) -> tuple[datetime, str]:
        """Where it stands among others in time."""
        return self.finished_at or self.started_at, self.id

    def finished(self) -> Self:
        """Return the record of the run now that it is over."""
        return replace(self, finished_at=datetime.now(UTC))

    def plain(self) -> dict[str, Any]:
        """As an object of JSON."""
        moments = {"started_at": self.started_at, "finished_at": self.finished_at}
        return {**asdict(self), **{name: at.isoformat() if at else None for name, at in moments.items()}}

    @classmethod
    def of(cls, plain: object) -> "RunRecord":
        """Read an object of JSON.

        Raises:
            ValidationError: It is no record of a run.
        """
        return _READER.validate_python(plain)


_READER = TypeAdapter(RunRecord)


def new_record(
    suite: str,
    command: Mapping[str, Any],
    settings: Mapping[str, Any],
    data: Mapping[str, str],
    subject: Subject | None = None,
) -> RunRecord:
    """Describe a run that begins now; without a subject this checkout on this machine is measured."""
    now = datetime.now(UTC)
    measured = subject or checkout(embedding_model(settings.get("server", {})))
    return RunRecord(
        id=f"{now:%Y%m%d-%H%M%S}-{suite}",
        suite=suite,
        started_at=now,
        command=command,
        settings=_without_secrets(settings),
        commit=measured.commit,
        version=measured.version,
        model=measured.model,
        data=data,
        machine=measured.machine,
        versions=measured.versions,
    )


def _without_secrets(settings: Mapping[str, Any]) -> dict[str, Any]:
    given = settings.get("server")
    return {**settings, "server": told(given)} if isinstance(given, dict) else dict(settings)


def asker() -> dict[str, str]:
    """Say which checkout asks a server elsewhere; an interrupted run goes on with no other."""
    return {"commit": commit() or "", "version": VERSION}


def embedding_model(server: Mapping[str, str]) -> str:
    """Say what embeds on a server with these settings: a hash of the packaged models, a name, or `none`."""
    provider = server.get(f"{PREFIX}EMBEDDING_PROVIDER") or "builtin"
    if provider == "builtin":
        return model_digest()
    return "none" if provider == "none" else f"{server.get(f'{PREFIX}EMBEDDING_MODEL') or UNKNOWN} ({provider})"


def checkout(model: str) -> Subject:
    """Describe this checkout on this machine, with what embeds."""
    machine = facts()
    return Subject(
        commit=commit() or "",
        version=str(machine["engrain"]),
        model=model,
        machine={name: machine[name] for name in _MACHINE},
        versions=library_versions((*ENGINES, *MEASURED_WITH)),
    )


def write_record(folder: Path, record: RunRecord) -> None:
    """Write what a run was into its folder, whole or not at all."""
    draft = (folder / RECORD).with_suffix(".draft")
    with draft.open("w", encoding="utf-8") as file:
        json.dump(record.plain(), file, indent=2)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / RECORD)


def read_record(folder: Path) -> RunRecord:
    """Read what a run was; it goes by the name of its folder.

    Raises:
        EngrainError: The file is damaged, or none of ours.
    """
    path = folder / RECORD
    try:
        record = RunRecord.of(json.loads(path.read_text(encoding="utf-8")))
        # Runs of earlier versions hold what their settings were, secrets as well.
        return replace(record, id=folder.name, settings=_without_secrets(record.settings))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
    except (OSError, ValueError, RecursionError) as error:
        reason = str(error)
    raise EngrainError(f"{path} cannot be read as a run: {reason}. Remove its folder to forget that run.")


def read_records(runs: Path) -> tuple[list[tuple[Path, RunRecord]], list[str]]:
    """Read all runs of a folder with the folder of each, and say which cannot be read.

    The latest comes first, by its end: one that was interrupted and resumed is as of then. Those without an end go by
    their beginning.
    """
    found, remarks = [], []
    for path in runs.glob(f"*/{RECORD}"):
        try:
            found.append((path.parent, read_record(path.parent)))
        except EngrainError as error:
            remarks.append(error.message)
    return sorted(found, key=lambda each: each[1].place, reverse=True), sorted(remarks)
