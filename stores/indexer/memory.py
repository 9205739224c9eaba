"""Memory budget for the vectors of all organizations."""

from collections.abc import Sequence

from stores.indexer.organization import OpenOrganization


class VectorMemory:
    """Keeps the vectors of the most recently used organizations. Not thread-safe."""

    def __init__(self, budget_bytes: int) -> None:
        self._budget = budget_bytes
        self._dropped: dict[str, int] = {}

    def share(self, organizations: Sequence[OpenOrganization]) -> None:
        room = self._budget
        names = {each.id for each in organizations}
        self._dropped = {each: size for each, size in self._dropped.items() if each in names}
        for each in sorted(organizations, key=lambda one: one.used_at, reverse=True):
            room -= self._settle(each, room)

    def _settle(self, organization: OpenOrganization, room: int) -> int:
        handle = organization.vectors.acquire() if organization.vectors is not None else None
        if handle is None:
            return 0
        try:
            size = handle.index.memory_bytes() or self._dropped.get(organization.id, 0)
            if size > room and organization.id not in self._dropped:
                handle.index.drop_matrix()
                self._dropped[organization.id] = size
            elif size <= room and self._dropped.pop(organization.id, None) is not None:
                handle.index.load_matrix()
            return size if size <= room else 0
        finally:
            handle.release()
