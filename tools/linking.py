"""Relations on their way into the ledger: what may be linked to what, by whom, and in which words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import NamedTuple, TypeVar

from auth.policy import may_reach, may_read, may_take_place, no_project, require_writable
from auth.principal import Principal
from stores.errors import EngrainError, InvalidRequest, NotFound
from stores.ledger import SUPERSEDES, End, Ledger, MayEnd, Outline, Recorded, RelationDraft, Transaction, between
from stores.records import Entity, JsonObject, Relation
from tools.cycles import refuse_cycles
from tools.entity_types import RELATIONSHIP_TYPES

Found = TypeVar("Found", bound=Entity | Outline)

BY_HAND = "relations"
"""In the provenance of what was recorded by the operations on relations."""
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
"""How a relation is said where its name alone is no predicate."""


@dataclass(frozen=True, slots=True)
class Target:
    """A record that somebody names to link to it."""

    id: str
    field: str
    """Where it was said, as the sender knows it: `metadata.epic_id`."""
    types: Collection[str] = ()
    """What it may be; empty: anything."""

    @property
    def details(self) -> JsonObject:
        """What an error about it names."""
        return {"field": f"body.{self.field}"}


class Link(NamedTuple):
    """A relation that somebody wants to be recorded."""

    source: Entity
    name: str
    target_id: str
    field: str
    """Where it was said, as the sender knows it: `metadata.epic_id`."""
    types: Collection[str] = ()
    """What its target may be; empty: anything."""
    provenance: JsonObject | None = None
    """None: the field."""
    fact: str | None = None
    """None: made of the names."""
    valid_at: datetime | None = None
    invalid_at: datetime | None = None

    @property
    def target(self) -> Target:
        """What is to be linked to."""
        return Target(self.target_id, self.field, self.types)


def record(
    tx: Transaction,
    caller: Principal,
    links: Sequence[Link],
    *,
    created: Collection[str] = (),
    known: Mapping[str, Entity | Outline] | None = None,
) -> list[Recorded]:
    """Store relations whose sources the caller may change; those that are `created` here are nobody's targets yet.

    `known` holds those of the targets that exist, where this transaction has read them already.

    Raises:
        NotFound: A target does not exist, or not for this caller.
        InvalidRequest: A target is of a wrong type, or a dependency, parent or supersession closes a circle.
        Forbidden: A target would be retired for others by somebody who may not change it.
    """
    if not links:
        return []
    targets = tx.outlines(link.target_id for link in links) if known is None else known
    for link in links:
        _check(caller, link, targets.get(link.target_id))
    there = {each.id: each for each in (*targets.values(), *(link.source for link in links))}
    recorded = tx.record_relations(
        [_draft(link, targets[link.target_id]) for link in links],
        ends={each.id: End(each.entity_type, each.visibility) for each in there.values()},
        may_end=taking_place(tx, caller),
    )
    ends_at = (each.relation.invalid_at for each in recorded)
    lasting = (link for link, end in zip(links, ends_at, strict=True) if end is None or end > tx.now)
    refuse_cycles(
        tx, caller, [(link.source, link.name, link.target_id) for link in lasting if link.source.id not in created]
    )
    return recorded


def taking_place(tx: Transaction, caller: Principal) -> MayEnd:
    """Return the rule by which the caller's facts end others of which there is one at a time."""
    is_open = cache(tx.is_open_project)
    return lambda ender, ended: may_take_place(caller, ender, ended, is_open)


def fact_of(relation: Relation, source: str, target: str) -> str:
    """Say a relation: in the words of who recorded it by hand, else in a sentence of its ends as they are called.

    Such a sentence is made when it is read: a stored one would tell what a record was called while it was hidden.
    """
    if relation.fact and relation.provenance.get("from") == BY_HAND:
        return relation.fact
    return fact(source, relation.name, target)


def fact(source: str, name: str, target: str) -> str:
    """Say a relation between two names in a sentence."""
    return f"{source} {PHRASES.get(name) or name.lower().replace('_', ' ')} {target}"


def require_linkable(ledger: Ledger, caller: Principal, references: Collection[str], memory_scope: str) -> None:
    """Refuse what `record` would refuse of the `related_to` of a new record with this scope. Blocks.

    Raises:
        NotFound: A target does not exist, or not for this caller.
        Forbidden: A target would be retired for others by somebody who may not change it.
    """
    named = [referred(each) for each in references]
    there = ledger.entities(caller.organization_id, [target_id for _, target_id in named])
    for name, target_id in named:
        target = require_target(caller, Target(target_id, "related_to"), there.get(target_id))
        _require_linkable(caller, name, memory_scope, target)


def _check(caller: Principal, link: Link, target: Entity | Outline | None) -> None:
    _require_linkable(caller, link.name, link.source.memory_scope, require_target(caller, link.target, target))


def _require_linkable(caller: Principal, name: str, memory_scope: str, target: Entity | Outline) -> None:
    if name == SUPERSEDES and memory_scope != "private":
        require_writable(caller, target)


def require_target(caller: Principal, wanted: Target, found: Found | None) -> Found:
    """Refuse to link to what is not there for the caller, or is of another type.

    Raises:
        NotFound: It does not exist, or not for this caller.
        InvalidRequest: It is of a wrong type.
    """
    if found is None or not may_read(caller, found.visibility) or (wanted.types and not may_reach(caller, found)):
        raise _unknown(wanted)
    if wanted.types and found.entity_type not in wanted.types:
        raise _misplaced(wanted, found)
    return found


def _unknown(wanted: Target) -> EngrainError:
    if "project" in wanted.types:
        return no_project(wanted.id)
    return NotFound(
        f"{wanted.field} names {wanted.id}, which does not exist.",
        remediation="Use ids that a search or list returned" + _FORMS.get(wanted.field, "."),
        details=wanted.details,
    )


_FORMS: Mapping[str, str] = {"related_to": ", plain or as `relationship:id`."}


def _misplaced(wanted: Target, found: Entity | Outline) -> EngrainError:
    if "project" in wanted.types:
        return no_project(wanted.id)
    types = " or ".join(sorted(wanted.types))
    return InvalidRequest(
        f"{wanted.field} names {found.id}, which is of type {found.entity_type}; it takes the id of: {types}.",
        remediation="List the records of that type and use one of their ids.",
        details={**wanted.details, "expected": types, "actual": found.entity_type},
    )


def _draft(link: Link, target: Entity | Outline) -> RelationDraft:
    return RelationDraft(
        name=link.name,
        source_id=link.source.id,
        target_id=target.id,
        fact=link.fact or "",
        visibility=between(link.source.visibility, target.visibility),
        valid_at=link.valid_at,
        invalid_at=link.invalid_at,
        provenance=_stated_in(link.field) if link.provenance is None else link.provenance,
    )


@cache
def _stated_in(field: str) -> JsonObject:
    return {"from": field}


def related(source: Entity, references: Iterable[str]) -> list[Link]:
    """Read what `related_to` says: `supersedes:<id>`, or a plain id, which is RELATED_TO."""
    return [Link(source, *referred(reference), "related_to") for reference in references]


def referred(reference: str) -> tuple[str, str]:
    """Return the relationship and the id of a reference."""
    name, separator, target_id = reference.partition(":")
    if separator and name.upper() in RELATIONSHIP_TYPES:
        return name.upper(), target_id
    return "RELATED_TO", reference
