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
    """Describe each record that is missing, superfluous or stale.

    Ignores changes after `after`, `awaited` records and relations with an awaited end.
    """
    contents = dict(index.contents())
    relations = set(index.relation_ids()) if isinstance(index, HoldsRelations) else None
    with reading():
        expected = ledger.records.revisions(organization_id)
        expected_relations = ledger.relations.relation_ids(organization_id) if relations is not None else set()
        on_the_way = changed_after(ledger, organization_id, after).union(awaited)
    found = compare(contents, expected, on_the_way)
    if relations is not None:
        on_the_way |= _led(ledger, organization_id, expected_relations - relations, awaited)
        found += compare_relations(relations, expected_relations, on_the_way)
    return found


def compare(contents: Mapping[str, int], expected: Mapping[str, int], ignored: Collection[str]) -> list[str]:
    found = []
    for each in sorted((contents.keys() | expected.keys()) - set(ignored)):
        held, wanted = contents.get(each), expected.get(each)
        if held is None:
            found.append(f"entity {each} is missing")
        elif wanted is None:
            found.append(f"entity {each} is not in the ledger")
        elif held != wanted:
            found.append(f"entity {each} is at revision {held} instead of {wanted}")
    return found


def compare_relations(held: set[str], expected: set[str], ignored: Collection[str]) -> list[str]:
    left_out = set(ignored)
    return [
        *(f"relation {each} is missing" for each in sorted(expected - held - left_out)),
        *(f"relation {each} is not in the ledger" for each in sorted(held - expected - left_out)),
    ]


def _led(ledger: Ledger, organization_id: str, relation_ids: Collection[str], ends: Collection[str]) -> set[str]:
    if not ends or not relation_ids:
        return set()
    with reading():
        facts = ledger.relations.by_ids(organization_id, list(relation_ids))
    return {each.id for each in facts.values() if each.source_id in ends or each.target_id in ends}


def changed_after(ledger: Ledger, organization_id: str, after: int) -> set[str]:
    changed: set[str] = set()
    while changes := ledger.feed.changes(organization_id, after, PAGE):
        changed.update(change.record_id for change in changes)
        after = changes[-1].sequence
    return changed
