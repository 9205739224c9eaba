"""Trust states of records: what reflection made is proposed until somebody approves it, doubts make it disputed."""

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import JsonValue

TrustState = Literal["proposed", "verified", "disputed"]
"""Rejected records are withheld: no read shows them."""
TRUST, DOUBTFUL, BEFORE = "trust_state", "disputed_sources", "undisputed_state"
"""Names in metadata, which callers cannot set: the state, the doubtful sources, and the state without the doubt."""
_STATES = get_args(TrustState)


def trust_of(metadata: Mapping[str, JsonValue]) -> str | None:
    """Return the trust state; None for what people wrote themselves."""
    state = metadata.get(TRUST)
    return state if isinstance(state, str) and state in _STATES else None
