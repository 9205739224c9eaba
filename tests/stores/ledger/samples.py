"""Records to store, and a clock that a test can turn."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from stores.ledger import EntityQuery, Ledger
from stores.records import ORGANIZATION, Entity, EntityDraft, Organization, User

ORG = "org-1"
OTHER = "org-2"
ANN = "user-ann"
BOB = "user-bob"
EVERYTHING = EntityQuery(visibility=frozenset({ORGANIZATION}))


class SteppingClock:
    """Moves by a second each time it is asked, unless a test sets it."""

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
        return [tx.create_entity(each) for each in drafts]


def rename(ledger: Ledger, entity_id: str, name: str) -> Entity:
    with ledger.transaction(ORG, ANN) as tx:
        return tx.update_entity(entity_id, lambda entity: replace(entity, name=name))


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
