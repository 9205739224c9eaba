"""Reads of the ledger about candidates: permission, supersession, archiving, filters, citations."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from stores.ledger import Ledger, RecordStatus
from stores.records import RAW_MEMORY, matches
from tools.app import App
from tools.retrieval.plan import Plan

CITED_DAYS = 90.0
_DAY_US = 86_400 * 1_000_000


class Checks:
    """Status of the records of one search; each is read once."""

    def __init__(self, app: App, plan: Plan) -> None:
        self._app = app
        self._expected: list[str] = []
        self._plan = plan
        self._asked: set[str] = set()
        self._in_force: set[str] = set()
        self._fits: dict[str, bool] = {}
        self.standings: dict[str, RecordStatus] = {}

    def expect(self, record_ids: Iterable[str]) -> None:
        self._expected = [*record_ids]

    def ask(self, record_ids: Iterable[str]) -> None:
        record_ids, self._expected = [*record_ids, *self._expected], []
        if self._asked.issuperset(record_ids):
            return
        new = [record_id for record_id in dict.fromkeys(record_ids) if record_id not in self._asked]
        plan = self._plan
        visible = plan.filter.visibility
        found = self._app.ledger.records.statuses(plan.organization_id, new, visibility=visible, as_of=plan.as_of)
        gone = outlived(self._app, plan, found) | not_imported(self._app, plan, found)
        self.standings |= found
        in_force = {each.id for each in found.values() if each.visibility in visible and not each.superseded}
        self._in_force |= in_force - gone
        # Last, so that records are read again after an error.
        self._asked.update(new)

    @property
    def replaced(self) -> set[str]:
        visible = self._plan.filter.visibility
        return {each.id for each in self.standings.values() if each.superseded and each.visibility in visible}

    def found(self, record_ids: Iterable[str]) -> set[str]:
        ids = list(record_ids)
        self.ask(ids)
        return self._in_force.intersection(ids)

    def wanted(self, record_ids: Iterable[str]) -> set[str]:
        found = self.found(record_ids)
        if new := found - self._fits.keys():
            unmatched = unwanted(self._app, self._plan, new)
            self._fits |= {each: each not in unmatched for each in new}
        return {each for each in found if self._fits[each]}


def outlived(app: App, plan: Plan, standings: Mapping[str, RecordStatus]) -> set[str]:
    """Return archived memories, and those whose promoted entity is superseded.

    Archiving has no time: past memories count as not archived.
    """
    said = [each.id for each in standings.values() if each.entity_type == RAW_MEMORY]
    outcomes = app.ledger.memories.outcomes(plan.organization_id, said) if said else {}
    if not outcomes:
        return set()
    archived = {each for each, outcome in outcomes.items() if outcome.is_archived and plan.as_of is None}
    made = {each: outcome.entity_id for each, outcome in outcomes.items() if outcome.entity_id is not None}
    sight = plan.sight | plan.filter.visibility
    there = app.ledger.records.statuses(plan.organization_id, made.values(), visibility=sight, as_of=plan.as_of)
    retired = (each for each, entity_id in made.items() if entity_id in there and there[entity_id].superseded)
    return archived.union(retired)


def not_imported(app: App, plan: Plan, standings: Mapping[str, RecordStatus]) -> set[str]:
    if plan.imported.wants_nothing:
        return set()
    said = [each.id for each in standings.values() if each.entity_type == RAW_MEMORY]
    found = app.ledger.records.entities(plan.organization_id, said)
    passed = {each.id for each in found.values() if plan.imported.passes(each)}
    return {memory_id for memory_id in said if memory_id not in passed}


def unwanted(app: App, plan: Plan, neighbours: Collection[str]) -> set[str]:
    if plan.as_of is not None:
        then = app.ledger.records.entities_at(plan.organization_id, neighbours, plan.as_of)
        return {each for each in neighbours if each not in then or not matches(then[each], plan.filter)}
    if not plan.filter.any_of and plan.filter.updated_since is None:
        return set()
    entities = app.ledger.records.entities(plan.organization_id, neighbours)
    return {record_id for record_id, entity in entities.items() if not matches(entity, plan.filter)}


def weights(
    ledger: Ledger, now: datetime, organization_id: str, record_ids: Iterable[str], visible: frozenset[str]
) -> Mapping[str, float]:
    """Return the weights of the cited records by id. Blocks.

    A citation counts by the visibility key that the record had then.
    """
    now_us = now.timestamp() * 1_000_000
    found: defaultdict[str, float] = defaultdict(float)
    for each in ledger.memories.citations(organization_id, record_ids):
        if each.visibility in visible:
            found[each.record_id] += worth(each.sessions) * 2.0 ** ((each.last_us - now_us) / _DAY_US / CITED_DAYS)
    return found


def worth(sessions: int) -> float:
    """Return the weight of one user's citations: 1/2 for one session, 3/4 for two, at most 1."""
    return 1 - 0.5 ** min(sessions, 50)
