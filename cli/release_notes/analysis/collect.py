"""Group the commits of a range into changes: by pull request, dependency update or copy."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cli.release_notes.analysis.bumps import bumps_of, folded, is_for_development, summary
from cli.release_notes.analysis.drafts import Draft, draft
from cli.release_notes.analysis.entries import Entry
from cli.release_notes.analysis.merges import Merge, brought_in, read_merge
from cli.release_notes.analysis.message import Message, read_message
from cli.release_notes.analysis.reverts import Reverts, find_reverts
from cli.release_notes.analysis.wording import kind_of, known_issue
from cli.release_notes.facts import ChangeKind

_MOST_SCOPES = 20


@dataclass(frozen=True, slots=True)
class Collected:
    drafts: list[Draft]
    reverted: list[Draft]


def collect(entries: Sequence[Entry], head: str) -> Collected:
    """Draft the changes of a range; entries and drafts are newest first."""
    by_sha = {entry.sha: entry for entry in entries}
    merged = brought_in(entries, head)
    reverts = find_reverts(entries, merged)
    alive = [entry for entry in entries if entry.sha not in reverts.cancelled]
    pulls, spoken_for = _pulls(alive, merged, by_sha, reverts)
    numbers = _numbers(alive, merged)
    bumps: list[Entry] = []
    drafts: list[Draft] = []
    for entry in alive:
        if entry.sha in pulls:
            drafts.append(pulls[entry.sha])
        elif len(entry.commit.parents) > 1 or entry.sha in spoken_for or known_issue(entry.message.text):
            continue
        elif bumps_of(entry) is not None and not entry.message.marked and entry.message.kind != "security":
            bumps.append(entry)
        else:
            drafts.append(_single(entry, numbers.get(entry.sha), outside=entry.sha in reverts.outside))
    reverted = [draft(by_sha[sha].message, [by_sha[sha], *(by_sha[by] for by in undoing)])
                for sha, undoing in reverts.pairs.items()]  # fmt: skip
    return Collected([*_joined(drafts), *_updates(bumps)], reverted)


def _single(entry: Entry, pull: str | None, *, outside: bool) -> Draft:
    message = entry.message
    if pull and message.pull_request is None:
        message = replace(message, pull_request=pull)
    if outside:
        target = entry.commit.subject.split(":", 1)[-1] if ":" in entry.commit.subject[:12] else entry.commit.subject
        bare = target.strip().removeprefix("Revert").removeprefix("revert").strip(" \"“”'")
        inner = read_message(bare, "")
        kind: ChangeKind = "removal" if inner.kind in ("feature", "improvement") else "fix"
        message = replace(message, text=f"Reverted: {inner.text}", kind=kind, scope=inner.scope, conventional=True)
    return draft(message, [entry])


def _pulls(
    alive: Sequence[Entry], merged: Mapping[str, Sequence[str]], by_sha: Mapping[str, Entry], reverts: Reverts
) -> tuple[dict[str, Draft], set[str]]:
    pulls: dict[str, Draft] = {}
    spoken_for: set[str] = set()
    for entry in reversed(alive):
        if len(entry.commit.parents) < 2:
            continue
        merge = read_merge(entry.commit.subject, entry.commit.body)
        inside = [by_sha[sha] for sha in merged.get(entry.sha, ()) if sha not in reverts.cancelled]
        if merge is None or not inside:
            continue
        message = _message(merge, entry)
        if not message.conventional and any(_speaks(other) for other in inside):
            continue
        if any(other.sha in pulls for other in inside):
            # A branch of branches: the pull requests within it are the changes.
            continue
        pulls[entry.sha] = draft(message, [entry, *inside])
        spoken_for.update(other.sha for other in inside)
    return pulls, spoken_for


def _speaks(entry: Entry) -> bool:
    return entry.message.conventional and len(entry.commit.parents) < 2


def _message(merge: Merge, entry: Entry) -> Message:
    message = read_message(merge.title, merge.body, entry.commit.trailers)
    return replace(message, pull_request=merge.pull_request or message.pull_request)


def _numbers(alive: Sequence[Entry], merged: Mapping[str, Sequence[str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in alive:
        inside = merged.get(entry.sha)
        merge = read_merge(entry.commit.subject, entry.commit.body) if inside else None
        if inside and merge and merge.pull_request:
            found.update(dict.fromkeys(inside, merge.pull_request))
    return found


def _joined(drafts: Iterable[Draft]) -> list[Draft]:
    places: dict[str, list[int]] = {}
    result: list[Draft] = []
    for made in drafts:
        candidates = places.setdefault(_title(made.message), [])
        place = next((place for place in candidates[:_MOST_SCOPES] if _same(result[place], made)), None)
        if place is None:
            candidates.append(len(result))
            result.append(made)
        else:
            result[place] = _both(result[place], made)
    return result


def _title(message: Message) -> str:
    return re.sub(r"[\W_]+", " ", message.text).strip().casefold() or message.text


def _same(one: Draft, other: Draft) -> bool:
    scopes = {(made.message.scope or "").casefold() for made in (one, other)} - {""}
    return len(scopes) < 2


def _both(newer: Draft, older: Draft) -> Draft:
    best, rest = newer.message, older.message
    if (rest.conventional, rest.kind != "other") > (best.conventional, best.kind != "other"):
        best, rest = rest, best
    filled = ("scope", "details", "marked", "breaking_note", "migration", "pull_request")
    newer.message = replace(
        best,
        issues=tuple(dict.fromkeys((*best.issues, *rest.issues))),
        **{name: getattr(best, name) or getattr(rest, name) for name in filled},
    )
    newer.kind = newer.kind if best is not older.message else older.kind
    newer.entries += older.entries
    newer.breaking = newer.breaking or older.breaking
    newer.declared = newer.declared or older.declared
    for role, count in older.files.items():
        newer.files[role] = newer.files.get(role, 0) + count
    return newer


def _updates(bumps: Sequence[Entry]) -> list[Draft]:
    made = []
    for development in (False, True):
        group = [entry for entry in bumps if is_for_development(entry) is development]
        if not group:
            continue
        moved = folded(bump for entry in reversed(group) for bump in bumps_of(entry) or ())
        text = summary(moved, len(group), development=development)
        lines = "\n".join(f"- {bump.name}: {bump.old or '?'} → {bump.new or '?'}" for bump in moved)
        message = replace(read_message(text, ""), text=text, details=lines, kind="dependency", conventional=True)
        folding = draft(message, group)
        folding.kind = "internal" if development else "dependency"
        folding.breaking = any(kind_of(entry.message.text) == "removal" and entry.message.marked for entry in group)
        made.append(folding)
    return made
