"""Records to embed that the feed does not bring: missing ones, or all on request."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from stores.indexer.folders import marker

MISSING, ALL = "missing", "all"


class Backfill:
    """Guarded by the lane's lock. A marker beside the generation outlives the process."""

    def __init__(self, generation: Path | None = None) -> None:
        self._marker = marker(generation) if generation is not None else None
        self._waiting: deque[str] = deque()
        self._under_way: set[str] = set()
        self.total = 0
        self.active = False

    @property
    def asked(self) -> str:
        return self._marker.read_text("utf-8") if self._marker is not None and self._marker.exists() else ""

    @property
    def waits(self) -> bool:
        return bool(self._waiting)

    def is_done(self, left_out: Collection[str] = ()) -> bool:
        return not self._waiting and self._under_way.issubset(left_out)

    @property
    def left(self) -> frozenset[str]:
        return frozenset(self._waiting).union(self._under_way)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._under_way)

    @property
    def detail(self) -> str:
        return f"{self.total - len(self)} of {self.total} records embedded"

    def ask(self, mode: str) -> None:
        if self._marker is not None:
            self._marker.write_text(mode, "utf-8")

    def begin(self, mode: str, expected: Mapping[str, int], held: Mapping[str, int]) -> None:
        """Queue the differences: records to remove first, then those to embed."""
        gone = [each for each in held if each not in expected]
        wanted = [each for each, revision in expected.items() if mode == ALL or held.get(each) != revision]
        self._waiting, self._under_way = deque([*gone, *wanted]), set()
        self.total, self.active = len(self._waiting), True

    def next(self, limit: int) -> Collection[str]:
        ids = [self._waiting.popleft() for _ in range(min(limit, len(self._waiting)))]
        self._under_way.update(ids)
        return ids

    def embedded(self, record_ids: Iterable[str]) -> None:
        self._under_way.difference_update(record_ids)

    def end(self) -> None:
        """End; the marker stays where records are left out, for the next opening."""
        self.active = False
        if self._under_way:
            self.ask(MISSING)
        elif self._marker is not None:
            self._marker.unlink(missing_ok=True)
