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
        self._ledger = app.ledger
        self._expected: list[str] = []
        self._plan = plan
        self._asked: set[str] = set()
        self._in_force: set[str] = set()
        self._fits: dict[str, bool] = {}
        self.statuses: dict[str, RecordStatus] = {}

    def expect(self, record_ids: Iterable[str]) -> None:
        self._expected = [*record_ids]

    def ask(self, record_ids: Iterable[str]) -> None:
        record_ids, self._expected = [*record_ids, *self._expected], []
        if self._asked.issuperset(record_ids):
            return
        new = [record_id for record_id in dict.fromkeys(record_ids) if record_id not in self._asked]
        visible = self._plan.filter.visibility
        found = self._read_statuses(new, visible)
        memories = [each.id for each in found.values() if each.entity_type == RAW_MEMORY]
        gone = self._outlived(memories) | self._not_imported(memories)
        self.statuses |= found
        in_force = {each.id for each in found.values() if each.visibility in visible and not each.superseded}
        self._in_force |= in_force - gone
        # Last, so that records are read again after an error.
        self._asked.update(new)

    @property
    def replaced(self) -> set[str]:
        visible = self._plan.filter.visibility
        return {each.id for each in self.statuses.values() if each.superseded and each.visibility in visible}

    def found(self, record_ids: Iterable[str]) -> set[str]:
        ids = list(record_ids)
        self.ask(ids)
        return self._in_force.intersection(ids)

    def wanted(self, record_ids: Iterable[str]) -> set[str]:
        found = self.found(record_ids)
        if new := found - self._fits.keys():
            unmatched = self.unwanted(new)
            self._fits |= {each: each not in unmatched for each in new}
        return {each for each in found if self._fits[each]}

    def unwanted(self, neighbours: Collection[str]) -> set[str]:
        """Return the records that the filter of the search excludes."""
        plan, records = self._plan, self._ledger.records
        if plan.as_of is not None:
            then = records.entities_at(plan.organization_id, neighbours, plan.as_of)
            return {each for each in neighbours if each not in then or not matches(then[each], plan.filter)}
        if not plan.filter.any_of and plan.filter.updated_since is None:
            return set()
        entities = records.entities(plan.organization_id, neighbours)
        return {record_id for record_id, entity in entities.items() if not matches(entity, plan.filter)}

    def _read_statuses(self, record_ids: Iterable[str], visible: frozenset[str]) -> Mapping[str, RecordStatus]:
        plan = self._plan
        return self._ledger.records.statuses(plan.organization_id, record_ids, visibility=visible, as_of=plan.as_of)

    def _outlived(self, memory_ids: Collection[str]) -> set[str]:
        """Return archived memories, and those whose promoted entity is superseded.

        Archiving has no time: past memories count as not archived.
        """
        plan = self._plan
        outcomes = self._ledger.memories.outcomes(plan.organization_id, memory_ids) if memory_ids else {}
        if not outcomes:
            return set()
        archived = {each for each, outcome in outcomes.items() if outcome.is_archived and plan.as_of is None}
        made = {each: outcome.entity_id for each, outcome in outcomes.items() if outcome.entity_id is not None}
        there = self._read_statuses(made.values(), plan.superseding_keys | plan.filter.visibility)
        retired = (each for each, entity_id in made.items() if entity_id in there and there[entity_id].superseded)
        return archived.union(retired)

    def _not_imported(self, memory_ids: Collection[str]) -> set[str]:
        plan = self._plan
        if plan.imported.wants_nothing:
            return set()
        found = self._ledger.records.entities(plan.organization_id, memory_ids)
        passed = {each.id for each in found.values() if plan.imported.passes(each)}
        return {memory_id for memory_id in memory_ids if memory_id not in passed}


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
