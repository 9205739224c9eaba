"""Callers that were looked up a moment ago, as long as no rights have changed since."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from auth.principal import Principal

MOST = 4_096
"""Tokens that are remembered."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a token stood for, in one version of everybody's rights and until a moment."""

    principal: Principal
    version: int
    until: float
    """Seconds since 1970 when the token or its session ends."""


class RecentPrincipals:
    """Remembers by token. Any change of anybody's rights outdates everything, so a revoked right never lingers."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: OrderedDict[str, Found] = OrderedDict()

    def get(self, token: str, version: int, now: float) -> Principal | None:
        """The caller, where it was looked up in this version of the rights and has not expired."""
        with self._lock:
            found = self._found.get(token)
            if found is None:
                return None
            if found.version != version or found.until <= now:
                del self._found[token]
                return None
            self._found.move_to_end(token)
            return found.principal

    def keep(self, token: str, found: Found) -> None:
        """Remember a caller; forget the one that was not seen for longest when there are too many."""
        with self._lock:
            self._found[token] = found
            self._found.move_to_end(token)
            if len(self._found) > MOST:
                self._found.popitem(last=False)
