"""Deterministic critic: statements must cite commits of the range that hold their names and numbers."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from cli.release_notes.document.model import Block, Document, Statement, Table
from cli.release_notes.facts import Change, Commit, ReleaseFacts
from tools.text.claims import names_missing, numbers_missing
from tools.text.plain import one_line, plain

_WORD = re.compile(r"[a-z]{4,}")
_STEM = 4
_ENGLISH = frozenset({"the", "and", "with", "from", "when", "this", "that", "can", "are", "now", "you", "your", "its"})
"""Words that identify English text: only that can be compared with messages."""
_SAYS_NOTHING = """
about added adds after also allow allows always been before being best better both change changed changes could does
each every everything fixed fixes from have improve improved improves into it's just like made make makes more most much
need needs never nothing only other over release same should some such support supports than that their them then there
these they thing things this those update updated updates used user users uses using version very want well were what
when where which while will with without work works would your
"""
_NO_SUBJECT = frozenset(word[:_STEM] for word in _SAYS_NOTHING.split())


@dataclass(frozen=True, slots=True)
class Claim:
    id: str
    text: str
    commits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    id: str
    text: str
    problem: str
    outcome: Literal["removed", "repaired", "replaced"]


class Evidence:
    def __init__(self, facts: ReleaseFacts) -> None:
        self._facts = facts
        self._read_off: defaultdict[str, list[str]] = defaultdict(list)
        for change in (*facts.changes, *facts.known_issues):
            for sha in change.commits:
                self._read_off[sha].append(_words_of(change))
        for surface in facts.surface:
            for sha in surface.commits:
                self._read_off[sha].append(f"{surface.name} {surface.before or ''} {surface.path}")
        for dependency in facts.dependencies:
            for sha in dependency.commits:
                self._read_off[sha].append(f"{dependency.name} {dependency.before or ''} {dependency.after or ''}")
        self._everywhere = f"{facts.project_name or ''} {facts.version} {facts.from_ref} {facts.to_ref}"

    def known(self, commits: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(sha for sha in commits if sha in self._facts.commits))

    def of(self, commits: Iterable[str]) -> str:
        return plain("\n".join((self._everywhere, *self._said(commits))))

    def _said(self, commits: Iterable[str]) -> Iterator[str]:
        for sha in self.known(commits):
            yield _message(self._facts.commits[sha])
            yield from self._read_off[sha]

    def messages(self, commits: Iterable[str]) -> list[str]:
        return [plain(_message(self._facts.commits[sha])) for sha in self.known(commits)]

    def subject(self, sha: str) -> str:
        return one_line(self._facts.commits[sha].subject) or "A change without a message"

    def problem(self, claim: Claim) -> str | None:
        known = self.known(claim.commits)
        if not known:
            return "it cites no commit of the range"
        text = self.of(known)
        if missing := [*numbers_missing(claim.text, text, (len(known),)), *names_missing(claim.text, text)]:
            return f"its commits do not say {', '.join(missing[:3])}"
        if _is_beside(claim, plain("\n".join(self._said(known)))):
            return "its commits speak of something else"
        return None


def checked(claims: Sequence[Claim], evidence: Evidence) -> tuple[list[Claim], list[Finding]]:
    held: list[Claim] = []
    findings: list[Finding] = []
    for claim in claims:
        problem = evidence.problem(claim)
        if problem is None:
            held.append(replace(claim, commits=evidence.known(claim.commits)))
        else:
            findings.append(Finding(claim.id, claim.text, problem, outcome_of(claim)))
    return held, findings


def outcome_of(claim: Claim) -> Literal["removed", "replaced"]:
    return "removed" if claim.id.startswith("o") or re.search(r"\.(?:more|step)", claim.id) else "replaced"


def verified(document: Document, evidence: Evidence) -> tuple[Document, list[Finding]]:
    """Return a document whose every statement is supported by commits, and the findings.

    Removes statements and citations without support; replaces an unsupported text by the first commit's subject. The
    diff supports its own facts.
    """
    findings: list[Finding] = []
    sections = tuple(
        replace(section, blocks=tuple(_borne_out(section.blocks, evidence, findings))) for section in document.sections
    )
    return replace(document, sections=sections), findings


def _borne_out(blocks: Iterable[Block], evidence: Evidence, findings: list[Finding]) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, Statement):
            yield _table(block, evidence) if isinstance(block, Table) else block
            continue
        known = evidence.known(block.commits)
        if not known:
            findings.append(Finding(block.id, block.text, "it cites no commit of the range", "removed"))
            continue
        if known != block.commits:
            findings.append(Finding(block.id, block.text, "it cites commits outside of the range", "repaired"))
        kept = replace(block, commits=known)
        said = () if block.is_counted else (block.text, block.details)
        problem = next(filter(None, (evidence.problem(Claim(block.id, each, known)) for each in said if each)), None)
        if problem is not None:
            findings.append(Finding(block.id, block.text, problem, "replaced"))
            kept = replace(kept, text=evidence.subject(known[0]), details="")
        yield kept


def _table(table: Table, evidence: Evidence) -> Table:
    if not table.commits:
        return table
    cited = [(row, evidence.known(commits)) for row, commits in zip(table.rows, table.commits, strict=True)]
    kept = [(row, commits) for row, commits in cited if commits]
    return replace(table, rows=tuple(row for row, _ in kept), commits=tuple(commits for _, commits in kept))


def _words_of(change: Change) -> str:
    parts = (
        change.text, change.details, change.breaking_note, change.migration, change.pull_request, change.scope,
        *change.issues, *change.areas,
    )  # fmt: skip
    return " ".join(filter(None, parts))


def _message(commit: Commit) -> str:
    trailers = "\n".join(f"{name}: {value}" for name, value in commit.trailers)
    return "\n\n".join(part for part in (commit.subject, commit.body, trailers) if part)


def _is_beside(claim: Claim, evidence: str) -> bool:
    words = claim.text.casefold()
    is_step = ".step" in claim.id
    stems = {word[:_STEM] for word in _WORD.findall(words)} - _NO_SUBJECT
    if len(stems) < (1 if is_step else 2) or not (is_step or _ENGLISH & set(words.split())):
        return False
    return stems.isdisjoint(word[:_STEM] for word in _WORD.findall(evidence.casefold()))
