"""What reflection finds: a span of the notes that is worth keeping, of which kind, and how sure that is."""

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["decision", "task", "plan", "idea", "claim", "procedure", "artifact", "session"]
KINDS: tuple[Kind, ...] = get_args(Kind)

Sensitivity = Literal["credential", "key", "pii", "private_key", "secret", "token"]
SENSITIVITIES: tuple[Sensitivity, ...] = get_args(Sensitivity)

TITLE_LIMIT = 120
"""Characters that a title has at most."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One span; `content` is `notes[start:end]` to the letter."""

    kind: Kind
    title: str
    content: str
    start: int
    end: int
    reason: str
    """One sentence: what in the text says so."""
    confidence: float
    """From 0 to 1, about the share of such findings that a person would label alike (docs/reflection.md)."""
    tags: tuple[str, ...]
    sensitivity_flags: tuple[Sensitivity, ...] = ()
    count: int = 1
    """How many spans of the notes say this, nearly in these words; the span is that of the first."""
