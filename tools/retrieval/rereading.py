"""The question, read once more by the models that look at the best candidates alone."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from threading import Lock
from typing import Generic, NamedTuple, TypeVar

from stores.indexer import OpenIndexes
from stores.language.script import is_latin
from stores.lexical import LexicalIndex, LexicalResult
from tools.app import App
from tools.retrieval.late import Questions
from tools.retrieval.plan import Plan
from tools.retrieval.second import AMONG, Question

Read = TypeVar("Read")


class Reading(Generic[Read]):
    """One model, and the question that it reads beside everything else once it is told to. Any thread may tell it."""

    def __init__(self, beside: Executor, read: Callable[[str], Read], query: str) -> None:
        self._beside, self._read, self._query = beside, read, query
        self._lock = Lock()
        self._begun: Future[Read] | None = None

    def begin(self) -> Future[Read]:
        """Let it read, unless it does already."""
        with self._lock:
            if self._begun is None:
                self._begun = self._beside.submit(self._read, self._query)
            return self._begun


class Rereading(NamedTuple):
    """What becomes of the question. Either is None where nothing is to be compared with it."""

    vector: Reading[Question] | None
    """By the second model for meaning, which has read the letters that the first one has: of others it tells nothing.
    """
    tokens: Reading[Questions] | None


def read_again(app: App, indexes: OpenIndexes, plan: Plan) -> Rereading:
    """Let the tokens of the question be read at once; the second model begins when it is told to."""
    has_tokens = indexes.vectors is not None and indexes.vectors.tokens is not None
    if app.reader is None or not has_tokens or not plan.compares:
        return Rereading(None, None)
    reader = app.reader
    second = reader.second if is_latin(plan.query) and "second" not in plan.without else None
    vector = Reading(app.beside, second.embed_question, plan.query) if second is not None else None
    if "tokens" in plan.without:
        return Rereading(vector, None)
    tokens = Reading(app.beside, reader.late.encode_question, plan.query)
    tokens.begin()
    return Rereading(vector, tokens)


def begin_second(reread: Rereading, index: LexicalIndex | None, plan: Plan, words: LexicalResult) -> None:
    """Let the second model read the question, now that its words are looked up.

    It is asked of nothing that stands in a thread: where all that holds the words does, it waits until there is
    something else.
    """
    if reread.vector is not None and (index is None or not plan.heeds_threads or _is_any_alone(index, words)):
        reread.vector.begin()


def _is_any_alone(index: LexicalIndex, words: LexicalResult) -> bool:
    """Tell whether one of the best records stands in no thread, or there is none."""
    best = words.hits.ids[:AMONG]
    return not best or len(set(index.around(best, 1).owners)) < len(best)
