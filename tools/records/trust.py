"""Trust states of records: what reflection made is proposed until somebody approves it, doubts make it disputed."""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from auth.policy import TRUST_NAMES

TrustState = Literal["proposed", "verified", "disputed"]
"""Rejected records are withheld: no read shows them."""
TRUST, DOUBTFUL, BEFORE = TRUST_NAMES
"""Names in metadata: the state, the doubtful sources, and the state without the doubt."""


def trust_of(metadata: Mapping[str, JsonValue]) -> str | None:
    """Return the trust state; None for what people wrote themselves."""
    state = metadata.get(TRUST)
    return state if isinstance(state, str) else None
