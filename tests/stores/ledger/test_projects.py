import pytest

from stores.errors import Conflict, InvalidRequest, NotFound
from stores.ledger import Ledger
from tests.stores.ledger.samples import ANN, BOB, ORG, OTHER, actions, add_project, deed


@pytest.fixture(autouse=True)
def project(ledger: Ledger) -> None:
    add_project(ledger, "p1")
    ledger.add_membership(BOB, ORG, "member")


def roles(ledger: Ledger) -> list[tuple[str, str]]:
    return [(each.user.id, each.role) for each in ledger.project_members.of_project(ORG, "p1")]


def test_a_project_begins_with_its_creator(ledger: Ledger) -> None:
    assert roles(ledger) == [(ANN, "project_owner")]
    ledger.put_member(BOB, ORG, "owner")
    ledger.remove_member(ORG, ANN)
    assert roles(ledger) == []


def test_a_role_in_a_project_is_given_changed_and_taken(ledger: Ledger) -> None:
    ledger.project_members.add(ORG, "p1", BOB, "project_viewer", deed("project_member.add"))
    assert roles(ledger) == [(ANN, "project_owner"), (BOB, "project_viewer")]
    changed = deed("project_member.update")
    assert ledger.project_members.set_role(ORG, "p1", BOB, "project_maintainer", changed) == "project_viewer"
    assert ledger.access(BOB, ORG).roles == {"p1": "project_maintainer"}
    assert ledger.project_members.remove(ORG, "p1", BOB, deed("project_member.remove")) == "project_maintainer"
    assert roles(ledger) == [(ANN, "project_owner")]
    assert actions(ledger) == ["project_member.remove", "project_member.update", "project_member.add"]


def test_only_members_of_the_organization_get_roles_in_known_projects_and_once(ledger: Ledger) -> None:
    members = ledger.project_members
    with pytest.raises(NotFound, match="project"):
        members.of_project(ORG, "unknown")
    with pytest.raises(NotFound, match="project"):
        members.add(ORG, "unknown", BOB, "project_viewer")
    with pytest.raises(NotFound, match="project"):
        members.add(OTHER, "p1", BOB, "project_viewer")
    with pytest.raises(InvalidRequest, match="no member"):
        members.add(ORG, "p1", "nobody", "project_viewer")
    members.add(ORG, "p1", BOB, "project_viewer")
    with pytest.raises(Conflict):
        members.add(ORG, "p1", BOB, "project_owner")
    assert roles(ledger) == [(ANN, "project_owner"), (BOB, "project_viewer")]


def test_a_creator_stays_the_owner(ledger: Ledger) -> None:
    members = ledger.project_members
    with pytest.raises(Conflict):
        members.add(ORG, "p1", ANN, "project_viewer")
    with pytest.raises(InvalidRequest, match="owner"):
        members.set_role(ORG, "p1", ANN, "project_viewer")
    with pytest.raises(InvalidRequest, match="owner"):
        members.remove(ORG, "p1", ANN)
    with pytest.raises(NotFound):
        members.set_role(ORG, "p1", BOB, "project_viewer")
    with pytest.raises(NotFound):
        members.remove(ORG, "p1", BOB)
    with pytest.raises(NotFound):
        members.remove(ORG, "unknown", BOB)
