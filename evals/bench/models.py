"""The models of a server with the default settings, without the server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from evals.bench.texts import Record
from stores.embedding import Embedder, EmbeddingSpec, build_embedder
from stores.embedding.close import CloseReader
from stores.errors import EngrainError
from tools.settings import Settings


@dataclass(frozen=True, slots=True)
class Models:
    """All are loaded."""

    embedder: Embedder
    reader: CloseReader

    def read(self, texts: Sequence[Record]) -> None:
        """Do with some texts what a server has the models do with them."""
        self.embedder.embed_documents([text.searchable for text in texts])
        self.reader.encode_passages(
            [
                text.searchable[passage.start : passage.end]
                for text in texts
                for passage in self.reader.split(text.searchable)
            ]
        )


@contextmanager
def bare_models() -> Iterator[Models]:
    """Load them, and let go of them."""
    settings = Settings()
    embedder = build_embedder(EmbeddingSpec(threads=settings.reading_threads))
    if embedder is None:
        raise EngrainError("There is no embedder to compare with.")
    reader = CloseReader(asks_second=settings.asks_second_opinion, threads=settings.reading_threads)
    try:
        # A passage, as after a question one text is read at a time for a while.
        embedder.embed_documents(["load the model"])
        reader.encode_passage("ready")
        yield Models(embedder, reader)
    finally:
        reader.close()
        embedder.close()
