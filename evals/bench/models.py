"""The models of a server with the default settings, without the server."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from evals.bench.texts import Record
from stores.embedding import Embedder, EmbeddingSpec, build_embedder
from stores.embedding.late import LateEncoder
from stores.errors import EngrainError
from tools.settings import Settings


@dataclass(frozen=True, slots=True)
class Models:
    """Both are loaded."""

    embedder: Embedder
    late: LateEncoder

    def read(self, texts: Sequence[Record]) -> None:
        """Do with some texts what a server has the models do with them."""
        self.embedder.embed_documents([text.searchable for text in texts])
        for text in texts:
            for passage in self.late.split(text.searchable):
                self.late.encode_passage(text.searchable[passage.start : passage.end])


@contextmanager
def bare_models() -> Iterator[Models]:
    """Load them, and let go of them."""
    embedder = build_embedder(EmbeddingSpec(threads=Settings().embedding_threads))
    if embedder is None:
        raise EngrainError("There is no embedder to compare with.")
    late = LateEncoder()
    try:
        embedder.embed_query("load the model")
        late.encode_question("load the model")
        yield Models(embedder, late)
    finally:
        late.close()
        embedder.close()
