"""The question, read once more by the models that look at the best candidates alone."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from typing import NamedTuple, TypeVar

from stores.indexer import OpenIndexes
from stores.language.script import is_latin
from stores.vectors import Vector
from tools.app import App
from tools.retrieval.late import Questions
from tools.retrieval.plan import Plan
from tools.retrieval.second import Question

Read = TypeVar("Read")


class Rereading(NamedTuple):
    """What becomes of the question. Either is None where nothing is to be compared with it."""

    vector: Future[Question] | None
    """By the second model for meaning."""
    tokens: Future[Questions] | None


def read_again(
    app: App, indexes: OpenIndexes, plan: Plan, question: Future[Vector] | None, *, turn: Event
) -> Rereading:
    """Let the models read the question beside everything else.

    They begin at their turn, which comes with the question's vector at the latest. Before that, they would take the
    processors from what looks up the words meanwhile. The second model for meaning has read the letters that the first
    one has: of others it tells nothing.
    """
    has_tokens = indexes.vectors is not None and indexes.vectors.tokens is not None
    if question is None or app.reader is None or not has_tokens or not plan.compares:
        return Rereading(None, None)
    reader = app.reader

    def submit(read: Callable[[str], Read]) -> Future[Read]:
        def read_in_turn() -> Read:
            turn.wait()
            return read(plan.query)

        return app.beside.submit(read_in_turn)

    # Submitted later to the same threads: it never waits for what has not begun.
    question.add_done_callback(lambda _: turn.set())
    second = reader.second if is_latin(plan.query) and "second" not in plan.without else None
    vector = submit(second.embed_question) if second is not None else None
    return Rereading(vector, submit(reader.late.encode_question) if "tokens" not in plan.without else None)
