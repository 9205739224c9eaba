from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Event

import pytest
from sqlalchemy import func, select

from stores.errors import NotFound
from stores.ledger import Citing, Ledger, RelationDraft, schema
from stores.ledger.engine import Database
from stores.records import ORGANIZATION, Chunk, Document, Invitation, Organization, Team
from tests.stores.ledger.samples import (
    ANN,
    BOB,
    DAYS_30,
    ORG,
    OTHER,
    SteppingClock,
    actions,
    add_project,
    create,
    deed,
    draft,
    organization,
    session,
)

SHARED = "shared"


@pytest.fixture
def shared(ledger: Ledger) -> Organization:
    made = organization(SHARED, is_personal=False)
    ledger.people.create_organization(made, ANN, deed("organization.create", SHARED))
    return made


def rows_of(database: Database, organization_id: str) -> dict[str, int]:
    with database.read() as connection:
        counts = {
            name: connection.execute(
                select(func.count()).select_from(table).where(table.c.organization_id == organization_id)
            ).scalar_one()
            for name, table in schema.metadata.tables.items()
            if "organization_id" in table.c
        }
        found = schema.organizations.c.id == organization_id
        counts["organizations"] = len(connection.execute(select(schema.organizations.c.id).where(found)).all())
    return {name: count for name, count in counts.items() if count}


def fill(ledger: Ledger, organization_id: str, clock: SteppingClock) -> None:
    create(ledger, draft("a"), draft("b", tags=("x",)), organization_id=organization_id)
    create(ledger, *(draft(f"many-{number}") for number in range(1_100)), organization_id=organization_id)
    with ledger.transaction(organization_id, ANN) as tx:
        tx.records.update_entity("a", lambda entity: replace(entity, name="again"))
        tx.relations.add_relation(RelationDraft(name="ABOUT", source_id="a", target_id="b", id="r1"))
        tx.records.create_entity(draft("src", entity_type="source"))
        tx.memories.cite(["a"], Citing(frozenset({ORGANIZATION}), "s1", "search"))
        tx.records.add_document(Document("doc", "src", "https://x", "X", "h"))
        tx.records.add_chunk(Chunk("c1", "doc", "src", 0, "paragraph", ()), draft("c1", entity_type="document"))
    for days in (30, 60):
        with ledger.transaction(organization_id, ANN) as tx:
            tx.relations.end_relation("r1", invalid_at=clock.now + timedelta(days=days))
    add_project(ledger, "p1", organization_id=organization_id)
    ledger.people.add_membership(BOB, organization_id, "member")
    ledger.project_members.add(organization_id, "p1", BOB, "project_viewer")
    ledger.teams.create(Team(organization_id, "t1", "T", "t", "", clock.now))
    ledger.teams.add_member(organization_id, "t1", BOB)
    ledger.teams.put_project(organization_id, "t1", "p1", "project_viewer")
    invitation = Invitation("i1", organization_id, "c@x.org", "member", ANN, clock.now, clock.now + DAYS_30)
    ledger.invitations.create(invitation, "token", audit=deed("member.invite", organization_id))
    ledger.people.create_session(session("bobs", BOB, organization_id))


def test_a_deleted_organization_leaves_no_row_and_frees_its_slug(
    ledger: Ledger, database: Database, shared: Organization, clock: SteppingClock
) -> None:
    create(ledger, draft("a"))
    fill(ledger, SHARED, clock)
    kept = rows_of(database, ORG)
    assert len(rows_of(database, SHARED)) > 15
    assert rows_of(database, SHARED)["relation_ends"] == 2
    told: list[tuple[str, bool]] = []
    ledger.people.on_delete.append(lambda each: told.append((each, ledger.people.organization(each) is None)))

    ledger.people.delete_organization(SHARED, audit=deed("organization.delete", None, resource=SHARED))

    assert told == [(SHARED, True)]
    assert rows_of(database, SHARED) == {}
    assert rows_of(database, ORG) == kept
    assert [each.id for each in ledger.people.organizations()] == [ORG, OTHER]
    assert actions(ledger, None) == ["organization.delete"]
    ledger.people.create_organization(replace(shared, id="again"))


def test_nobody_reaches_an_organization_whose_erasure_was_interrupted_and_it_is_resumed(
    ledger: Ledger, database: Database, shared: Organization, clock: SteppingClock
) -> None:
    fill(ledger, SHARED, clock)

    def die(_organization_id: str) -> None:
        raise KeyboardInterrupt

    ledger.people.on_delete.append(die)
    with pytest.raises(KeyboardInterrupt):
        ledger.people.delete_organization(SHARED)

    assert rows_of(database, SHARED)["entities"] > 1_000
    assert ledger.people.organization(SHARED) is ledger.people.organization_by_slug(shared.slug) is None
    assert ledger.people.identity(ANN, SHARED, None) is ledger.people.identity(BOB, SHARED, "bobs") is None
    assert ledger.people.organizations() == [organization(ORG), organization(OTHER)]
    for refused in (
        lambda: ledger.feed.head(SHARED),
        lambda: create(ledger, draft("late"), organization_id=SHARED),
        lambda: ledger.people.add_membership(BOB, SHARED, "member"),
        lambda: ledger.people.edit_organization(SHARED, name="Back"),
        lambda: ledger.people.delete_organization(SHARED),
    ):
        with pytest.raises(NotFound):
            refused()

    ledger.people.on_delete.clear()
    ledger.tidy()
    assert rows_of(database, SHARED) == {}
    assert ledger.people.erase_deleted() == 0


def test_nothing_stays_of_what_was_written_while_an_organization_was_deleted(
    ledger: Ledger, second: Ledger, database: Database, shared: Organization
) -> None:
    begun = Event()

    def write(writer: int) -> int:
        for number in range(10_000):
            try:
                create((ledger, second)[writer % 2], draft(f"{writer}-{number}"), organization_id=SHARED)
                second.people.create_session(session(f"{writer}-{number}", ANN, SHARED))
            except NotFound:
                return number
            begun.set()
        raise AssertionError("the organization is still there")

    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(write, writer) for writer in range(4)]
        assert begun.wait(timeout=60)
        ledger.people.delete_organization(SHARED)
        assert sum(each.result(timeout=120) for each in writing) > 0
    assert rows_of(database, SHARED) == {}
