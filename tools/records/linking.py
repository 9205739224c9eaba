"""Checking and storing relations that requests ask for; those that close a cycle are refused."""

from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import NamedTuple, TypeVar

from auth.memory_policy import may_read_memory
from auth.policy import NoProject, may_reach, may_read, may_take_place, require_writable
from auth.principal import Principal
from stores.errors import InvalidRequest, NotFound
from stores.ledger import SUPERSEDES, Ledger, MayEnd, Outline, Recorded, RelationDraft, Transaction, between
from stores.records import RAW_MEMORY, Entity, JsonObject, Relation
from tools.records.entity_models import NO_RELATIONS
from tools.records.entity_types import RELATIONSHIP_TYPES

Found = TypeVar("Found", bound=Entity | Outline)

BY_HAND = "relations"
PHRASES = {
    "PART_OF": "is part of",
    "CHILD_OF": "is a child of",
    "RELATED_TO": "is related to",
    "MEMBER_OF": "is a member of",
    "DERIVED_FROM": "is derived from",
    "CRAWLED_FROM": "was crawled from",
    "FORKED_FROM": "was forked from",
    "CAPTURED_IN": "was captured in",
    "DOCUMENTED_IN": "is documented in",
    "ASSIGNED_TO": "is assigned to",
    "VALIDATED_BY": "is validated by",
    "ABOUT": "is about",
}


class Link(NamedTuple):
    source: Entity
    name: str
    target_id: str
    field: str
    types: Collection[str] = ()
    provenance: JsonObject | None = None
    fact: str | None = None
    valid_at: datetime | None = None
    invalid_at: datetime | None = None


def record(
    tx: Transaction,
    caller: Principal,
    links: Sequence[Link],
    *,
    created: Collection[str] = (),
    known: Mapping[str, Entity | Outline] | None = None,
) -> list[Recorded]:
    """Store relations whose sources the caller may change.

    `created` names sources that are new, which no cycle can contain yet. `known` holds targets that the transaction has
    read already.
    """
    if not links:
        return []
    targets = tx.records.outlines(link.target_id for link in links) if known is None else known
    meant = [_meant(tx, caller, link, targets.get(link.target_id)) for link in links]
    if meant != [*links]:
        return record(tx, caller, meant, created=created)
    for link in links:
        target = require_target(caller, targets.get(link.target_id), link.target_id, link.field, link.types)
        _require_linkable(caller, link.name, link.source.memory_scope, target)
    there = {link.source.id: link.source for link in links} | dict(targets)
    drafts = [
        RelationDraft(
            name=link.name,
            source_id=link.source.id,
            target_id=link.target_id,
            fact=link.fact or "",
            visibility=between(link.source.visibility, targets[link.target_id].visibility),
            valid_at=link.valid_at,
            invalid_at=link.invalid_at,
            provenance={"from": link.field} if link.provenance is None else link.provenance,
        )
        for link in links
    ]
    recorded = tx.relations.record_relations(drafts, ends=there, may_end=may_end_facts(tx, caller))
    ends_at = (each.relation.invalid_at for each in recorded)
    lasting = (link for link, end in zip(links, ends_at, strict=True) if end is None or end > tx.now)
    refuse_cycles(
        tx, caller, [(link.source, link.name, link.target_id) for link in lasting if link.source.id not in created]
    )
    return recorded


def _meant(tx: Transaction, caller: Principal, link: Link, target: Entity | Outline | None) -> Link:
    if target is None or target.entity_type != RAW_MEMORY or not may_read_memory(caller, target.visibility):
        return link
    memory = tx.memories.memory(target.id)
    made = memory.capture.entity_id if memory is not None else None
    return link if made is None else link._replace(target_id=made)


def may_end_facts(tx: Transaction, caller: Principal) -> MayEnd:
    """Return the check that decides which single-valued facts the caller's facts may end."""
    is_open = cache(tx.people.is_open_project)
    return lambda ender, ended: may_take_place(caller, ender, ended, is_open)


def fact_of(relation: Relation, source: str, target: str) -> str:
    """Return the recorded sentence of a relation, or one made of the current names.

    It is made on reading, because a stored one could reveal a name from when the record was hidden.
    """
    if relation.fact and relation.provenance.get("from") == BY_HAND:
        return relation.fact
    return f"{source} {PHRASES.get(relation.name) or relation.name.lower().replace('_', ' ')} {target}"


