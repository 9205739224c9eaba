"""The models of a server with the default settings, without a server."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing

from evals.bench.texts import Record
from stores.embedding.late import LateEncoder
from stores.embedding.session import BuiltinEmbedder
from stores.embedding.workers import Workers
from stores.errors import EngrainError
from tools.runtime.settings import Settings


def bare_rate(texts: Sequence[Record]) -> float:
    """Read texts as a server does; return how many per second."""
    with ExitStack() as stack:
        workers = stack.enter_context(closing(Workers(Settings().reading_threads)))
        embedder = stack.enter_context(closing(BuiltinEmbedder(workers)))
        reader = stack.enter_context(closing(LateEncoder(workers)))
        embedder.embed_query("load the model")
        reader.encode_question("ready")
        start = time.perf_counter()
        said = [text.searchable for text in texts]
        embedder.embed_documents(said)
        passages = [text[passage.start : passage.end] for text in said for passage in reader.split(text)]
        if any(found is None for found in reader.encode_passages(passages)):
            raise EngrainError("A model could not read a text.")
        return len(texts) / (time.perf_counter() - start)
