"""The changes between two references of a repository on disk, for those who measure how well they are found."""

from collections.abc import Sequence
from pathlib import Path

from cli.release_notes.analysis import analyse
from cli.release_notes.facts import Change, FactsRequest


def changes_between(folder: Path, older: str, newer: str) -> Sequence[Change]:
    """Return the changes, best first; raises what `analyse` raises."""
    return analyse(FactsRequest(folder, None, older, newer, None), lambda *_: None).changes
