"""What a row of the cue table is, how strong cues are, and what the kinds can reach."""

from dataclasses import dataclass

from tools.reflection.finding import Kind

SURE, CLEAR, FAIR, WEAK = 1.0, 0.93, 0.85, 0.72

CEILINGS: dict[Kind, float] = {
    "decision": 0.86,
    "plan": 0.84,
    "task": 0.82,
    "artifact": 0.82,
    "idea": 0.82,
    "claim": 0.78,
    "procedure": 0.76,
    "session": 0.60,
}
"""The confidence of a finding that is announced by a label or a check box."""
CUED: dict[Kind, float] = {**CEILINGS, "plan": 0.80, "idea": 0.72}
"""The confidence of a finding that only its wording announces."""


@dataclass(frozen=True, slots=True)
class Row:
    """Phrases, one a line, that say the same."""

    kind: Kind
    strength: float
    says: str
    """What such words do; with the words before it, it is the reason of a finding."""
    phrases: str
