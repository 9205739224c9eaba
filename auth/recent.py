"""Principal cache, invalidated by any change of rights."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from auth.principal import Principal

MOST = 4_096


@dataclass(frozen=True, slots=True)
class Found:
    """Caller of a token, for one version of the rights."""

    principal: Principal
    version: int
    until: float
    """Seconds since 1970."""


class RecentPrincipals:
    def __init__(self) -> None:
        self._lock = Lock()
        self._found: OrderedDict[str, Found] = OrderedDict()

    def get(self, token: str, version: int, now: float) -> Principal | None:
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
        with self._lock:
            self._found[token] = found
            self._found.move_to_end(token)
            if len(self._found) > MOST:
                self._found.popitem(last=False)
