from collections.abc import Callable

import pytest

from stores.errors import Forbidden
from stores.ledger import Ledger, ProjectPermit
from stores.ledger.identities import greater_role
from stores.records import PROJECT_ROLES, Access, Identity, ProjectAccess
from tests.stores.ledger.samples import ANN, BOB, ORG, add_project, organization, person


@pytest.fixture(autouse=True)
def project(ledger: Ledger) -> None:
    add_project(ledger, "p1")
    ledger.people.add_membership(BOB, ORG, "member")


def test_the_greater_project_role_counts() -> None:
    for place, role in enumerate(PROJECT_ROLES):
        assert greater_role(None, role) == role
        for lesser in PROJECT_ROLES[:place]:
            assert greater_role(lesser, role) == greater_role(role, lesser) == role


def test_a_provider_ends_no_membership_twice_and_none_at_home(ledger: Ledger) -> None:
    assert [ledger.people.drop_member(each, ORG) for each in (BOB, BOB, ANN)] == ["member", None, None]
    assert [each.user.id for each in ledger.people.members(ORG)] == [ANN]


def test_whoever_created_a_project_and_was_removed_does_not_own_it_again(ledger: Ledger) -> None:
    add_project(ledger, "p2", creator=BOB)
    ledger.people.remove_member(ORG, BOB)
    ledger.people.add_membership(BOB, ORG, "member")
    with ledger.transaction(ORG, ANN) as tx:
        tx.people.set_project_access(ProjectAccess("p2", "org", BOB), keep_creator=True)
    access = ledger.people.access(BOB, ORG)
    assert sorted(access.projects, key=lambda each: each.project_id) == [
        ProjectAccess("p1", "private", ANN),
        ProjectAccess("p2", "org", ""),
    ]
    assert access.roles == {}
    assert ledger.project_members.of_project(ORG, "p2") == []
    ledger.project_members.add(ORG, "p2", BOB, "project_viewer")
    assert ledger.people.access(BOB, ORG).roles == {"p2": "project_viewer"}
    with ledger.transaction(ORG, ANN) as tx:
        tx.people.set_project_access(ProjectAccess("p2", "org", ANN))
    assert ledger.people.access(ANN, ORG).roles["p2"] == "project_owner", "made anew"


def test_what_many_users_were_granted_is_read_at_once(ledger: Ledger) -> None:
    add_project(ledger, "p2", creator=BOB)
    granted = ledger.project_members.granted
    many = [f"u{number}" for number in range(700)]
    assert granted(ORG, [*many, BOB], [*many, "p2"]) == {(BOB, "p2"): "project_owner"}
    assert granted(ORG, [], ["p1"]) == granted(ORG, [ANN], []) == {}


@pytest.mark.parametrize("deed_name", ["add", "change", "remove"])
def test_a_permit_is_asked_with_what_holds_at_the_moment_before_a_role_changes(ledger: Ledger, deed_name: str) -> None:
    def check(identity: Identity | None, access: Access) -> None:
        if access.roles.get("p1") != "project_maintainer":
            raise Forbidden(f"{identity and identity.role} {access.roles}")

    writes: dict[str, Callable[[ProjectPermit], object]] = {
        "add": lambda permit: ledger.project_members.add(ORG, "p1", "eve", "project_viewer", permit=permit),
        "change": lambda permit: ledger.project_members.set_role(ORG, "p1", BOB, "project_viewer", permit=permit),
        "remove": lambda permit: ledger.project_members.remove(ORG, "p1", BOB, permit=permit),
    }
    ledger.people.create_account(person("eve"), organization("org-eve"))
    ledger.people.add_membership("eve", ORG, "member")
    ledger.project_members.add(ORG, "p1", BOB, "project_contributor")
    for actor in (BOB, "nobody"):
        with pytest.raises(Forbidden):
            writes[deed_name](ProjectPermit(actor, check))
    ledger.project_members.set_role(ORG, "p1", BOB, "project_maintainer")
    writes[deed_name](ProjectPermit(BOB, check))
