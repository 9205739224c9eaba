"""What a caller may do to its own account and to the people of an organization, decided in this one place."""

from auth.principal import Principal
from stores.errors import Forbidden
from stores.records import Role

ADMINS: frozenset[Role] = frozenset({"owner", "admin"})


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
    if "owner" in touched:
        require_owner(role, "Giving or taking the role of an owner")


def _too_little(role: Role, what: str, needed: str) -> Forbidden:
    return Forbidden(
        f"Your role in this organization is {role.capitalize()}; {what[:1].lower()}{what[1:]} needs {needed}.",
        details={"actual": role, "expected": needed},
    )
