"""What a caller may do to its own account and to the people of an organization, decided in this one place."""

from auth.principal import Principal
from stores.errors import Forbidden


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
