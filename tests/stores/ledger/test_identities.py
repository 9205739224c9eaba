from stores.ledger import Ledger
from stores.ledger.identities import greater_role
from stores.records import PROJECT_ROLES, Access, ProjectAccess, Team
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, SteppingClock, add_project


def test_access_is_every_project_and_what_the_caller_was_given(ledger: Ledger, clock: SteppingClock) -> None:
    ledger.people.add_membership(BOB, ORG, "member")
    for project_id in ("p1", "p2", "p3"):
        add_project(ledger, project_id)
    add_project(ledger, "bobs", creator=BOB)
    add_project(ledger, "p1", creator=BOB, organization_id=OTHER)
    ledger.project_members.add(ORG, "p1", BOB, "project_viewer")
    ledger.project_members.add(ORG, "p2", BOB, "project_maintainer")
    for team_id in ("t1", "t2"):
        ledger.teams.create(Team(ORG, team_id, team_id, team_id, "", clock.now))
    ledger.teams.add_member(ORG, "t1", BOB)
    for project_id in ("p1", "p2", "p3"):
        ledger.teams.put_project(ORG, "t1", project_id, "project_contributor")
    ledger.teams.put_project(ORG, "t2", "p1", "project_owner")

    access = ledger.people.access(BOB, ORG)

    assert sorted(access.projects, key=lambda each: each.project_id) == [
        ProjectAccess("bobs", "private", BOB),
        *(ProjectAccess(each, "private", ANN) for each in ("p1", "p2", "p3")),
    ]
    assert access.roles == {
        "bobs": "project_owner",
        "p1": "project_contributor",
        "p2": "project_maintainer",
        "p3": "project_contributor",
    }
    assert access.team_ids == {"t1"}
    assert ledger.people.caller(BOB, ORG, None) == (ledger.people.identity(BOB, ORG, None), access)
    assert ledger.people.caller(BOB, ORG, "absent") is None
    assert ledger.people.access(ANN, OTHER) == Access((ProjectAccess("p1", "private", BOB),), {}, frozenset())


def test_the_greater_project_role_counts() -> None:
    for place, role in enumerate(PROJECT_ROLES):
        assert greater_role(None, role) == role
        for lesser in PROJECT_ROLES[:place]:
            assert greater_role(lesser, role) == greater_role(role, lesser) == role
