"""Concurrency limit of searches, which are CPU-bound."""

from collections.abc import Callable
from typing import TypeVar

from tools.app import App
from tools.runtime.threads import in_thread, in_turn

T = TypeVar("T")


async def answered(app: App, organization_id: str, answer: Callable[[], T]) -> T:
    """Run a search in a thread, limited unless it may wait for an index or a remote model."""
    is_here = app.settings.embedding_provider in ("builtin", "none")
    if is_here and app.indexer.is_settled(organization_id):
        return await in_turn(app.retrieval_turns, answer)
    return await in_thread(answer)
