"""Trust in records: reflection proposes, people approve, doubts dispute, and words marked wrong are refused."""

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import JsonValue

from auth.policy import TRUST_NAMES, Visibility
from stores.errors import Conflict
from stores.ledger import Transaction
from stores.records import Entity, EntityDraft

TrustState = Literal["proposed", "verified", "disputed"]
"""Rejected records are withheld: no read shows them."""
TRUST, DOUBTFUL, BEFORE = TRUST_NAMES
"""Names in metadata: the state, the doubtful sources, and the state without the doubt."""


def trust_of(metadata: Mapping[str, JsonValue]) -> str | None:
    """Return the trust state; None for records that people wrote."""
    state = metadata.get(TRUST)
    return state if isinstance(state, str) else None


def scope_of_words(record: Entity | EntityDraft | Visibility, author_id: str) -> str:
    """Return the scope in which words are rejected: that of the record, for private ones its author's."""
    key = author_id if record.memory_scope == "private" else record.scope_key or ""
    return f"{record.memory_scope}:{key}"


def rejected_among(tx: Transaction, drafts: Iterable[Entity | EntityDraft]) -> dict[str, str]:
    """Return the ids of memories that were marked wrong, by the id of the draft that states the same."""
    found: dict[str, str] = {}
    by_scope: dict[str, dict[str, str]] = {}
    for draft in drafts:
        by_scope.setdefault(scope_of_words(draft, tx.actor_id), {})[draft.id] = draft.content
    for scope, contents in by_scope.items():
        wrong = tx.rejections.rejected(scope, contents.values())
        found |= {each: wrong[content] for each, content in contents.items() if content in wrong}
    return found


def require_not_rejected(tx: Transaction, drafts: Iterable[Entity | EntityDraft]) -> None:
    """Raise Conflict if one of the drafts repeats words that were marked wrong."""
    found = rejected_among(tx, drafts)
    if found:
        raise rejection(next(iter(found.values())))


def rejection(memory_id: str) -> Conflict:
    return Conflict(
        f"These words were marked wrong in this scope (memory {memory_id}), so they are not kept again.",
        remediation="Write the right statement; or, if these words are right after all, have an owner or admin restore "
        f"{memory_id} with POST /api/memory/inspect/{memory_id}/corrections.",
        details={"rejected": memory_id},
    )
