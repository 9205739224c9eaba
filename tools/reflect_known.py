"""How what was found in notes stands to what is known already, as far as the caller may read it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from auth.policy import reaches_readers_of, visible_beside
from auth.principal import Principal
from stores.ledger import SUPERSEDES, RelationQuery
from stores.records import Entity, IndexFilter, matches
from tools.app import App
from tools.entity_types import EntityType
from tools.reflection import CERTAIN, Finding, Kind, contradicts, duplicates_of
from tools.retrieval.plan import Plan

NEAR = 8
"""Records that each finding is compared with at most."""
LEAST_SHARED = 0.15
"""The share of a finding's words, weighed by how rare they are, that a record must hold to be compared with it."""
DEPTH = 40
"""Candidates of each lane among which these are found."""
QUERY_LIMIT = 400
"""Characters of a finding that are looked for."""
DISTILLED: tuple[EntityType, ...] = (
    "decision", "rule", "claim", "plan", "idea", "procedure", "pattern", "guide", "artifact", "error_pattern",
    "preference", "topic", "domain", "template", "tool",
)  # fmt: skip
"""Types whose records state things, each sentence for itself."""
TOLD: tuple[EntityType, ...] = ("episode", "session", "note", "event")
"""Types of accounts: one that is much longer than a finding may be where it comes from, and is nothing stated."""
WORK: tuple[EntityType, ...] = ("task", "epic")
STATING: frozenset[Kind] = frozenset({"decision", "claim", "plan", "procedure"})
"""Kinds that can contradict something."""
DONE = ("done", "archived", "completed")
CONTRADICTION_CONFIDENCE = 0.8
STALE_CONFIDENCE = 0.7
_REPLACING = (
    "instead of", "no longer", "not any more", "not anymore", "switched", "moved to", "moved from", "migrated",
    "replaced", "replaces", "changed to", "changed from", "dropped", "upgraded", "from now on", "as of today",
)  # fmt: skip
"""Words by which notes say that something takes another's place."""

Relationship = Literal["duplicate", "stale", "contradiction", "supersession"]


@dataclass(frozen=True, slots=True)
class Known:
    """A record that a finding repeats or speaks against."""

    entity: Entity
    kind: Relationship
    reason: str
    confidence: float
    is_for_all: bool = False
    """Whether everybody may read this record who may read what would be kept."""
    beside: Entity | None = None
    """The record that is in force, where this one was retired."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known for each finding, in their order."""

    known: Sequence[Sequence[Known]]
    fault: str | None
    """A word for why words could not be looked up; meaning alone finds too little of what says the same."""


def compare(
    app: App, caller: Principal, findings: Sequence[Finding], visibility: str, project: str | None
) -> Comparison:
    """Hold findings against the nearest records that the caller may read.

    `visibility` is the key that they would be kept under. With a `project` records of other projects are left out: what
    holds there says nothing here.
    """
    from tools.retrieval.pipeline import retrieve  # noqa: PLC0415 - numpy is loaded with the first search

    now, fault, near = app.clock(), None, list[list[str]]()
    plans = [_plan(caller, finding, project, now) for finding in findings]
    for plan in plans:
        ranking = retrieve(app, plan)
        fault = ranking.degraded.get("lexical", fault)
        near.append([each.id for each in ranking.best if each.lexical is None or each.coverage >= LEAST_SHARED])
    read = app.ledger.entities(caller.organization_id, {record_id for ids in near for record_id in ids})
    known = []
    for finding, plan, ids in zip(findings, plans, near, strict=True):
        there = [read[each] for each in ids if each in read and matches(read[each], plan.filter)]
        records = [each for each in there if project is None or each.project_id in (None, project)]
        known.append(_known(app, caller, finding, records, visibility))
    return Comparison(known, fault)


def _plan(caller: Principal, finding: Finding, project: str | None, now: datetime) -> Plan:
    types = WORK if finding.kind == "task" else (*DISTILLED, *TOLD)
    return Plan(
        organization_id=caller.organization_id,
        query=finding.content[:QUERY_LIMIT],
        filter=IndexFilter(visible_beside(caller, project), {"entity_type": frozenset(types)}),
        now=now,
        wanted=NEAR,
        expand=False,
        boost_recent=False,
        words_alone=True,
        depth=DEPTH,
    )


def _known(app: App, caller: Principal, finding: Finding, records: Sequence[Entity], visibility: str) -> list[Known]:
    texts = [_text(record, finding) for record in records]
    reasons = [contradicts(finding.content, text) if finding.kind in STATING else None for text in texts]
    # What differs in the one word that counts is as similar as a duplicate.
    found = [
        _repeated(records[each.index], each.similarity)
        for each in duplicates_of(finding.content, texts)
        if reasons[each.index] is None
    ]
    found += [
        _opposed(app, caller, finding, record, reason)
        for record, reason in zip(records, reasons, strict=True)
        if reason is not None
    ]
    return [replace(each, is_for_all=_is_for_all(caller, each, visibility)) for each in found]


def _is_for_all(caller: Principal, known: Known, visibility: str) -> bool:
    records = [known.entity, *([known.beside] if known.beside else [])]
    return all(reaches_readers_of(caller, record.visibility, visibility) for record in records)


def _text(record: Entity, finding: Finding) -> str:
    """What a record states; nothing where it is an account that is much longer than the finding."""
    content = record.content or record.description
    if record.entity_type in TOLD and len(content) > 2 * len(finding.content) + 200:
        return record.name
    return f"{record.name}\n{content}" if record.name not in content else content


def _repeated(record: Entity, similarity: float) -> Known:
    status = record.metadata.get("status")
    if record.entity_type in WORK and status in DONE:
        reason = f"{record.id} says the same and is {status}: {record.name}"
        return Known(record, "stale", reason, similarity)
    how = "the same" if similarity >= CERTAIN else "nearly the same"
    return Known(record, "duplicate", f"{record.id} says {how}: {record.name}", similarity)


def _opposed(app: App, caller: Principal, finding: Finding, record: Entity, reason: str) -> Known:
    retired = _retired_by(app, caller, record, finding)
    if retired is not None:
        why = f"{record.id} took the place of {retired.id}, which says the same as the notes. {reason}"
        return Known(retired, "stale", why, STALE_CONFIDENCE, beside=record)
    lower = finding.content.lower()
    kind: Relationship = "supersession" if any(words in lower for words in _REPLACING) else "contradiction"
    return Known(record, kind, reason, CONTRADICTION_CONFIDENCE)


def _retired_by(app: App, caller: Principal, record: Entity, finding: Finding) -> Entity | None:
    """The record that says what the notes say and was superseded by one that says otherwise."""
    query = RelationQuery(record.id, caller.visible, name=SUPERSEDES, ways="outgoing", limit=20)
    relations, _ = app.ledger.list_relations(caller.organization_id, query)
    ids = [each.relation.target_id for each in relations]
    read = app.ledger.entities(caller.organization_id, ids)
    retired = [read[each] for each in ids if each in read and read[each].visibility in caller.visible]
    same = duplicates_of(finding.content, [_text(each, finding) for each in retired])
    return retired[same[0].index] if same else None
