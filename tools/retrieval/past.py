"""Records of the past for `as_of`, from the ledger."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from stores.ledger import HistoryQuery
from stores.lexical import LexicalHits, LexicalIndex, LexicalResult
from stores.records import Entity, IndexFilter, matches, searchable_text
from stores.vectors import DenseHits, Vector, VectorIndex
from tools.app import App
from tools.retrieval.links import SeedLink
from tools.retrieval.plan import LANE_DEPTH, NEIGHBOURS_EACH, Plan

MOST_REPLACED = 5_000
"""Latest first."""


@dataclass(frozen=True, slots=True)
class Past:
    """Records that existed then and have changed since."""

    replaced: frozenset[str]
    entities: Mapping[str, Entity]
    same_words: frozenset[str]
    """Indexed text unchanged since."""
    is_whole: bool

    @property
    def other_words(self) -> list[Entity]:
        return [entity for record_id, entity in self.entities.items() if record_id not in self.same_words]

    def now(self, accepted: IndexFilter) -> IndexFilter:
        return IndexFilter(accepted.visibility, ids=self.same_words)


def read_past(app: App, plan: Plan) -> Past | None:
    if plan.as_of is None:
        return None
    visible = plan.filter.visibility
    read = app.ledger.records.replaced_since(
        plan.organization_id, plan.as_of, visibility=visible, limit=MOST_REPLACED + 1
    )
    then = {entity.id: entity for entity in read[:MOST_REPLACED] if matches(entity, plan.filter)}
    today = app.ledger.records.entities(plan.organization_id, then)
    same = {each for each, entity in today.items() if searchable_text(entity) == searchable_text(then[each])}
    replaced = frozenset(entity.id for entity in read)
    return Past(replaced, then, frozenset(same), len(read) <= MOST_REPLACED)


def linked_then(app: App, plan: Plan, seeds: Iterable[str]) -> list[SeedLink]:
    found: list[SeedLink] = []
    for seed in seeds:
        query = HistoryQuery("history", plan.filter.visibility, NEIGHBOURS_EACH + 1, entity_id=seed, as_of=plan.as_of)
        facts = (each.then for each in app.ledger.relations.relation_history(plan.organization_id, query))
        found += [
            SeedLink(seed, each.target_id if each.source_id == seed else each.source_id, each.name) for each in facts
        ]
    return found


def words_then(index: LexicalIndex, plan: Plan, past: Past) -> LexicalResult:
    query, uses_names = plan.query, plan.uses_names
    found = index.search(query, filter=plan.prefilter, limit=LANE_DEPTH, heed_names=uses_names)
    parts = [_without(found, past)]
    if past.same_words:
        now = past.now(plan.filter)
        parts.append(index.search(query, filter=now, limit=LANE_DEPTH, heed_names=uses_names))
    if other := past.other_words:
        seen = plan.filter.visibility
        parts.append(index.weigh(query, other, visibility=seen, limit=LANE_DEPTH, heed_names=uses_names))
    named = frozenset[str]().union(*(part.named for part in parts))
    hits = sorted(
        (hit for part in parts for hit in part.hits),
        key=lambda hit: (hit.record_id not in named, -hit.score, hit.record_id),
    )
    ceiling = max(part.ceiling for part in parts)
    return replace(parts[0], hits=LexicalHits.of(hits[:LANE_DEPTH]), ceiling=ceiling, named=named)


def meaning_then(index: VectorIndex, vector: Vector, plan: Plan, past: Past) -> DenseHits:
    hits = index.search(vector, filter=plan.prefilter, limit=LANE_DEPTH)
    # A lagging index may still hold the past text, but not for long.
    found = [hit for hit in hits if hit.record_id not in past.replaced]
    if past.same_words:
        found += index.search(vector, filter=past.now(plan.filter), limit=LANE_DEPTH)
    return DenseHits.of(sorted(found, key=lambda hit: (-hit.score, hit.record_id))[:LANE_DEPTH])


def _without(result: LexicalResult, past: Past) -> LexicalResult:
    kept = LexicalHits.of(hit for hit in result.hits if hit.record_id not in past.replaced)
    return replace(result, hits=kept, named=result.named - past.replaced)
