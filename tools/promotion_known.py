"""How a candidate stands to what is known now, as far as its reviewer may read it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from auth.policy import reaches_readers_of
from auth.principal import Principal
from stores.ledger import SUPERSEDES, RelationQuery
from stores.records import Entity, IndexFilter, matches
from tools.app import App
from tools.candidates import Candidate
from tools.reflection import CERTAIN, contradicts, duplicates_of
from tools.retrieval.plan import Plan
from tools.review import Standing

NEAR = 10
"""Records that a candidate is compared with."""
READ_CHARACTERS = 600
"""Characters of a candidate that are looked for."""
WORK = ("task", "epic")
DONE = ("done", "archived", "completed")
TOLD = ("episode", "session", "note", "event")
"""Types of accounts: one that is much longer than a candidate may be where it comes from, and is nothing stated."""
OTHERS = (
    "decision", "rule", "claim", "plan", "idea", "procedure", "pattern", "guide", "artifact", "error_pattern",
    "preference", "topic", "domain", "template", "tool", *TOLD,
)  # fmt: skip
STATING = ("decision", "claim", "plan", "procedure", "rule", "pattern")
"""Kinds that can contradict something."""


@dataclass(frozen=True, slots=True)
class Known:
    """A record that a candidate repeats or speaks against."""

    entity: Entity
    standing: Standing
    reason: str
    is_for_all: bool
    """Whether everybody may read the record who would read what is made of the candidate."""
    is_certain: bool = True
    """Whether a record that repeats the candidate says nothing else."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is known of a candidate, and whether everything could be looked through."""

    known: Sequence[Known] = ()
    is_whole: bool = True


def compare(app: App, caller: Principal, candidate: Candidate, place: str, beside: Sequence[Entity] = ()) -> Comparison:
    """Hold a candidate against the nearest records that the caller may read, and against those `beside` them. Blocks.

    `place` is the visibility key of what would be made of it. The indexes may not know the records `beside` yet.
    """
    from tools.retrieval.pipeline import retrieve  # noqa: PLC0415 - numpy is loaded with the first search

    types = WORK if candidate.kind == "task" else OTHERS
    plan = Plan(
        organization_id=caller.organization_id,
        query=candidate.content[:READ_CHARACTERS],
        filter=IndexFilter(caller.visible, {"entity_type": frozenset(types)}),
        now=app.clock(),
        wanted=NEAR,
        expand=False,
        boost_recent=False,
    )
    ranking = retrieve(app, plan)
    ids = [hit.id for hit in ranking.best]
    read = app.ledger.entities(caller.organization_id, ids)
    near = [read[each] for each in ids if each in read and matches(read[each], plan.filter)]
    seen = {each.id for each in near}
    near += [each for each in beside if each.id not in seen and matches(each, plan.filter)]
    records = [each for each in near if _is_comparable(each, candidate)]
    return Comparison(_known(app, caller, candidate, records, place), not ranking.degraded)


def _is_comparable(record: Entity, candidate: Candidate) -> bool:
    """Whether a record says something about a candidate: those of other projects do not, nor what holds its notes."""
    if candidate.project is not None and record.project_id not in (None, candidate.project):
        return False
    made_of = record.metadata.get("raw_memory_id")
    return record.entity_type not in TOLD or made_of not in candidate.raw_source_ids


def _known(app: App, caller: Principal, candidate: Candidate, records: Sequence[Entity], place: str) -> list[Known]:
    texts = [_text(record, candidate) for record in records]
    same = {each.index: each.similarity for each in duplicates_of(candidate.content, texts)}
    found = []
    for index, record in enumerate(records):
        # First: two that differ in the one word that matters are alike, too.
        reason = contradicts(candidate.content, texts[index]) if candidate.kind in STATING else None
        if reason is not None:
            found.append(_opposed(app, caller, candidate, record, (reason, place)))
        elif index in same:
            found.append(replace(_repeated(caller, record, place), is_certain=same[index] >= CERTAIN))
    return found


def _text(record: Entity, candidate: Candidate) -> str:
    """What a record states; nothing but its name where it is an account that is much longer than the candidate."""
    content = record.content or record.description
    if record.entity_type in TOLD and len(content) > 2 * len(candidate.content) + 200:
        return record.name
    return f"{record.name}\n{content}" if record.name not in content else content


def _repeated(caller: Principal, record: Entity, place: str) -> Known:
    is_for_all = reaches_readers_of(caller, record.visibility, place)
    if record.entity_type in WORK and record.metadata.get("status") in DONE:
        return Known(record, "stale", f"{record.id} says the same and is done.", is_for_all)
    return Known(record, "duplicate", f"{record.id} says the same.", is_for_all)


def _opposed(app: App, caller: Principal, candidate: Candidate, record: Entity, said: tuple[str, str]) -> Known:
    reason, place = said
    retired = _retired_by(app, caller, candidate, record)
    if retired is None:
        return Known(record, "contradiction", reason, reaches_readers_of(caller, record.visibility, place))
    is_for_all = all(reaches_readers_of(caller, each.visibility, place) for each in (record, retired))
    return Known(retired, "stale", f"{record.id} took the place of {retired.id}, which says the same.", is_for_all)


def _retired_by(app: App, caller: Principal, candidate: Candidate, record: Entity) -> Entity | None:
    """The record that says what a candidate says and was superseded by one that says otherwise."""
    query = RelationQuery(record.id, caller.visible, name=SUPERSEDES, ways="outgoing", limit=20)
    relations, _ = app.ledger.list_relations(caller.organization_id, query)
    ids = [each.relation.target_id for each in relations]
    read = app.ledger.entities(caller.organization_id, ids)
    retired = [read[each] for each in ids if each in read and read[each].visibility in caller.visible]
    same = duplicates_of(candidate.content, [_text(each, candidate) for each in retired])
    return retired[same[0].index] if same else None
