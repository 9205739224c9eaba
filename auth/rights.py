"""Rights over accounts and memberships; decided nowhere else."""

from auth.policy import ADMINS, NoProject
from auth.principal import Principal
from stores.errors import Forbidden
from stores.records import GIVEN_BY, Role


def require_session(principal: Principal) -> str:
    if principal.session_id is None:
        raise Forbidden(
            "Only somebody who signed in may do this.", remediation="Log in, and send the access token of that session."
        )
    return principal.session_id


def require_admin(role: Role, what: str) -> None:
    """Require owner or admin; `what` begins the refusal."""
    if role not in ADMINS:
        raise _too_little(role, what, "Admin or Owner")


def require_owner(role: Role, what: str) -> None:
    if role != "owner":
        raise _too_little(role, what, "Owner")


def require_may_give(role: Role, *touched: Role) -> None:
    """Require admin to give and take roles, and owner to touch an owner's."""
    require_admin(role, "Managing members")
    if not GIVEN_BY[role].issuperset(touched):
        require_owner(role, "Giving or taking the role of an owner")


def _too_little(role: Role, what: str, needed: str) -> Forbidden:
    return Forbidden(
        f"Your role in this organization is {role.capitalize()}; {what[:1].lower()}{what[1:]} needs {needed}.",
        details={"actual": role, "expected": needed},
    )


def may_manage_project(principal: Principal, project_id: str) -> bool:
    return principal.may_write_in(project_id, "project_maintainer")


def require_project_manager(principal: Principal, project_id: str) -> None:
    if project_id not in principal.project_roles:
        raise NoProject(project_id)
    require_session(principal)
    if not may_manage_project(principal, project_id):
        raise Forbidden(
            f"Managing the members of project {project_id} needs a maintainer or owner of it.",
            remediation="Ask a maintainer or an owner of the project.",
        )
