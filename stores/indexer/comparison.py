"""Comparison of an index with the ledger, record by record."""

from collections.abc import Collection, Mapping
from typing import Protocol, runtime_checkable

from stores.index import StoredIndex
from stores.indexer.feed import reading
from stores.ledger import Ledger

PAGE = 1_000


@runtime_checkable
class HoldsRelations(Protocol):
    def relation_ids(self) -> Collection[str]: ...


def differences(
    ledger: Ledger, organization_id: str, index: StoredIndex, after: int, awaited: Collection[str] = ()
) -> list[str]:
    """Describe each missing, superfluous or stale record, but none awaited or changed after `after`."""
    contents = dict(index.contents())
    relations = set(index.relation_ids()) if isinstance(index, HoldsRelations) else None
    with reading():
        expected = ledger.records.revisions(organization_id)
        facts = ledger.relations.relation_ids(organization_id) if relations is not None else set()
        on_the_way = _changed_after(ledger, organization_id, after).union(awaited)
    found = _compare(contents, expected, on_the_way)
    if relations is not None:
        on_the_way |= _led(ledger, organization_id, facts - relations, awaited)
        found += [f"relation {each} is missing" for each in sorted(facts - relations - on_the_way)]
        found += [f"relation {each} is not in the ledger" for each in sorted(relations - facts - on_the_way)]
    return found


def _compare(contents: Mapping[str, int], expected: Mapping[str, int], ignored: set[str]) -> list[str]:
    found = []
    for each in sorted((contents.keys() | expected.keys()) - ignored):
        held, wanted = contents.get(each), expected.get(each)
        if held is None:
            found.append(f"entity {each} is missing")
        elif wanted is None:
            found.append(f"entity {each} is not in the ledger")
        elif held != wanted:
            found.append(f"entity {each} is at revision {held} instead of {wanted}")
    return found


def _led(ledger: Ledger, organization_id: str, relation_ids: Collection[str], ends: Collection[str]) -> set[str]:
    if not ends or not relation_ids:
        return set()
    with reading():
        found = ledger.relations.by_ids(organization_id, list(relation_ids))
    return {each.id for each in found.values() if each.source_id in ends or each.target_id in ends}


def _changed_after(ledger: Ledger, organization_id: str, after: int) -> set[str]:
    changed: set[str] = set()
    while changes := ledger.feed.changes(organization_id, after, PAGE):
        changed.update(change.record_id for change in changes)
        after = changes[-1].sequence
    return changed
