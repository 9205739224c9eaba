from datetime import UTC, datetime

import pytest

from auth.policy import (
    may_read,
    narrowed_to,
    principal_of,
    require_scope_change,
    require_writable,
    without_stamped,
    writable_visibility,
)
from auth.principal import Principal
from stores.errors import Forbidden, InvalidRequest
from stores.records import (
    ORGANIZATION,
    PROJECT_ROLES,
    Access,
    Entity,
    Identity,
    Organization,
    ProjectAccess,
    ProjectRole,
    Role,
    User,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROJECTS = (ProjectAccess("open", "org", "ann"), ProjectAccess("closed", "private", "ann"))


def principal(
    user_id: str = "bob",
    role: Role = "member",
    granted: dict[str, ProjectRole] | None = None,
    teams: tuple[str, ...] = (),
) -> Principal:
    roles: dict[str, ProjectRole] = {
        **(granted or {}),
        **{each.project_id: "project_owner" for each in PROJECTS if each.creator_id == user_id},
    }
    user = User(user_id, f"{user_id}@example.org", user_id, None, False, None, None, NOW)
    organization = Organization("o", "O", "o", False, NOW)
    return principal_of(Identity(user, organization, role, None), Access(PROJECTS, roles, frozenset(teams)))


def entity(author_id: str = "ann", *, visibility: str = ORGANIZATION, project_id: str | None = None) -> Entity:
    return Entity(
        "o", "e", "note", "n", "", "", None, (), (), {}, None, visibility, ORGANIZATION, None, project_id, author_id, 1,
        NOW, NOW,
    )  # fmt: skip


def test_a_member_sees_the_organization_itself_and_open_projects() -> None:
    assert principal().visible == {"organization", "private:bob", "project:open"}


@pytest.mark.parametrize(("user_id", "role"), [("ann", "member"), ("bob", "admin"), ("bob", "owner")])
def test_a_private_project_is_its_creators_and_the_admins(user_id: str, role: Role) -> None:
    assert may_read(principal(user_id, role), "project:closed")


def test_nobody_sees_anothers_private_records_not_even_the_owner() -> None:
    assert not may_read(principal("bob", "owner"), "private:ann")


def test_the_members_of_a_team_see_what_is_the_teams() -> None:
    assert may_read(principal(teams=("t1",)), "team:t1")
    assert not may_read(principal("bob", "owner"), "team:t1")


@pytest.mark.parametrize("granted", PROJECT_ROLES)
@pytest.mark.parametrize("project", ["open", "closed"])
def test_contributors_and_above_write_and_viewers_only_read(granted: ProjectRole, project: str) -> None:
    bob = principal(granted={project: granted})
    assert bob.project_roles[project] == granted
    if granted == "project_viewer":
        with pytest.raises(Forbidden, match="not write"):
            writable_visibility(bob, None, project)
        with pytest.raises(Forbidden, match="not change"):
            require_writable(bob, entity(project_id=project))
    else:
        assert writable_visibility(bob, None, project).key == f"project:{project}"
        require_writable(bob, entity(project_id=project))


def test_a_project_that_is_open_to_the_organization_is_read_by_its_members() -> None:
    assert principal().project_roles == {"open": "project_viewer"}
    with pytest.raises(Forbidden, match="not write"):
        writable_visibility(principal(), None, "open")


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_owners_and_admins_own_every_project_whatever_they_were_granted(role: Role) -> None:
    bob = principal(role=role, granted={"open": "project_viewer"})
    assert bob.project_roles == {"open": "project_owner", "closed": "project_owner"}
    assert writable_visibility(bob, None, "closed").key == "project:closed"


def test_a_viewer_of_the_organization_writes_in_no_project_not_even_its_own() -> None:
    for who in (principal(role="viewer", granted={"open": "project_maintainer"}), principal("ann", "viewer")):
        with pytest.raises(Forbidden, match="not write"):
            writable_visibility(who, None, "open")


def test_a_viewer_of_a_project_changes_the_rest_and_what_is_privately_its_own() -> None:
    require_writable(principal(), entity())
    require_writable(principal(), entity("bob", visibility="private:bob", project_id="open"))
    with pytest.raises(Forbidden, match="not change"):
        require_writable(principal(), entity("bob", project_id="open"))


def test_without_a_scope_the_project_decides_then_the_organization() -> None:
    assert writable_visibility(principal("ann"), None, "open").key == "project:open"
    assert writable_visibility(principal(), None, None).key == "organization"
    assert writable_visibility(principal("ann"), "private", "open").key == "private:ann"


def test_a_teams_scope_is_for_those_who_are_in_it() -> None:
    ann = principal("ann", teams=("t1",))
    assert writable_visibility(ann, "team", None, scope_key="t1").key == "team:t1"
    assert writable_visibility(ann, "team", "open", scope_key="t1").scope_key == "t1"
    for who, team in ((ann, "t2"), (principal("bob", "owner"), "t1"), (narrowed_to(ann, ["open"]), "t1")):
        with pytest.raises(Forbidden, match="unverified_membership"):
            writable_visibility(who, "team", "open", scope_key=team)
    for nothing in (None, "", 5, ["t1"]):
        with pytest.raises(InvalidRequest, match="missing_scope_key"):
            writable_visibility(ann, "team", None, scope_key=nothing)


def test_stamped_metadata_is_dropped() -> None:
    assert without_stamped({"principal_id": "x", "organization_id": "y", "scope_key": "z", "k": 1}) == {"k": 1}


def test_only_author_owner_or_admin_changes_who_may_read() -> None:
    require_scope_change(principal("ann"), entity("ann"))
    require_scope_change(principal("bob", "admin"), entity("ann"))
    with pytest.raises(Forbidden, match="author"):
        require_scope_change(principal("bob"), entity("ann"))
