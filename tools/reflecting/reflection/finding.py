"""Findings: spans of notes worth keeping."""

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["decision", "task", "plan", "idea", "claim", "procedure", "artifact", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Sensitivity = Literal["credential", "key", "pii", "private_key", "secret", "token"]
SENSITIVITIES: tuple[Sensitivity, ...] = get_args(Sensitivity)

TITLE_LIMIT = 120

CEILINGS: dict[Kind, float] = {
    "decision": 0.86, "plan": 0.84, "task": 0.82, "artifact": 0.82, "idea": 0.82, "claim": 0.78, "procedure": 0.76,
    "session": 0.60,
}  # fmt: skip
"""Confidence by a label or check box."""
CUED: dict[Kind, float] = {**CEILINGS, "plan": 0.80, "idea": 0.72}
"""Confidence by wording alone."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`content` is `notes[start:end]` to the letter; `count` is the number of equal spans.

    `confidence` estimates the share of such findings that a person would label alike.
    """

    kind: Kind
    title: str
    content: str
    start: int
    end: int
    reason: str
    confidence: float
    tags: tuple[str, ...]
    sensitivity_flags: tuple[Sensitivity, ...] = ()
    count: int = 1
