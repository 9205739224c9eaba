"""What a user asks a suite of evaluations for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


def default_data() -> Path | None:
    """Return `shared/data` beside the checkout, where there is one."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


@dataclass(frozen=True, slots=True)
class Options:
    """Every suite takes those that concern it."""

    data: Path | None = None
    sets: Sequence[str] = ()
    """Names of public collections, or paths of files of our own form; empty for all public ones that the folder has."""
    arms: Sequence[str] = ("fast",)
    limit: int | None = None
    """Questions per set, drawn by a fixed seed."""
    concurrency: int = 1
    """Questions that are asked at once."""
    url: str | None = None
    """A server to ask instead of one that is started."""
    key: str = field(default="", repr=False)
    """A key of that server; without one, accounts are signed up there."""
    server: Mapping[str, str] = field(default_factory=dict)
    """Settings of the server that is started, by full name."""
    runs: Path | None = None
    """Folder of the stored runs."""
    name: str = ""
    """Tells this run from others of the same command."""
    afresh: bool = False
    """Whether to throw away what an interrupted run of the same command has."""
    strict: bool = False
    """Whether a run fails that misses a floor or a limit of time."""
    json_file: Path | None = None
    markdown_file: Path | None = None
    html_file: Path | None = None
