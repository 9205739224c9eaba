"""What a caller may do to its own account and to the people of an organization, decided in this one place."""

from auth.policy import ADMINS, no_project
from auth.principal import Principal
from stores.errors import Forbidden
from stores.records import GIVEN_BY, Role


def require_session(principal: Principal) -> str:
    """Return the caller's session: accounts and memberships are managed by people who signed in, never by keys.

    Raises:
        Forbidden: The caller presented another credential than a session's token.
    """
    if principal.session_id is None:
        raise Forbidden(
            "Only somebody who signed in may do this.", remediation="Log in, and send the access token of that session."
        )
    return principal.session_id


def require_admin(role: Role, what: str) -> None:
    """Refuse whoever is neither owner nor admin of the organization that it is about.

    Raises:
        Forbidden: The role is not enough.
    """
    if role not in ADMINS:
        raise _too_little(role, what, "Admin or Owner")


def require_owner(role: Role, what: str) -> None:
    """Refuse whoever is no owner of the organization that it is about.

    Raises:
        Forbidden: The role is not enough.
    """
    if role != "owner":
        raise _too_little(role, what, "Owner")


def require_may_give(role: Role, *touched: Role) -> None:
    """Refuse to give or take roles in an organization: admins may, and owners alone touch the role of an owner.

    Raises:
        Forbidden: The caller's role is not enough for the roles before and after.
    """
    require_admin(role, "Managing members")
    if not GIVEN_BY[role].issuperset(touched):
        require_owner(role, "Giving or taking the role of an owner")


def _too_little(role: Role, what: str, needed: str) -> Forbidden:
    return Forbidden(
        f"Your role in this organization is {role.capitalize()}; {what[:1].lower()}{what[1:]} needs {needed}.",
        details={"actual": role, "expected": needed},
    )


def may_manage_project(principal: Principal, project_id: str) -> bool:
    """Tell whether the caller gives and takes roles in a project: its maintainers and owners do."""
    return principal.may_write_in(project_id, "project_maintainer")


def require_project_manager(principal: Principal, project_id: str) -> None:
    """Refuse whoever may not give and take roles in a project; one that it cannot see does not exist for it.

    Raises:
        NotFound: There is no such project for this caller.
        Forbidden: The caller did not sign in, or is neither maintainer nor owner of the project.
    """
    if project_id not in principal.project_roles:
        raise no_project(project_id)
    require_session(principal)
    if not may_manage_project(principal, project_id):
        raise Forbidden(
            f"Managing the members of project {project_id} needs a maintainer or owner of it.",
            remediation="Ask a maintainer or an owner of the project.",
        )
