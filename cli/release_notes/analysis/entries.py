"""Commits of a range with their parsed messages and touched paths."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from cli.release_notes.analysis.message import Message, read_message
from cli.release_notes.analysis.trailers import co_authors, split_trailers
from cli.release_notes.facts import Commit, Person
from cli.release_notes.git.objects import CommitObject, Oid, Repository
from cli.release_notes.git.people import Names
from cli.release_notes.git.references import moment
from cli.release_notes.git.text import decoded
from cli.release_notes.git.trees import NOTHING, Touched, touched

LONGEST_BODY = 20_000
"""Characters kept of a message."""
LONGEST_SUBJECT, LONGEST_NAME, _MOST_BYTES = 2_000, 200, 200_000
MOST_CO_AUTHORS = 100
MOST_DIFFED = 12_000
"""Commits whose paths are read; of older ones only the message counts."""
_BOT_NAME = re.compile(
    r"\[bot\]|(?:^|[\s_-])bot(?:$|[\s_-])|^(?:dependabot|renovate|greenkeeper|snyk|github-actions|github actions"
    r"|pre-commit-ci|pre-commit|mergify|semantic-release|release-please|weblate|hosted weblate|crowdin|transifex"
    r"|all-?contributors|imgbot|codecov|copybara|gitlab-ci|travis(?: ci)?|circleci|jenkins|bors|k8s-ci-robot|homu"
    r"|web-flow|deepsource-autofix|pyup|scala steward|claude code|copilot|github copilot|cursor agent"
    r"|cursoragent|openai codex|codex|aider(?: \(.*\))?|devin ai|gemini code assist|sweep ai"
    r"|gpt-\S+|claude (?:opus|sonnet|haiku|fable)\b.*)$",
    re.I,
)
"""Not Claude or Jules: those may be people; their addresses identify the programs."""
_BOT_EMAIL = re.compile(
    r"\[bot\]@|^(?:bot|bots|noreply|no-reply|ci|build|actions?|support)@(?:anthropic|openai|cursor|ampcode|devin|github|renovateapp|"
    r"dependabot|whitesourcesoftware|mend|pre-commit|gitlab)\b|@(?:users\.noreply\.)?bots?\.|^cursoragent@|^bot@|-bot@"
    r"|^action@github\.com$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Entry:
    commit: Commit
    message: Message
    touched: Touched

    @property
    def sha(self) -> str:
        return self.commit.sha


class Reader:
    """Reads commits into entries; caches people."""

    def __init__(self, repository: Repository, names: Names) -> None:
        self._repository = repository
        self._names = names
        self._people: dict[tuple[str, str], Person] = {}

    def entries(self, ids: Iterable[Oid]) -> Iterable[Entry]:
        for number, oid in enumerate(ids):
            commit = self._repository[oid]
            if isinstance(commit, CommitObject):
                paths = touched(self._repository, commit) if number < MOST_DIFFED else NOTHING
                yield self._entry(commit, paths)

    def _entry(self, commit: CommitObject, paths: Touched) -> Entry:
        subject, body = _parted(decoded(commit.raw_message[:_MOST_BYTES], commit.message_encoding))
        text, trailers = split_trailers(body)
        author = self.person(*self._names.of(commit.author))
        others = dict.fromkeys(self.person(*self._names.resolve(*pair)) for pair in co_authors(body)[:MOST_CO_AUTHORS])
        others.pop(author, None)
        fact = Commit(
            sha=str(commit.id),
            parents=tuple(str(parent) for parent in commit.parent_ids),
            author=author,
            co_authors=tuple(others),
            committed_at=moment(commit.commit_time, commit.commit_time_offset),
            subject=subject,
            body=text,
            trailers=trailers,
        )
        return Entry(fact, read_message(subject, text, trailers), paths)

    def person(self, name: str, email: str) -> Person:
        key = (name[:LONGEST_NAME], email[:LONGEST_NAME])
        if key not in self._people:
            self._people[key] = Person(*key, is_bot(*key))
        return self._people[key]


def _parted(message: str) -> tuple[str, str]:
    head, _, body = message.strip("\n").partition("\n\n")
    return " ".join(head.split())[:LONGEST_SUBJECT], body.strip("\n")[:LONGEST_BODY]


def is_bot(name: str, email: str) -> bool:
    return bool(_BOT_NAME.search(name.strip()) or _BOT_EMAIL.search(email.strip()))
