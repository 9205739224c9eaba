"""The cost of the engines alone: index classes called directly, without server or HTTP."""

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from evals.bench.models import Models
from evals.bench.texts import Record
from evals.timing import Spread, spread, timed_ms
from stores.graph import GraphIndex, NeighbourQuery
from stores.index import IndexBatch
from stores.lexical import LexicalIndex
from stores.records import ORGANIZATION, Entity, IndexFilter, Position
from stores.vectors import EmbeddedPassage, EmbeddedRecord, VectorIndex, VectorState

CANDIDATES = 50
ORIGINS = READ = 10
"""One-hop reads and rows of a search for ten results."""
_EVERYTHING = IndexFilter(frozenset({ORGANIZATION}))
_NOW = datetime(2024, 5, 1, tzinfo=UTC)
_PAGE = 1000

Floors = Mapping[str, Spread]
"""Milliseconds by part."""
_QUESTION = ("embed_question", "encode_question", "lexical_search", "vectors_search")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "get": ("ledger_read",),
    "acknowledged": ("ledger_commit",),
    "visible": (
        "ledger_commit", "embed_record", "encode_record", "lexical_write", "graph_write", "vectors_write",
    ),
    "recall": (*_QUESTION, "ledger_read_page"),
    "search": (*_QUESTION, "graph_hop", "ledger_read_page"),
}  # fmt: skip


def floor_of(request: str, floors: Floors) -> float:
    """Add up the parts that a request needs at least."""
    return sum(floors[part].p50 for part in _PARTS[request])


def measure_floors(
    texts: Sequence[Record], fresh: Sequence[Record], questions: Sequence[str], models: Models
) -> Floors:
    """Time single calls on indexes of these records with random vectors: ten seconds per 10,000 records."""
    with tempfile.TemporaryDirectory(prefix="engrain-bench-") as folder, ExitStack() as stack:
        bare = stack.enter_context(_bare(Path(folder), texts))
        written = [_entity(text, len(texts) + number) for number, text in enumerate(fresh)]
        embedder, reader = models.embedder, models.reader
        vectors = embedder.embed_documents(list(questions))
        ids = [entity.id for entity in written]
        times = {
            "ledger_commit": timed_ms(bare.commit, written),
            "ledger_read": timed_ms(lambda one: bare.read([one]), ids),
            "ledger_read_page": timed_ms(lambda one: bare.read([one] * READ), ids),
            "lexical_write": timed_ms(lambda entity: bare.lexical.apply(_batch([entity])), written),
            "graph_write": timed_ms(lambda entity: bare.graph.apply(_batch([entity])), written),
            "vectors_write": timed_ms(bare.write_vector, written),
            "embed_record": timed_ms(lambda text: embedder.embed_documents([text.searchable]), fresh),
            "embed_question": timed_ms(embedder.embed_query, questions),
            "encode_record": timed_ms(lambda text: reader.encode_passage(text.searchable), fresh),
            "encode_question": timed_ms(reader.encode_question, questions),
            "lexical_search": timed_ms(bare.search_words, questions),
            "vectors_search": timed_ms(bare.search_vectors, vectors),
            "graph_hop": timed_ms(lambda _: bare.hop(ids[:ORIGINS]), questions),
        }
        return {name: spread(each) for name, each in times.items()}


@dataclass(frozen=True, slots=True)
class _Bare:
    database: sqlite3.Connection
    lexical: LexicalIndex
    graph: GraphIndex
    vectors: VectorIndex
    draw: np.random.Generator
    dimension: int

    def commit(self, entity: Entity) -> None:
        with self.database:
            self.database.execute("INSERT INTO entities VALUES (?, ?, ?, ?)", _row(entity))

    def read(self, ids: Sequence[str]) -> None:
        for record_id in ids:
            self.database.execute("SELECT * FROM entities WHERE id = ?", (record_id,)).fetchone()

    def write_vector(self, entity: Entity) -> None:
        self.vectors.replace([self.embedded(entity)], (), VectorState(_POSITION))

    def embedded(self, entity: Entity) -> EmbeddedRecord:
        vector = self.draw.standard_normal(self.dimension).astype(np.float32)
        length = len(entity.name) + len(entity.content) + 1
        return EmbeddedRecord.of(entity, [EmbeddedPassage(0, length, vector / np.linalg.norm(vector))])

    def search_words(self, question: str) -> None:
        self.lexical.search(question, filter=_EVERYTHING, limit=CANDIDATES)

    def search_vectors(self, vector: "np.ndarray[tuple[int], np.dtype[np.float32]]") -> None:
        self.vectors.search(vector, filter=_EVERYTHING, limit=CANDIDATES)

    def hop(self, ids: Sequence[str]) -> None:
        self.graph.neighbours(ids, query=NeighbourQuery(visibility=_EVERYTHING.visibility))


@contextmanager
def _bare(folder: Path, texts: Sequence[Record]) -> Iterator[_Bare]:
    entities = [_entity(text, number) for number, text in enumerate(texts)]
    database = sqlite3.connect(folder / "rows.sqlite", isolation_level="IMMEDIATE")
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE entities (id TEXT PRIMARY KEY, name TEXT, content TEXT, facts TEXT) WITHOUT ROWID")
    lexical = LexicalIndex.open(folder / "lexical")
    graph = GraphIndex.open(folder / "graph")
    vectors = VectorIndex.open(folder / "vectors", model="bench", dimension=_DIMENSION)
    bare = _Bare(database, lexical, graph, vectors, np.random.default_rng(0), _DIMENSION)
    try:
        with database:
            database.executemany("INSERT INTO entities VALUES (?, ?, ?, ?)", map(_row, entities))
        lexical.apply(_batch(entities))
        graph.load([entities], [], _POSITION)
        for first in range(0, len(entities), _PAGE):
            page = entities[first : first + _PAGE]
            vectors.replace([bare.embedded(entity) for entity in page], (), VectorState(_POSITION))
        vectors.vectors_of(())  # loads all into memory
        yield bare
    finally:
        for index in (vectors, graph, lexical, database):
            index.close()


_DIMENSION = 384
_POSITION = Position("bench", 1, "bench")


def _batch(entities: Sequence[Entity]) -> IndexBatch:
    return IndexBatch(entities, (), (), (), _POSITION)


def _row(entity: Entity) -> tuple[str, str, str, str]:
    return entity.id, entity.name, entity.content, repr((entity.entity_type, entity.visibility, entity.revision))


def _entity(text: Record, number: int) -> Entity:
    return Entity(
        organization_id="bench", id=f"note_{number:012x}", entity_type="note", name=text.name, description="",
        content=text.content, category=None, languages=(), tags=(), metadata={}, source_file=None,
        visibility=ORGANIZATION, memory_scope="organization", scope_key=None, project_id=None, principal_id="bench",
        revision=1, created_at=_NOW, updated_at=_NOW,
    )  # fmt: skip
