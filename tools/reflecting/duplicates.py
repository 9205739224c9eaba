"""Duplicates and contradictions of a statement among readable records."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

from auth.policy import reaches_readers_of, visible_beside
from auth.principal import Principal
from stores.ledger import SUPERSEDES, RelationQuery, Transaction
from stores.records import Entity, IndexFilter, matches
from tools.app import App
from tools.records.entity_types import EntityType
from tools.reflecting.reflection.finding import KINDS, Kind
from tools.reflecting.reflection.similarity import CERTAIN, Duplicate, contradicts, duplicates_of
from tools.reflecting.reflection.words import as_said, stated
from tools.retrieval.pipeline import retrieve
from tools.retrieval.plan import Plan

COMPARED_RECORDS = 10
INDEXED_WITHIN_S = 1.0
LEAST_WORD_SHARE = 0.15
DEPTH = 40
QUERY_LIMIT = 400
LATEST = 200
DISTILLED: tuple[EntityType, ...] = (
    "decision", "rule", "claim", "plan", "idea", "procedure", "pattern", "guide", "artifact", "error_pattern",
    "preference", "topic", "domain", "template", "tool",
)  # fmt: skip
TOLD: tuple[EntityType, ...] = ("episode", "session", "note", "event")
"""Narrative types: a long one is a source, not a duplicate."""
WORK: tuple[EntityType, ...] = ("task", "epic")
STATING = frozenset({"decision", "claim", "plan", "procedure", "rule", "pattern"})
DONE = ("done", "archived", "completed")
CONTRADICTION_CONFIDENCE = 0.8
STALE_CONFIDENCE = 0.7
_REPLACING = (
    "instead of", "no longer", "not any more", "not anymore", "switched", "moved to", "moved from", "migrated",
    "replaced", "replaces", "changed to", "changed from", "dropped", "upgraded", "from now on", "as of today",
)  # fmt: skip

_KIND_OF: Mapping[str, Kind] = {**{kind: kind for kind in KINDS}, "epic": "task"}

Relationship = Literal["duplicate", "stale", "contradiction", "supersession"]
OPPOSING: tuple[Relationship, ...] = ("contradiction", "supersession")


class Statement(NamedTuple):
    content: str
    kind: str
    project: str | None = None
    raw_source_ids: Sequence[str] = ()

    @property
    def types(self) -> frozenset[str]:
        return frozenset(WORK if self.kind == "task" else (*DISTILLED, *TOLD))


@dataclass(frozen=True, slots=True)
class RelatedRecord:
    entity: Entity
    kind: Relationship
    reason: str
    confidence: float
    is_for_all: bool = False
    """Every reader of the new record may read this one."""
    beside: Entity | None = None

    @property
    def records(self) -> list[Entity]:
        return [self.entity, *([self.beside] if self.beside else [])]

    @property
    def is_certain(self) -> bool:
        return self.confidence >= CERTAIN

    @property
    def is_settled(self) -> bool:
        """True if the new record is not to be kept: all its readers know the same."""
        return self.kind == "duplicate" and self.is_for_all and self.is_certain

    def among(self, caller: Principal, visibility: str) -> Self:
        """Set `is_for_all` for the readers of a new record."""
        readers = [reaches_readers_of(caller, each.visibility, visibility) for each in self.records]
        return replace(self, is_for_all=all(readers))


@dataclass(frozen=True, slots=True)
class Comparison:
    statement: Statement
    known: Sequence[RelatedRecord] = ()
    fault: str | None = None
    """Reason why the lexical index failed."""
    sequence: int = 0
    """Place in the feed up to which records were compared."""


def compare(app: App, caller: Principal, statements: Sequence[Statement], visibility: str) -> list[Comparison]:
    """Compare statements with the nearest readable records. Blocks.

    `visibility` is the key of the new records.
    """
    organization, now = caller.organization_id, app.clock()
    sequence = app.ledger.feed.head(organization).sequence
    if "lexical" in app.indexer.wait_applied(organization, sequence, (), INDEXED_WITHIN_S):
        sequence = 0
    found = []
    for statement in statements:
        plan = Plan(
            organization_id=organization,
            query=stated(statement.content).text[:QUERY_LIMIT],
            filter=IndexFilter(visible_beside(caller, statement.project), {"entity_type": statement.types}),
            now=now,
            wanted=COMPARED_RECORDS,
            asks=False,
            expand=False,
            boost_recent=False,
            words_alone=True,
            depth=DEPTH,
        )
        ranking = retrieve(app, plan)
        ids = [each.id for each in ranking.best if each.lexical is None or each.coverage >= LEAST_WORD_SHARE]
        read = app.ledger.records.entities(organization, ids)
        near = [read[each] for each in ids if each in read]
        records = [each for each in near if matches(each, plan.filter) and _concerns(each, statement)]
        known = [each.among(caller, visibility) for each in _known(app, caller, statement, records)]
        found.append(Comparison(statement, known, ranking.degraded.get("lexical"), sequence))
    return found


def with_latest(tx: Transaction, caller: Principal, compared: Comparison, visibility: str) -> Comparison:
    """Add the duplicates written since a comparison, among the latest 200 records at most."""
    statement, known = compared.statement, {each.entity.id for each in compared.known}
    ids = tx.records.written_since(compared.sequence, types=statement.types, visibility=caller.visible, limit=LATEST)
    there = tx.records.entities(each for each in ids if each not in known)
    readable = [each for each in there.values() if each.visibility in caller.visible]
    records = [each for each in readable if _concerns(each, statement)]
    latest = [each.among(caller, visibility) for each in _repeated(statement, records)]
    return replace(compared, known=[*compared.known, *latest])


def _concerns(record: Entity, statement: Statement) -> bool:
    if statement.project is not None and record.project_id not in (None, statement.project):
        return False
    return record.entity_type not in TOLD or record.metadata.get("raw_memory_id") not in statement.raw_source_ids


def _known(app: App, caller: Principal, statement: Statement, records: Sequence[Entity]) -> Iterator[RelatedRecord]:
    content, is_stating = statement.content, statement.kind in STATING
    reasons = {each.id: contradicts(content, _text(each, statement)) for each in records if is_stating}
    # A contradiction may differ from a duplicate in one word.
    yield from _repeated(statement, [each for each in records if reasons.get(each.id) is None])
    for record in records:
        if (reason := reasons.get(record.id)) is not None:
            yield _opposed(app, caller, statement, record, reason)


def _text(record: Entity, statement: Statement) -> str:
    content = record.content or record.description
    if record.entity_type in TOLD and len(content) > 2 * len(statement.content) + 200:
        return record.name
    said = as_said(record.name, content)
    return said if record.name.lower() in said.lower() else f"{record.name}\n\n{said}"


def _same(statement: Statement, records: Sequence[Entity]) -> list[Duplicate]:
    texts, kinds = [_text(each, statement) for each in records], [_KIND_OF.get(each.entity_type) for each in records]
    return duplicates_of(statement.content, texts, kind=_KIND_OF.get(statement.kind), kinds=kinds)


def _repeated(statement: Statement, records: Sequence[Entity]) -> Iterator[RelatedRecord]:
    for each in _same(statement, records):
        record, similarity = records[each.index], each.similarity
        status = record.metadata.get("status")
        if record.entity_type in WORK and status in DONE:
            reason = f"{record.id} says the same and is {status}: {record.name}"
            yield RelatedRecord(record, "stale", reason, similarity)
        else:
            how = "the same" if similarity >= CERTAIN else "nearly the same"
            yield RelatedRecord(record, "duplicate", f"{record.id} says {how}: {record.name}", similarity)


def _opposed(app: App, caller: Principal, statement: Statement, record: Entity, reason: str) -> RelatedRecord:
    retired = _retired_by(app, caller, record, statement)
    if retired is not None:
        why = f"{record.id} took the place of {retired.id}, which says the same. {reason}"
        return RelatedRecord(retired, "stale", why, STALE_CONFIDENCE, beside=record)
    lower = statement.content.lower()
    kind: Relationship = "supersession" if any(words in lower for words in _REPLACING) else "contradiction"
    return RelatedRecord(record, kind, reason, CONTRADICTION_CONFIDENCE)


def _retired_by(app: App, caller: Principal, record: Entity, statement: Statement) -> Entity | None:
    query = RelationQuery(record.id, caller.visible, name=SUPERSEDES, ways="outgoing", limit=20)
    relations, _ = app.ledger.relations.list_relations(caller.organization_id, query)
    ids = [each.relation.target_id for each in relations]
    read = app.ledger.records.entities(caller.organization_id, ids)
    retired = [read[each] for each in ids if each in read and read[each].visibility in caller.visible]
    same = _same(statement, retired)
    return retired[same[0].index] if same else None
