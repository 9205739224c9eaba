"""As many questions at once as the machine carries: what only takes processor time is done in turns."""

from collections.abc import Callable
from typing import TypeVar

from tools.app import App
from tools.threads import in_thread, in_turn

T = TypeVar("T")


async def answered(app: App, organization_id: str, answer: Callable[[], T]) -> T:
    """Answer a question of an organization in a worker thread, in its turn.

    One that may wait for something else, an index that is being opened or a model elsewhere, takes nobody's turn.
    """
    is_here = app.settings.embedding_provider in ("builtin", "none")
    if is_here and app.indexer.is_settled(organization_id):
        return await in_turn(app.retrieval_turns, answer)
    return await in_thread(answer)
