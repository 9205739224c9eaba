"""The parts of a ranking that a server can leave out, to measure what they add."""

from typing import Literal

Part = Literal["alike", "code", "days", "names", "second", "speakers", "threads", "tokens"]
"""What a ranking heeds beside words, meaning, tokens, relations and ages; `docs/retrieval.md` has what each adds."""
NO_SECOND_OPINION = "no second opinion"
"""What a server says of itself where it leaves the second model out."""
