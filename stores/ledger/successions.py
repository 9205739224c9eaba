"""Single-valued facts: which fact ends another, and when a late one ended."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import NamedTuple

from stores.records import ORGANIZATION, Relation

SINGLE_VALUED = frozenset({"BELONGS_TO", "PART_OF", "CHILD_OF"})
"""One at a time per type of target: a new one ends the one before."""


class End(NamedTuple):
    entity_type: str
    visibility: str


Ends = Mapping[str, End]
MayEnd = Callable[[frozenset[str], frozenset[str]], bool]
"""Tell whether a fact with the first keys may end one with the second: its readers must include all of the other's."""


def has_its_readers(ender: frozenset[str], ended: frozenset[str]) -> bool:
    """Return whether all readers of one fact may read the other, judging by keys."""
    return ender <= ended | {ORGANIZATION}


def lasts(relation: Relation, now: datetime) -> bool:
    return relation.invalid_at is None or relation.invalid_at > now


def ended_by(
    fresh: Relation, rivals: Collection[Relation], ends: Ends, now: datetime, may_end: MayEnd
) -> list[Relation]:
    """Return the rivals (same source and name) that a lasting fact ends."""
    if fresh.name not in SINGLE_VALUED or not lasts(fresh, now):
        return []
    return [
        old
        for old in rivals
        if old.expired_at is None
        and lasts(old, now)
        and _overlap(fresh, old)
        and _may_end(fresh, old, ends, may_end)
        and _is_of_one_type(fresh, old, ends)
    ]


def succeeded_at(
    fresh: Relation, rivals: Collection[Relation], ends: Ends, now: datetime, may_end: MayEnd
) -> datetime | None:
    """Return when the fact after a late one begins.

    The lasting fact counts, and those before it that each ended where the next one began.
    """
    found: set[datetime] = set()
    for each in sorted(rivals, key=lambda rival: rival.valid_at, reverse=True):
        if each.valid_at <= fresh.valid_at:
            break
        leads_on = each.invalid_at in found if each.expired_at is not None or not lasts(each, now) else True
        was_true = each.invalid_at is None or each.invalid_at > each.valid_at
        if leads_on and was_true and _is_of_one_type(fresh, each, ends) and _may_end(each, fresh, ends, may_end):
            found.add(each.valid_at)
    return min(found, default=None)


def told_between(
    fresh: Relation, next_at: datetime | None, rivals: Collection[Relation], ends: Ends, may_end: MayEnd
) -> list[Relation]:
    """Return facts that ended at `next_at` (of `succeeded_at`) only because the fact between was unknown."""
    if fresh.name not in SINGLE_VALUED or next_at is None or fresh.invalid_at != next_at:
        return []
    return [
        old
        for old in rivals
        if old.invalid_at == next_at
        and old.valid_at <= fresh.valid_at
        and old.target_id != fresh.target_id
        and _may_end(fresh, old, ends, may_end)
        and _is_of_one_type(fresh, old, ends)
    ]


def _overlap(one: Relation, other: Relation) -> bool:
    return (other.invalid_at is None or other.invalid_at > one.valid_at) and (
        one.invalid_at is None or one.invalid_at > other.valid_at
    )


def _is_of_one_type(one: Relation, other: Relation, ends: Ends) -> bool:
    return ends[one.target_id].entity_type == ends[other.target_id].entity_type


def _may_end(ender: Relation, ended: Relation, ends: Ends, may_end: MayEnd) -> bool:
    of_ended = frozenset({ended.visibility, ends[ended.source_id].visibility, ends[ended.target_id].visibility})
    return may_end(frozenset({ender.visibility, ends[ender.target_id].visibility}), of_ended)