def require_linkable(ledger: Ledger, caller: Principal, references: Collection[str], memory_scope: str) -> None:
    """Check the `related_to` of a new record before it is written. Blocks."""
    named = [referred(each) for each in references]
    there = ledger.records.entities(caller.organization_id, [target_id for _, target_id in named])
    for name, target_id in named:
        target = require_target(caller, there.get(target_id), target_id, "related_to")
        _require_linkable(caller, name, memory_scope, target)


def _require_linkable(caller: Principal, name: str, memory_scope: str, target: Entity | Outline) -> None:
    if name == SUPERSEDES and memory_scope != "private":
        require_writable(caller, target)


def require_target(
    caller: Principal, found: Found | None, target_id: str, field: str, types: Collection[str] = ()
) -> Found:
    """Check that a target exists for the caller and has an allowed type."""
    is_there = found is not None and may_read(caller, found.visibility) and (not types or may_reach(caller, found))
    if found is not None and is_there and (not types or found.entity_type in types):
        return found
    if "project" in types:
        raise NoProject(target_id)
    if found is None or not is_there:
        forms = ", plain or as `relationship:id`" if field == "related_to" else ""
        raise NotFound(
            f"{field} names {target_id}, which does not exist.",
            remediation=f"Use ids that a search or list returned{forms}. {NO_RELATIONS}",
            details={"field": f"body.{field}"},
        )
    expected = " or ".join(sorted(types))
    raise InvalidRequest(
        f"{field} names {found.id}, which is of type {found.entity_type}; it takes the id of: {expected}.",
        remediation="List the records of that type and use one of their ids.",
        details={"field": f"body.{field}", "expected": expected, "actual": found.entity_type},
    )


def related(source: Entity, references: Iterable[str]) -> list[Link]:
    """Parse `related_to`: `supersedes:<id>`, or a plain id for RELATED_TO."""
    return [Link(source, *referred(reference), "related_to") for reference in references]


def referred(reference: str) -> tuple[str, str]:
    name, separator, target_id = reference.partition(":")
    if separator and name.upper() in RELATIONSHIP_TYPES:
        return name.upper(), target_id
    return "RELATED_TO", reference


WORK = frozenset({"task", "epic"})
ALWAYS = frozenset({"CHILD_OF", SUPERSEDES})
SHOWN = 20

Edges = defaultdict[str, list[str]]


def refuse_cycles(tx: Transaction, caller: Principal, links: Iterable[tuple[Entity, str, str]]) -> None:
    """Refuse relations, just recorded as (source, name, target id), that close a cycle.

    Only relations that the caller may read are followed, so that the message reveals nothing else.
    """
    added: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for source, name, target_id in links:
        if name in ALWAYS or (name == "DEPENDS_ON" and source.entity_type in WORK):
            added[name].append((source.id, target_id))
    for name, pairs in added.items():
        edges = _reachable(tx, caller, name, {target for _, target in pairs})
        for source_id, target_id in pairs:
            if way := shortest_path(edges, target_id, source_id):
                way = [source_id, *way]
                shown = [*way[: SHOWN - 1], "…", way[-1]] if len(way) > SHOWN else way
                raise InvalidRequest(
                    f"{name} would make a circle: {' -> '.join(shown)}.",
                    remediation="End one of these relations first, or leave this one out.",
                    details={"field": "body", "relationship_type": name},
                )


def _reachable(tx: Transaction, caller: Principal, name: str, starts: set[str]) -> Edges:
    edges: Edges = defaultdict(list)
    seen, frontier = set(starts), set(starts)
    while frontier:
        found = tx.relations.edges_from(frontier, name, caller.visible)
        for source_id, target_id in found:
            edges[source_id].append(target_id)
        frontier = {target_id for _, target_id in found} - seen
        seen |= frontier
    return edges


def shortest_path(edges: Mapping[str, Collection[str]], start: str, goal: str) -> list[str]:
    """Return the ids on the way, both ends included; empty if there is none."""
    before = {start: start}
    waiting = deque([start])
    while waiting and goal not in before:
        here = waiting.popleft()
        for there in edges.get(here, ()):
            if there not in before:
                before[there] = here
                waiting.append(there)
    way = [goal] if goal in before else []
    while way and way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]
