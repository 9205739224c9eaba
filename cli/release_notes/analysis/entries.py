"""Commits of a range with their parsed messages and touched paths, and who made them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cli.release_notes.analysis.message import Message, read_message
from cli.release_notes.analysis.prefix import co_authors
from cli.release_notes.facts import Commit, Contributor, Person
from cli.release_notes.git.objects import CommitObject, Names, Oid, Repository, decoded, touched
from cli.release_notes.git.range import moment, older_commits

LONGEST_SUBJECT, LONGEST_BODY, LONGEST_NAME, _MOST_BYTES = 2_000, 20_000, 200, 200_000
"""Characters kept."""
MOST_CO_AUTHORS = 100
MOST_OLDER, MOST_DIFFED = 100_000, 12_000
"""Earlier commits in which a person is looked up; commits whose paths are read, of older ones the message counts."""
_FOOTER = re.compile(r"(?<=[^\n])\n(BREAKING[ -]CHANGES?(?:\([^)]*\))?:)")
_BOT_NAME = re.compile(
    r"\[bot\]|(?:^|[\s_-])(?:ro)?bots?(?:$|[\s_-])|\bauto-?fix\b|\bpowered by ai\b|releas(?:er|e-please)$"
    r"|^(?:dependabot|renovate"
    r"|greenkeeper|snyk|github[- ]actions|pre-commit(?:-ci\S*)?|mergify|semantic-release|release-drafter"
    r"|(?:hosted )?weblate"
    r"|crowdin|transifex|all-?contributors|imgbot|codecov|copybara|gitlab-ci|travis(?: ci)?|circleci|jenkins|bors|homu"
    r"|web-flow|pyup|scala steward|claude(?: code| opus.*| sonnet.*| haiku.*)|(?:github )?copilot|cursor ?agent"
    r"|(?:openai )?codex"
    r"|aider(?: \(.*\))?|devin ai|gemini code assist|gpt-\S+)$",
    re.I,
)
"""Not Claude or Jules alone: those may be people; their addresses identify the programs."""
_BOT_EMAIL = re.compile(
    r"\[bot\]@|^(?:bots?|noreply|no-reply|ci|build|actions?|support)@(?:anthropic|openai|cursor|devin|github"
    r"|renovateapp|dependabot"
    r"|mend|pre-commit|gitlab)\b|@(?:users\.noreply\.)?bots?\.|^cursoragent@|-bot@",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Entry:
    commit: Commit
    message: Message
    paths: tuple[str, ...]

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
                yield self._entry(commit, touched(self._repository, commit) if number < MOST_DIFFED else ())

    def _entry(self, commit: CommitObject, paths: tuple[str, ...]) -> Entry:
        message = decoded(commit.raw_message[:_MOST_BYTES], commit.message_encoding).strip("\n")
        # A footer may follow the subject without a blank line.
        head, _, body = _FOOTER.sub(r"\n\n\1", message, count=1).partition("\n\n")
        subject, body = " ".join(head.split())[:LONGEST_SUBJECT], body.strip("\n")[:LONGEST_BODY]
        author = self.person(*self._names.of(commit.author))
        others = dict.fromkeys(self.person(*self._names.resolve(*pair)) for pair in co_authors(body)[:MOST_CO_AUTHORS])
        others.pop(author, None)
        at = moment(commit.commit_time, commit.commit_time_offset)
        parents = tuple(str(parent) for parent in commit.parent_ids)
        fact = Commit(str(commit.id), parents, author, tuple(others), at, subject, body)
        return Entry(fact, read_message(subject, body), paths)

    def person(self, name: str, email: str) -> Person:
        key = (name[:LONGEST_NAME], email[:LONGEST_NAME])
        if key not in self._people:
            self._people[key] = Person(*key, is_bot(*key))
        return self._people[key]


def is_bot(name: str, email: str) -> bool:
    return bool(_BOT_NAME.search(name.strip()) or _BOT_EMAIL.search(email.strip()))


@dataclass(slots=True, eq=False)
class _Someone:
    person: Person
    commits: int = 0
    keys: set[str] = field(default_factory=set)


def contributors(
    entries: Sequence[Entry], repository: Repository, names: Names, older: Oid
) -> tuple[tuple[Contributor, ...], tuple[Contributor, ...], str | None]:
    """Return people and bots, most commits first, and a remark if newcomers could not be determined.

    A person is identified by address or name. Merges count for nobody.
    """
    found = sorted(_counted(entries), key=lambda one: (-one.commits, one.person.name.lower(), one.person.email))
    people = [one for one in found if not one.person.is_bot]
    known: set[str] = set()
    remark = "Who contributed for the first time is not known: the clone is shallow." if repository.is_shallow else None
    waiting = [] if remark else people
    for number, pair in enumerate(_earlier(repository, names, older)):
        if not waiting or number >= MOST_OLDER:
            remark = (
                f"Who contributed for the first time is not known: only {MOST_OLDER:,} earlier commits were read."
                if waiting
                else remark
            )
            break
        keys = set(_keys(*pair))
        if not keys <= known:
            known |= keys
            waiting = [one for one in waiting if not one.keys & keys]
    new = set() if remark else set(waiting)
    bots = tuple(Contributor(one.person, one.commits, is_new=False) for one in found if one.person.is_bot)
    return tuple(Contributor(one.person, one.commits, one in new) for one in people), bots, remark


def _counted(entries: Iterable[Entry]) -> set[_Someone]:
    by_key: dict[str, _Someone] = {}
    for entry in entries:
        authors = () if len(entry.commit.parents) > 1 else (entry.commit.author,)
        counted: set[_Someone] = set()
        for person in dict.fromkeys((*authors, *entry.commit.co_authors)):
            keys = _keys(person.name, person.email)
            someone = next((by_key[key] for key in keys if key in by_key), _Someone(person))
            someone.keys.update(keys)
            by_key.update(dict.fromkeys(keys, someone))
            someone.commits += someone not in counted
            counted.add(someone)
    return set(by_key.values())


def _keys(name: str, email: str) -> tuple[str, str]:
    user, _, host = email.lower().partition("@")
    return f"{user.rpartition('+')[2]}@{host}" if host == "users.noreply.github.com" else email.lower(), name.casefold()


def _earlier(repository: Repository, names: Names, older: Oid) -> Iterator[tuple[str, str]]:
    for commit in older_commits(repository, older):
        yield names.of(commit.author)
        raw = commit.raw_message
        if b"o-authored-by" in raw or b"o-Authored-By" in raw:
            yield from (names.resolve(*pair) for pair in co_authors(decoded(raw)))
