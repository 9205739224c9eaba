"""Relations and entities as a plain model keeps them, and the clock that it shares with the application."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

SINGLE = {"PART_OF", "CHILD_OF", "BELONGS_TO"}


class Clock:
    """Stands still unless a test turns it, forwards or back: equal moments are the rule."""

    def __init__(self) -> None:
        self.now = datetime(2026, 6, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Fact:
    """A relation as the model keeps it: the four times, its ends, and what was known of when it ends before."""

    id: str
    name: str
    source: str
    target: str
    created: datetime
    valid: datetime
    invalid: datetime | None
    expired: datetime | None = None
    before: list[tuple[datetime, datetime, datetime | None, datetime | None]] = field(default_factory=list)
    """Known from, known to, invalid, expired."""

    def end(self, now: datetime, invalid: datetime | None, *, closed: bool) -> None:
        since = max([self.created, *(until for _, until, _, _ in self.before)])
        until = max(now, since)
        self.before.append((since, until, self.invalid, self.expired))
        self.invalid = invalid
        if closed:
            self.expired = self.expired or until

    def known(self, at: datetime) -> "Fact | None":
        """The fact as it was known at a moment; None: it was not."""
        if self.created > at:
            return None
        for since, until, invalid, expired in self.before:
            if since <= at < until:
                return replace(self, invalid=invalid, expired=expired)
        return self

    def lasts(self, now: datetime) -> bool:
        return self.invalid is None or self.invalid > now

    def is_current(self, now: datetime) -> bool:
        return self.expired is None and self.lasts(now) and self.valid <= max(now, self.created)

    def held(self, at: datetime, known_at: datetime | None = None) -> bool:
        then = self.known(known_at or at)
        return then is not None and then.valid <= at and not then.is_over(at)

    def is_over(self, at: datetime) -> bool:
        return not self.lasts(at) or (self.expired is not None and self.expired <= at)

    def conflicts(self, at: datetime, known_at: datetime) -> bool:
        then = self.known(known_at)
        retires = self.name == "SUPERSEDES" and self.valid <= at
        return then is not None and (then.expired is not None or not then.lasts(at) or retires)

    def row(self) -> tuple[Any, ...]:
        return (self.id, self.name, self.source, self.target, self.created, self.valid, self.invalid, self.expired)


@dataclass
class Thing:
    """An entity as the model keeps it: its type and the fields that state relations."""

    kind: str
    epic: str | None = None
    needs: list[str] = field(default_factory=list)

    def states(self, name: str, target: str) -> bool:
        return (name == "PART_OF" and self.epic == target) or (name == "DEPENDS_ON" and target in self.needs)


def row(view: dict[str, Any]) -> tuple[Any, ...]:
    """The same of a relation as an answer shows it."""
    times = (view[name] for name in ("created_at", "valid_at", "invalid_at", "expired_at"))
    return (
        *(view[name] for name in ("id", "name", "source_id", "target_id")),
        *(None if time is None else datetime.fromisoformat(time) for time in times),
    )
