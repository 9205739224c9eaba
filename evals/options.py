"""Options of a suite."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


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
    concurrency: int = 1
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


NAMES = frozenset(field.name for field in dataclasses.fields(Options))
