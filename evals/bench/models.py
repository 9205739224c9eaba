"""The models of a server with the default settings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from evals.bench.texts import Record
from stores.embedding.builtin import BuiltinEmbedder
from stores.embedding.late import LateEncoder
from stores.embedding.workers import Workers
from stores.errors import EngrainError
from tools.runtime.settings import Settings


@dataclass(frozen=True, slots=True)
class Models:
    embedder: BuiltinEmbedder
    reader: LateEncoder

    def read(self, texts: Sequence[Record]) -> None:
        """Process texts as a server does."""
        self.embedder.embed_documents([text.searchable for text in texts])
        passages = [
            text.searchable[passage.start : passage.end]
            for text in texts
            for passage in self.reader.split(text.searchable)
        ]
        if any(found is None for found in self.reader.encode_passages(passages)):
            raise EngrainError("A model could not read a text.")


@contextmanager
def bare_models() -> Iterator[Models]:
    workers = Workers(Settings().reading_threads)
    embedder = BuiltinEmbedder(workers)
    reader = LateEncoder(workers)
    try:
        embedder.embed_query("load the model")
        reader.encode_question("ready")
        yield Models(embedder, reader)
    finally:
        reader.close()
        embedder.close()
        workers.close()
