"""Who may read and write what."""

from datetime import UTC, datetime

import pytest

from auth.policy import may_read, principal_of, require_scope_change, without_stamped, writable_visibility
from auth.principal import Principal
from stores.errors import Forbidden, InvalidRequest, NotFound, ValidationFailed
from stores.records import Entity, Identity, Organization, ProjectAccess, Role, User

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PROJECTS = [ProjectAccess("open", "org", "ann"), ProjectAccess("closed", "private", "ann")]


def principal(user_id: str = "bob", role: Role = "member") -> Principal:
    user = User(user_id, f"{user_id}@example.org", user_id, None, False, None, None, NOW)
    organization = Organization("o", "O", "o", False, NOW)
    return principal_of(Identity(user, organization, role, None), PROJECTS)


def test_a_member_sees_the_organization_itself_and_open_projects() -> None:
    assert principal().visible == {"organization", "private:bob", "project:open"}


@pytest.mark.parametrize(("user_id", "role"), [("ann", "member"), ("bob", "admin"), ("bob", "owner")])
def test_a_private_project_is_its_creators_and_the_admins(user_id: str, role: Role) -> None:
    assert may_read(principal(user_id, role), "project:closed")


def test_nobody_sees_anothers_private_records_not_even_the_owner() -> None:
    assert not may_read(principal("bob", "owner"), "private:ann")


def test_a_viewer_reads_projects_and_writes_in_none() -> None:
    with pytest.raises(Forbidden, match="not write"):
        writable_visibility(principal(role="viewer"), None, "open")


def test_without_a_scope_the_project_decides_then_the_organization() -> None:
    assert writable_visibility(principal(), None, "open").key == "project:open"
    assert writable_visibility(principal(), None, None).key == "organization"
    assert writable_visibility(principal(), "private", "open").key == "private:bob"


def test_a_project_that_one_may_not_see_does_not_exist() -> None:
    for project in ("closed", "nowhere"):
        with pytest.raises(NotFound):
            writable_visibility(principal(), None, project)


@pytest.mark.parametrize(
    ("scope", "error", "word"),
    [
        ("project", InvalidRequest, "missing_scope_key"),
        ("public", Forbidden, "scope_not_enabled"),
        ("team", Forbidden, "unverified_membership"),
        ("shared", Forbidden, "unverified_membership"),
        ("delegated", Forbidden, "unverified_membership"),
        ("everyone", ValidationFailed, "not a memory scope"),
        (5, ValidationFailed, "not a memory scope"),
    ],
)
def test_a_scope_that_does_not_hold_is_refused(scope: object, error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        writable_visibility(principal(), scope, None)  # type: ignore[arg-type]  # what a client may send


def test_stamped_metadata_is_dropped() -> None:
    assert without_stamped({"principal_id": "x", "organization_id": "y", "scope_key": "z", "k": 1}) == {"k": 1}


def test_only_author_owner_or_admin_changes_who_may_read() -> None:
    entity = Entity(
        "o",
        "e",
        "note",
        "n",
        "",
        "",
        None,
        (),
        (),
        {},
        None,
        "organization",
        "organization",
        None,
        None,
        "ann",
        1,
        NOW,
        NOW,
    )
    require_scope_change(principal("ann"), entity)
    require_scope_change(principal("bob", "admin"), entity)
    with pytest.raises(Forbidden, match="author"):
        require_scope_change(principal("bob"), entity)
