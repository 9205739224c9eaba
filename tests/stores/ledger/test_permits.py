"""Permission for a deed is asked in the transaction that does it, with the roles of that moment."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import select

from stores.errors import Forbidden
from stores.ledger import Ledger, Permit, schema
from stores.ledger.engine import Database
from stores.records import Invitation, Role, Team
from stores.spaces import MemberDraft, MemorySpace
from tests.stores.ledger.samples import ANN, BOB, DAYS_30, SteppingClock, add_project, deed, organization, person

CAT, EVE, SHARED = "user-cat", "user-eve", "shared"
NOW = SteppingClock().now
TEAM = Team(SHARED, "t1", "Core", "core", "", NOW)
SPACE = MemorySpace(SHARED, "s1", "shared", "crew", "Crew", None, "active", None, {}, ANN, NOW, NOW)
INVITED = Invitation("i1", SHARED, "x@example.org", "admin", ANN, NOW, NOW + DAYS_30)
MADE = deed("x", SHARED)

DEEDS: dict[str, tuple[Role | None, Callable[[Ledger, Permit], object]]] = {
    "add member": (None, lambda it, may: it.people.add_membership(EVE, SHARED, "viewer", audit=MADE, permit=may)),
    "change member": (
        "member",
        lambda it, may: it.people.set_member_role(SHARED, BOB, "admin", audit=MADE, permit=may),
    ),
    "remove member": ("member", lambda it, may: it.people.remove_member(SHARED, BOB, audit=MADE, permit=may)),
    "invite": (None, lambda it, may: it.invitations.create(replace(INVITED, id="i2"), "two", audit=MADE, permit=may)),
    "withdraw": ("admin", lambda it, may: it.invitations.revoke(SHARED, "i1", audit=MADE, permit=may)),
    "edit": (None, lambda it, may: it.people.edit_organization(SHARED, name="Mine", audit=MADE, permit=may)),
    "delete": (None, lambda it, may: it.people.delete_organization(SHARED, audit=MADE, permit=may)),
    "create team": (None, lambda it, may: it.teams.create(replace(TEAM, id="t2", slug="new"), permit=may)),
    "edit team": (None, lambda it, may: it.teams.edit(SHARED, "t1", lambda each: replace(each, name="x"), permit=may)),
    "delete team": (None, lambda it, may: it.teams.delete(SHARED, "t1", permit=may)),
    "join team": (None, lambda it, may: it.teams.add_member(SHARED, "t1", BOB, permit=may)),
    "leave team": (None, lambda it, may: it.teams.remove_member(SHARED, "t1", ANN, permit=may)),
    "give project": (None, lambda it, may: it.teams.put_project(SHARED, "t1", "p2", "project_viewer", permit=may)),
    "take project": (None, lambda it, may: it.teams.remove_project(SHARED, "t1", "p1", permit=may)),
    "create space": (None, lambda it, may: it.spaces.create(replace(SPACE, id="s2", scope_key="x"), permit=may)),
    "edit space": (None, lambda it, may: it.spaces.edit(SHARED, "s1", {"name": "x"}, permit=may)),
    "let into space": (
        None,
        lambda it, may: it.spaces.put_member(SHARED, "s1", MemberDraft("user", BOB, "owner"), ANN, permit=may),
    ),
}


def rows(database: Database) -> dict[str, list[str]]:
    with database.read() as connection:
        tables = schema.metadata.tables.items()
        return {name: sorted(map(repr, connection.execute(select(table)))) for name, table in tables}


@pytest.mark.parametrize("name", DEEDS)
def test_a_right_counts_as_it_is_at_that_moment_and_a_refusal_writes_nothing(
    ledger: Ledger, database: Database, name: str
) -> None:
    asked: list[tuple[Role | None, Role | None]] = []

    def check(actor: Role | None, before: Role | None) -> None:
        asked.append((actor, before))
        if actor != "owner":
            raise Forbidden(f"{actor} touches {before}")

    for user_id in (CAT, EVE):
        ledger.people.create_account(person(user_id), organization(f"org-{user_id}"))
    ledger.people.create_organization(organization(SHARED, is_personal=False), ANN)
    for user_id in (BOB, CAT):
        ledger.people.add_membership(user_id, SHARED, "owner")
    for project_id in ("p1", "p2"):
        add_project(ledger, project_id, organization_id=SHARED)
    ledger.teams.create(TEAM)
    ledger.teams.add_member(SHARED, "t1", ANN)
    ledger.teams.put_project(SHARED, "t1", "p1", "project_viewer")
    ledger.spaces.create(SPACE)
    ledger.invitations.create(INVITED, "one")
    ledger.people.set_member_role(SHARED, BOB, "member")
    ledger.people.remove_member(SHARED, CAT)
    touched, write = DEEDS[name]
    there = rows(database)
    for actor in (BOB, CAT):
        with pytest.raises(Forbidden, match="touches"):
            write(ledger, Permit(actor, check))
    assert rows(database) == there
    write(ledger, Permit(ANN, check))
    assert asked == [("member", touched), (None, touched), ("owner", touched)]
    assert rows(database) != there
