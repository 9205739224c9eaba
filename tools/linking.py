"""Relations on their way into the ledger: what may be linked to what, by whom, and in which words."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from auth.policy import may_reach, may_read, no_project, require_writable
from auth.principal import Principal
from stores.errors import EngrainError, InvalidRequest, NotFound
from stores.ledger import SUPERSEDES, End, Recorded, RelationDraft, Transaction, between
from stores.records import Entity, JsonObject, Relation
from tools.cycles import refuse_cycles
from tools.entity_types import RELATIONSHIP_TYPES

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
class Link:
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
    def details(self) -> JsonObject:
        """What an error about it names."""
        return {"field": f"body.{self.field}"}


def record(
    tx: Transaction,
    caller: Principal,
    links: Sequence[Link],
    *,
    created: Collection[str] = (),
    known: Mapping[str, Entity] | None = None,
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
    targets = tx.entities(link.target_id for link in links) if known is None else known
    for link in links:
        _check(caller, link, targets.get(link.target_id))
    there = {each.id: each for each in (*targets.values(), *(link.source for link in links))}
    recorded = tx.record_relations(
        [_draft(link, targets[link.target_id]) for link in links],
        ends={each.id: End(each.entity_type, each.visibility) for each in there.values()},
        readable=caller.visible,
    )
    ends_at = (each.relation.invalid_at for each in recorded)
    lasting = (link for link, end in zip(links, ends_at, strict=True) if end is None or end > tx.now)
    refuse_cycles(
        tx, caller, [(link.source, link.name, link.target_id) for link in lasting if link.source.id not in created]
    )
    return recorded


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


def _check(caller: Principal, link: Link, target: Entity | None) -> None:
    if target is None or not may_read(caller, target.visibility) or (link.types and not may_reach(caller, target)):
        raise _unknown(link)
    if link.types and target.entity_type not in link.types:
        raise _misplaced(link, target)
    if link.name == SUPERSEDES and link.source.memory_scope != "private":
        require_writable(caller, target)


def _unknown(link: Link) -> EngrainError:
    if "project" in link.types:
        return no_project(link.target_id)
    return NotFound(
        f"{link.field} names {link.target_id}, which does not exist.",
        remediation="Use ids that a search or list returned" + _FORMS.get(link.field, "."),
        details=link.details,
    )


_FORMS: Mapping[str, str] = {"related_to": ", plain or as `relationship:id`."}


def _misplaced(link: Link, target: Entity) -> EngrainError:
    if "project" in link.types:
        return no_project(link.target_id)
    wanted = " or ".join(sorted(link.types))
    return InvalidRequest(
        f"{link.field} names {target.id}, which is of type {target.entity_type}; it takes the id of: {wanted}.",
        remediation="List the records of that type and use one of their ids.",
        details={**link.details, "expected": wanted, "actual": target.entity_type},
    )


def _draft(link: Link, target: Entity) -> RelationDraft:
    return RelationDraft(
        name=link.name,
        source_id=link.source.id,
        target_id=target.id,
        fact=link.fact or "",
        visibility=between(link.source.visibility, target.visibility),
        valid_at=link.valid_at,
        invalid_at=link.invalid_at,
        provenance={"from": link.field} if link.provenance is None else link.provenance,
    )


def related(source: Entity, references: Iterable[str]) -> list[Link]:
    """Read what `related_to` says: `supersedes:<id>`, or a plain id, which is RELATED_TO."""
    links = []
    for reference in references:
        name, separator, target_id = reference.partition(":")
        if separator and name.upper() in RELATIONSHIP_TYPES:
            links.append(Link(source, name.upper(), target_id, "related_to"))
        else:
            links.append(Link(source, "RELATED_TO", reference, "related_to"))
    return links
