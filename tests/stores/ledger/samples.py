"""Records to store, and a clock that a test can turn."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from stores.ledger import AuditDraft, AuditQuery, EntityQuery, Ledger, RelationDraft
from stores.records import (
    ORGANIZATION,
    ApiKey,
    Entity,
    EntityDraft,
    Organization,
    ProjectAccess,
    Relation,
    Session,
    User,
)

T = TypeVar("T")
ORG = "org-1"
OTHER = "org-2"
ANN = "user-ann"
BOB = "user-bob"
DAYS_30 = timedelta(days=30)
EVERYTHING = EntityQuery(visibility=frozenset({ORGANIZATION}))


class SteppingClock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def draft(entity_id: str, **changes: Any) -> EntityDraft:
    plain = EntityDraft(
        id=entity_id, entity_type="episode", name=entity_id, visibility=ORGANIZATION, memory_scope=ORGANIZATION
    )
    return replace(plain, **changes)


def create(ledger: Ledger, *drafts: EntityDraft, organization_id: str = ORG) -> list[Entity]:
    with ledger.transaction(organization_id, ANN) as tx:
        return [tx.records.create_entity(each) for each in drafts]


def update(ledger: Ledger, entity_id: str, **changes: Any) -> Entity:
    with ledger.transaction(ORG, ANN) as tx:
        return tx.records.update_entity(entity_id, lambda entity: replace(entity, **changes))


def rename(ledger: Ledger, entity_id: str, name: str) -> Entity:
    return update(ledger, entity_id, name=name)


def delete(ledger: Ledger, entity_id: str, *, organization_id: str = ORG) -> Entity:
    with ledger.transaction(organization_id, ANN) as tx:
        return tx.records.delete_entity(entity_id)


def relate(
    ledger: Ledger, name: str, source_id: str, target_id: str, *, organization_id: str = ORG, **fields: Any
) -> Relation:
    with ledger.transaction(organization_id, ANN) as tx:
        return tx.relations.add_relation(RelationDraft(name, source_id, target_id, **fields))


def relations_of(ledger: Ledger, organization_id: str, entity_id: str, *, history: bool = False) -> list[Relation]:
    """Return the facts about an entity, latest first: those that were not closed, or all."""
    ids = ledger.relations.relation_ids(organization_id)
    found = ledger.relations.by_ids(organization_id, sorted(ids)).values()
    about = [each for each in found if entity_id in (each.source_id, each.target_id)]
    kept = [each for each in about if history or each.expired_at is None]
    return sorted(kept, key=lambda each: each.created_at, reverse=True)


def person(user_id: str, *, email: str | None = None) -> User:
    return User(
        id=user_id,
        email=email or f"{user_id}@example.org",
        name=user_id,
        password_hash="hash",
        is_admin=False,
        avatar_url=None,
        codehost_id=None,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def organization(organization_id: str, *, is_personal: bool = True) -> Organization:
    return Organization(
        id=organization_id,
        name=organization_id,
        slug=f"slug-{organization_id}",
        is_personal=is_personal,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
    )


def session(session_id: str, user_id: str = ANN, organization_id: str = ORG, **changes: Any) -> Session:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    plain = Session(session_id, user_id, organization_id, f"refresh-{session_id}", begun, begun + DAYS_30, None)
    return replace(plain, **changes)


def api_key(key_id: str, user_id: str = ANN, organization_id: str = ORG) -> ApiKey:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    return ApiKey(key_id, organization_id, user_id, "k", f"sk_{key_id}", (), (), (), True, begun)


def add_project(ledger: Ledger, project_id: str, *, creator: str = ANN, organization_id: str = ORG) -> None:
    with ledger.transaction(organization_id, creator) as tx:
        tx.people.set_project_access(ProjectAccess(project_id, "private", creator))


def deed(action: str, organization_id: str | None = ORG, **changes: Any) -> AuditDraft:
    return replace(AuditDraft(action, organization_id, ANN), **changes)


def actions(ledger: Ledger, organization_id: str | None = ORG) -> list[str]:
    return [entry.draft.action for entry in ledger.audit.entries(AuditQuery(organization_id))]


def at_once(attempt: Callable[[int], T], count: int = 6) -> list[T]:
    with ThreadPoolExecutor(min(count, 6)) as pool:
        return list(pool.map(attempt, range(count)))


def winners(attempt: Callable[[int], object], refused: type[Exception], count: int = 6) -> int:
    def succeeds(number: int) -> bool:
        try:
            attempt(number)
        except refused:
            return False
        return True

    return sum(at_once(succeeds, count))
