"""Contributors: people, bots and newcomers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.trailers import co_authors
from cli.release_notes.facts import Contributor, Person
from cli.release_notes.git.history import older_commits
from cli.release_notes.git.objects import CommitObject, Oid, Repository
from cli.release_notes.git.people import Names
from cli.release_notes.git.text import decoded

MOST_OLDER = 100_000
"""Earlier commits in which a person is looked up."""


@dataclass(slots=True)
class _Someone:
    person: Person
    commits: int = 0
    emails: set[str] = field(default_factory=set)


def contributors(
    entries: Sequence[Entry], repository: Repository, names: Names, older: Oid
) -> tuple[tuple[Contributor, ...], tuple[Contributor, ...], str | None]:
    """Return people and bots, most commits first, and a remark if newcomers could not be determined.

    A person is identified by address or name. Merges count for nobody.
    """
    found = _counted(entries)
    people = [one for one in found if not one.person.is_bot]
    unknown, remark = _unknown_before(people, repository, names, older)
    order = sorted(people, key=lambda one: (-one.commits, one.person.name.lower(), one.person.email))
    bots = sorted((one for one in found if one.person.is_bot), key=lambda one: (-one.commits, one.person.name))
    return (
        tuple(Contributor(one.person, one.commits, id(one) in unknown) for one in order),
        tuple(Contributor(one.person, one.commits, is_new=False) for one in bots),
        remark,
    )


def _counted(entries: Iterable[Entry]) -> list[_Someone]:
    by_email: dict[str, _Someone] = {}
    by_name: dict[str, _Someone] = {}
    for entry in entries:
        merge = len(entry.commit.parents) > 1
        counted: set[int] = set()
        for person in {entry.commit.author: None, **dict.fromkeys(entry.commit.co_authors)}:
            if merge and person == entry.commit.author:
                continue
            email, name = _email(person.email), person.name.casefold()
            someone = by_email.get(email) or by_name.get(name) or _Someone(person)
            by_email[email] = by_name[name] = someone
            someone.emails.add(email)
            if id(someone) not in counted:
                counted.add(id(someone))
                someone.commits += 1
    return list({id(someone): someone for someone in (*by_email.values(), *by_name.values())}.values())


def _email(email: str) -> str:
    lowered = email.lower()
    name, _, host = lowered.partition("@")
    return f"{name.rpartition('+')[2]}@{host}" if host == "users.noreply.github.com" else lowered


def _unknown_before(
    people: Sequence[_Someone], repository: Repository, names: Names, older: Oid
) -> tuple[set[int], str | None]:
    if repository.is_shallow:
        return set(), "Who contributed for the first time is not known: the clone is shallow."
    wanted: dict[str, _Someone] = {}
    for someone in people:
        wanted[someone.person.name.casefold()] = someone
        wanted.update(dict.fromkeys(someone.emails, someone))
    waiting = {id(someone) for someone in people}
    for number, commit in enumerate(older_commits(repository, older)):
        if not waiting:
            break
        if number >= MOST_OLDER:
            return (
                set(),
                f"Who contributed for the first time is not known: only {MOST_OLDER:,} earlier commits were read.",
            )
        for name, email in _authors(commit, names):
            for key in (name.casefold(), _email(email)):
                if key in wanted:
                    waiting.discard(id(wanted[key]))
    return waiting, None


def _authors(commit: CommitObject, names: Names) -> Iterable[tuple[str, str]]:
    yield names.of(commit.author)
    raw = commit.raw_message
    if b"o-authored-by" in raw or b"o-Authored-By" in raw:
        for pair in co_authors(decoded(raw)):
            yield names.resolve(*pair)
