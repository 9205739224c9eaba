"""Relations and entities as a plain model keeps them, and the clock that it shares with the application."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

SINGLE = {"PART_OF", "CHILD_OF", "BELONGS_TO"}


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 6, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@dataclass
class Fact:
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
    kind: str
    epic: str | None = None
    needs: list[str] = field(default_factory=list)

    def states(self, name: str, target: str) -> bool:
        return (name == "PART_OF" and self.epic == target) or (name == "DEPENDS_ON" and target in self.needs)


class Model:
    things: dict[str, Thing]
    facts: list[Fact]

    @property
    def now(self) -> datetime:
        raise NotImplementedError

    def close(self, fact: Fact, invalid: datetime) -> None:
        end = max(invalid, fact.valid)
        fact.end(self.now, end, closed=not (invalid > self.now and end > fact.valid))

    def same(self, name: str, source: str, target: str, dates: tuple[datetime | None, datetime | None]) -> Fact | None:
        for fact in self.facts:
            if (fact.name, fact.source, fact.target, fact.expired) != (name, source, target, None):
                continue
            holds_openly = fact.valid <= max(self.now, fact.created) and fact.invalid is None
            if holds_openly if dates == (None, None) else (fact.valid, fact.invalid) == dates:
                return fact
        return None

    def alike(self, fresh: Fact) -> list[Fact]:
        return [
            old
            for old in self.facts
            if (old.name, old.source) == (fresh.name, fresh.source)
            and self.things[old.target].kind == self.things[fresh.target].kind
        ]

    def rivals(self, fresh: Fact, *, dated: bool = False) -> list[Fact]:
        if fresh.name not in SINGLE or not fresh.lasts(self.now):
            return []
        return [
            old
            for old in self.alike(fresh)
            if old.expired is None
            and old.lasts(self.now)
            and (old.invalid is None or old.invalid > fresh.valid)
            and (fresh.invalid is None or fresh.invalid > old.valid)
            and not (dated and old.valid > fresh.valid)
        ]

    def make_way(self, fresh: Fact) -> datetime | None:
        if fresh.name not in SINGLE:
            return None
        later = [old for old in self.alike(fresh) if old.valid > fresh.valid and old.invalid != old.valid]
        ways = {old.valid for old in later if old.expired is None and old.lasts(self.now)}
        while more := {old.valid for old in later if old.invalid in ways} - ways:
            ways |= more
        if ways and (fresh.invalid is None or fresh.invalid > min(ways)):
            fresh.invalid = min(ways)
        return min(ways, default=None)

    def told_between(self, fresh: Fact, next_at: datetime | None) -> list[Fact]:
        if next_at is None or fresh.invalid != next_at:
            return []
        early = [old for old in self.alike(fresh) if old.valid <= fresh.valid and old.invalid == next_at]
        return [old for old in early if old.target != fresh.target]

    def closes_a_circle(self, name: str, source: str, target: str) -> bool:
        if not (name in ("CHILD_OF", "SUPERSEDES") or (name == "DEPENDS_ON" and self.things[source].kind != "topic")):
            return False
        seen, waiting = {target}, [target]
        while waiting:
            here = waiting.pop()
            for fact in self.facts:
                ends = fact.expired is not None or not fact.lasts(self.now)
                if (fact.name, fact.source) == (name, here) and not ends and fact.target not in seen:
                    seen.add(fact.target)
                    waiting.append(fact.target)
        return source in seen


def row(view: dict[str, Any]) -> tuple[Any, ...]:
    times = (view[name] for name in ("created_at", "valid_at", "invalid_at", "expired_at"))
    return (
        *(view[name] for name in ("id", "name", "source_id", "target_id")),
        *(None if time is None else datetime.fromisoformat(time) for time in times),
    )
