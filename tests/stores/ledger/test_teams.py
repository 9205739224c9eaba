from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from stores.errors import Forbidden, NotFound
from stores.ledger import AuditQuery, Ledger, Permit
from stores.records import Role, Team
from tests.stores.ledger.samples import ANN, BOB, ORG, SteppingClock, actions, add_project, deed


@pytest.fixture
def team(ledger: Ledger, clock: SteppingClock) -> Team:
    made = Team(ORG, "t1", "Core", "core", "Everything below.", clock.now)
    ledger.teams.create(made, audit=deed("team.create"))
    return made


def described(text: str) -> Callable[[Team], Team]:
    return lambda each: replace(each, description=text)


DEEDS: dict[str, Callable[[Ledger, Permit], object]] = {
    "create": lambda ledger, permit: ledger.teams.create(
        Team(ORG, "t2", "New", "new", "", datetime(2026, 1, 1, tzinfo=UTC)), permit=permit
    ),
    "edit": lambda ledger, permit: ledger.teams.edit(ORG, "t1", described("x"), permit=permit),
    "add member": lambda ledger, permit: ledger.teams.add_member(ORG, "t1", BOB, permit=permit),
    "remove member": lambda ledger, permit: ledger.teams.remove_member(ORG, "t1", ANN, permit=permit),
    "put project": lambda ledger, permit: ledger.teams.put_project(ORG, "t1", "p2", "project_viewer", permit=permit),
    "remove project": lambda ledger, permit: ledger.teams.remove_project(ORG, "t1", "p1", permit=permit),
    "delete": lambda ledger, permit: ledger.teams.delete(ORG, "t1", permit=permit),
}


@pytest.mark.parametrize("name", DEEDS)
def test_a_permit_is_asked_with_the_role_of_the_moment_before_a_team_changes(
    ledger: Ledger, team: Team, name: str
) -> None:
    def check(actor: Role | None, _before: Role | None) -> None:
        if actor != "owner":
            raise Forbidden(str(actor))

    for project_id in ("p1", "p2"):
        add_project(ledger, project_id)
    ledger.people.add_membership(BOB, ORG, "member")
    ledger.teams.add_member(ORG, "t1", ANN)
    ledger.teams.put_project(ORG, "t1", "p1", "project_viewer")
    with pytest.raises(Forbidden, match="member"):
        DEEDS[name](ledger, Permit(BOB, check))
    assert ledger.teams.of_organization(ORG) == [team]
    assert [each.user.id for each in ledger.teams.members(ORG, "t1")] == [ANN]
    assert ledger.teams.projects(ORG, "t1") == {"p1": "project_viewer"}
    DEEDS[name](ledger, Permit(ANN, check))


def test_a_team_has_one_role_in_a_project_and_what_it_gave_ends_with_it(ledger: Ledger, team: Team) -> None:
    add_project(ledger, "p1", creator=BOB)
    ledger.teams.add_member(ORG, "t1", ANN)
    assert ledger.teams.put_project(ORG, "t1", "p1", "project_viewer", audit=deed("team.project")) is None
    before = ledger.teams.put_project(ORG, "t1", "p1", "project_maintainer", audit=deed("team.project"))
    assert before == "project_viewer"
    assert ledger.teams.projects(ORG, "t1") == ledger.people.access(ANN, ORG).roles == {"p1": "project_maintainer"}
    with pytest.raises(NotFound, match="no project p2"):
        ledger.teams.put_project(ORG, "t1", "p2", "project_viewer")
    assert ledger.teams.remove_project(ORG, "t1", "p1", audit=deed("team.project")) == "project_maintainer"
    with pytest.raises(NotFound):
        ledger.teams.remove_project(ORG, "t1", "p1")
    assert ledger.teams.projects(ORG, "t1") == ledger.people.access(ANN, ORG).roles == {}
    assert actions(ledger) == ["team.project", "team.project", "team.project", "team.create"]
    entries = ledger.audit.entries(AuditQuery(ORG, action="team.project"))
    assert [entry.draft.details["from"] for entry in entries] == ["project_maintainer", "project_viewer", None]
    ledger.teams.put_project(ORG, "t1", "p1", "project_viewer")
    ledger.teams.delete(ORG, "t1")
    access = ledger.people.access(ANN, ORG)
    assert (access.roles, access.team_ids) == ({}, frozenset())
