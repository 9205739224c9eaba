"""Options of a suite."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


def default_data() -> Path | None:
    """Return `shared/data` beside the checkout, if there is one."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@dataclass(frozen=True, slots=True)
class Options:
    """Every suite takes those that concern it."""

    data: Path | None = None
    sets: Sequence[str] = ()
    """Names of public sets or paths of files; empty for all public sets in `data`."""
    arms: Sequence[str] = ("fast",)
    limit: int | None = None
    """Questions per set, drawn with a fixed seed."""
    concurrency: int = 1
    server: Mapping[str, str] = field(default_factory=dict)
    """Settings of the server, by full name."""
    runs: Path | None = None
    name: str = ""
    """Tells this run from others of the same command."""
    afresh: bool = False
    """Throw away the interrupted run of the same command."""
    strict: bool = False
    """Fail if a floor or a time limit is missed."""

    def changed(self) -> set[str]:
        """Name the options that are not at their defaults."""
        default = Options()
        names = (field.name for field in dataclasses.fields(self))
        return {name for name in names if getattr(self, name) != getattr(default, name)}
