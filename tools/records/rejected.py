"""Refusal of words that were marked wrong in the scope in which they are written again."""

from collections.abc import Iterable

from auth.policy import Visibility
from stores.errors import Conflict
from stores.ledger import Transaction
from stores.records import Entity, EntityDraft


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
    """Raise Conflict if one of the drafts states what was marked wrong."""
    found = rejected_among(tx, drafts)
    if found:
        raise rejection(next(iter(found.values())))


def rejection(memory_id: str) -> Conflict:
    return Conflict(
        f"These words were marked wrong in this scope (memory {memory_id}), so they are not kept again.",
        remediation="Write what is right; or, if they are right after all, have an owner or admin restore "
        f"{memory_id} with POST /api/memory/inspect/{memory_id}/corrections.",
        details={"rejected": memory_id},
    )
