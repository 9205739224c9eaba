"""Lifecycle of a raw memory: each correction moves its state and its flags."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from auth.visibility import plain_key, withheld_key
from stores.records import Entity, RawMemory

LifecycleState = Literal["active", "contested", "superseded", "archived", "deleted"]
Flag = Literal["hidden", "redacted", "sensitive"]
CorrectionAction = Literal[
    "delete", "hide", "mark_duplicate", "mark_sensitive", "mark_stale", "mark_wrong", "redact", "revise", "restore",
    "supersede",
]  # fmt: skip
STEPS = 200
"""Most corrections that a memory remembers."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Effect of an action; a state or flag of None stays as it is."""

    state: LifecycleState | None = None
    flag: Flag | None = None
    needs: str | None = None
    """Field of the request without which it is refused."""
    is_reversible: bool = True


RULES: Mapping[CorrectionAction, Rule] = {
    "delete": Rule(state="deleted", is_reversible=False),
    "hide": Rule(flag="hidden"),
    "mark_duplicate": Rule(state="contested", needs="duplicate_of_source_id"),
    "mark_sensitive": Rule(flag="sensitive"),
    "mark_stale": Rule(state="contested"),
    "mark_wrong": Rule(state="contested"),
    "redact": Rule(flag="redacted", is_reversible=False),
    "revise": Rule(needs="revised_content"),
    "restore": Rule(state="active"),
    "supersede": Rule(state="superseded", needs="replacement_source_id"),
}


class Step(BaseModel):
    """One correction."""

    action: CorrectionAction
    reason: str | None
    actor_id: str
    created_at: datetime
    prior_state: LifecycleState
    prior_flags: list[Flag]
    prior_revision: int
    other_id: str | None = None
    """The replacement, or the memory of which this is a duplicate."""


class Lifecycle(BaseModel):
    """State and flags of a raw memory, and the corrections that led there, the latest last."""

    state: LifecycleState = "active"
    flags: list[Flag] = []
    steps: list[Step] = []

    @classmethod
    def of(cls, memory: RawMemory) -> "Lifecycle":
        stored = memory.capture.lifecycle
        found = cls() if stored is None else cls.model_validate(stored)
        if found.state == "active" and memory.capture.review_state == "archived":
            return found.model_copy(update={"state": "archived"})
        return found

    @property
    def is_recallable(self) -> bool:
        return self.state == "active" and not self.flags

    @property
    def is_withheld(self) -> bool:
        """Return True if no read but inspection shows the memory; archived ones are only left out of recalls."""
        return bool(self.flags) or self.state not in ("active", "archived")

    @property
    def last(self) -> Step | None:
        return self.steps[-1] if self.steps else None

    @property
    def since_restored(self) -> list[Step]:
        """Return the corrections that a restoration would undo."""
        restored = [place for place, each in enumerate(self.steps) if each.action == "restore"]
        return self.steps[restored[-1] + 1 :] if restored else self.steps

    def after(self, step: Step) -> "Lifecycle":
        rule = RULES[step.action]
        flags = [*self.flags, rule.flag] if rule.flag and rule.flag not in self.flags else self.flags
        return Lifecycle(
            state=rule.state or self.state,
            flags=[] if step.action == "restore" else flags,
            steps=[*self.steps, step][-STEPS:],
        )


def is_withheld(record: Entity) -> bool:
    return record.visibility != plain_key(record.visibility)


def placed(record: Entity, *, withheld: bool) -> Entity:
    """Take a record out of every read, or give it its own visibility key back."""
    key = plain_key(record.visibility)
    return replace(record, visibility=withheld_key(key) if withheld else key)
