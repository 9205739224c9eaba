from datetime import UTC, datetime

import pytest

from auth.policy import principal_of, require_writable, without_stamped, writable_visibility
from auth.principal import Principal
from stores.errors import Forbidden
from stores.records import ORGANIZATION, Access, Entity, Identity, Organization, ProjectAccess, ProjectRole, Role, User

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


@pytest.mark.parametrize("role", ["owner", "admin"])
def test_owners_and_admins_own_every_project_whatever_they_were_granted(role: Role) -> None:
    bob = principal(role=role, granted={"open": "project_viewer"})
    assert bob.project_roles == {"open": "project_owner", "closed": "project_owner"}
    assert writable_visibility(bob, None, "closed").key == "project:closed"


def test_a_viewer_of_a_project_changes_the_rest_and_what_is_privately_its_own() -> None:
    require_writable(principal(), entity())
    require_writable(principal(), entity("bob", visibility="private:bob", project_id="open"))
    with pytest.raises(Forbidden, match="not change"):
        require_writable(principal(), entity("bob", project_id="open"))


def test_stamped_metadata_is_dropped() -> None:
    assert without_stamped({"principal_id": "x", "organization_id": "y", "scope_key": "z", "k": 1}) == {"k": 1}
