"""Commits with their parsed messages."""

from dataclasses import dataclass

from cli.release_notes.analysis.message import Message
from cli.release_notes.facts import Commit


@dataclass(frozen=True, slots=True)
class Entry:
    commit: Commit
    message: Message

    @property
    def sha(self) -> str:
        return self.commit.sha

    @property
    def paths(self) -> tuple[str, ...]:
        return self.commit.paths
