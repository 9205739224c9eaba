"""A world to index: a ledger, an embedder without a model, and an indexer that can be stopped and started."""

import asyncio
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stores.embedding import Passage
from stores.embedding.workers import Workers
from stores.indexer import Indexer, IndexerOptions, IndexStatus
from stores.ledger import Ledger, RelationDraft
from stores.records import ORGANIZATION, EntityDraft, IndexFilter, Organization, User
from stores.tokens import Tokens
from tests.ledgers import new_ledger

ORG = "org-1"
ANN = "user-ann"
EVERYONE = IndexFilter(frozenset({ORGANIZATION}))
DIMENSION = 64
PASSAGE_WORDS = 40
PATIENCE_S = 60.0

Vectors = NDArray[np.float32]


class HashEmbedder:
    def __init__(self, model: str = "hash-1", dimension: int = DIMENSION) -> None:
        self.model = model
        self.dimension = dimension
        self.begun = 0
        self.turns: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.refused: str | None = None

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.begun += 1
        assert self.gate.wait(PATIENCE_S)
        if self.failure is not None:
            raise self.failure
        if self.refused is not None and any(self.refused in text for text in texts):
            raise ValueError(f"{self.refused} is not to my taste")
        self.turns.append(list(texts))
        return np.stack([self._vector(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return self._vector(text)

    def split(self, text: str) -> list[Passage]:
        size = 8 * PASSAGE_WORDS
        return [Passage(at, min(at + size, len(text))) for at in range(0, max(len(text), 1), size)]

    def close(self) -> None:
        pass

    @property
    def texts(self) -> list[str]:
        return [text for turn in self.turns for text in turn]

    def _vector(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 1e-3, np.float32)
        for word in text.lower().split():
            digest = hashlib.blake2b(f"{self.model} {word}".encode(), digest_size=8).digest()
            vector[int.from_bytes(digest) % self.dimension] += 1.0
        return vector / np.float32(np.linalg.norm(vector))


class LetterTokens:
    model = "letters-1"
    width = 32

    def __init__(self) -> None:
        self.workers = Workers(2)
        self.passages: list[str] = []
        self.gate = threading.Event()
        self.gate.set()
        self.failure: Exception | None = None
        self.failures = 0
        self.refused: str | None = None

    def split(self, text: str) -> list[Passage]:
        return HashEmbedder().split(text)

    @property
    def at_once(self) -> int:
        return self.workers.available

    def encode_passages(self, texts: Sequence[str]) -> list[Tokens | None]:
        return self.workers.map_until_search(self.encode_passage, texts)

    def encode_passage(self, text: str) -> Tokens:
        assert self.gate.wait(PATIENCE_S)
        if self.failure is not None:
            self.failures += 1
            raise self.failure
        if self.refused is not None and self.refused in text:
            raise ValueError(f"{self.refused} is not to my taste")
        self.passages.append(text)
        words = text.lower().split()
        vectors = np.zeros((len(words), self.width), np.int8)
        vectors[range(len(words)), [ord(word[0]) % self.width for word in words]] = 127
        return vectors


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def turn(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class World:
    def __init__(self, folder: Path, *, organizations: Sequence[str] = (ORG,), url: str | None = None) -> None:
        self.folder = folder
        self.url = url or new_ledger(folder)
        self.clock = Clock()
        self.embedder: HashEmbedder | None = HashEmbedder()
        self.late: LetterTokens | None = None
        self.options = IndexerOptions(gather_s=0, gather_deferred_s=0, retry_first_s=0.02, poll_s=0.1)
        self.ledger = self.open_ledger()
        for each in organizations:
            self.add_organization(each)
        self._indexer: Indexer | None = None

    @property
    def indexes(self) -> Path:
        return self.folder / "organizations"

    @property
    def indexer(self) -> Indexer:
        if self._indexer is None:
            self.start()
        assert self._indexer is not None
        return self._indexer

    def open_ledger(self) -> Ledger:
        return Ledger.open(self.url)

    def add_organization(self, organization_id: str) -> None:
        user = User(
            f"user-of-{organization_id}", f"{organization_id}@example.org", "x", "h", False, None, None, self.clock()
        )
        self.ledger.people.create_account(
            user, Organization(organization_id, organization_id, organization_id, True, self.clock())
        )

    def add_shared_organization(self, organization_id: str) -> None:
        self.ledger.people.create_organization(
            Organization(organization_id, organization_id, organization_id, False, self.clock())
        )

    def start(self, **options: object) -> Indexer:
        self.options = replace(self.options, **options)  # type: ignore[arg-type]
        indexer = Indexer(
            self.ledger, self.indexes, embedder=self.embedder, options=self.options, clock=self.clock, late=self.late
        )
        self.ledger.on_commit.append(indexer.notify)
        self.ledger.people.on_delete.append(indexer.forget)
        indexer.start()
        self._indexer = indexer
        return indexer

    def stop(self) -> None:
        if self._indexer is not None:
            self.ledger.on_commit.remove(self._indexer.notify)
            self.ledger.people.on_delete.remove(self._indexer.forget)
            self._indexer.close()
            self._indexer = None

    def restart(self, **options: object) -> Indexer:
        self.stop()
        return self.start(**options)

    def close(self) -> None:
        if self.embedder is not None:
            self.embedder.gate.set()
        self.stop()
        self.ledger.close()

    def write(self, *drafts: EntityDraft, org: str = ORG, deferred: bool = False) -> int:
        with self.ledger.transaction(org, ANN, deferred=deferred) as tx:
            for draft in drafts:
                tx.records.create_entity(draft)
        return tx.sequence

    def update(self, entity_id: str, org: str = ORG, **changes: object) -> int:
        with self.ledger.transaction(org, ANN) as tx:
            tx.records.update_entity(entity_id, lambda entity: replace(entity, **changes))  # type: ignore[arg-type]
        return tx.sequence

    def delete(self, entity_id: str, org: str = ORG) -> int:
        with self.ledger.transaction(org, ANN) as tx:
            tx.records.delete_entity(entity_id)
        return tx.sequence

    def relate(self, source: str, target: str, org: str = ORG) -> str:
        with self.ledger.transaction(org, ANN) as tx:
            return tx.relations.add_relation(RelationDraft("RELATED_TO", source, target, "fact", ORGANIZATION)).id

    def wait_applied(
        self, sequence: int, record_ids: Sequence[str], timeout_s: float = PATIENCE_S, org: str = ORG
    ) -> list[str]:
        return asyncio.run(self.indexer.applied_within(org, sequence, record_ids, timeout_s))

    def settle(self, org: str = ORG) -> None:
        head = self.ledger.feed.head(org).sequence

        def settled() -> bool:
            missing = self.wait_applied(head, [], org=org)
            lines = [line for line in self.indexer.status() if line.organization_id == org]
            return not missing and all(line.state == "ready" for line in lines)

        until(settled)

    def hold(self) -> None:
        self.write(draft("first"))
        self.settle()
        self.embedder.gate.clear()

    def queued(self, *, interactive: bool, org: str = ORG) -> int:
        organization = self.indexer._registry.get(org)
        return len(organization.vectors._serving.works._ready[interactive])

    def tokens(self, *record_ids: str, org: str = ORG) -> dict[str, int]:
        with self.indexer.indexes(org) as open_:
            assert open_.vectors is not None, open_.degraded
            found = open_.vectors.tokens.read(dict.fromkeys(record_ids, 0))
        return {record_id: sum(map(len, passages)) for record_id, passages in found.items()}

    def by_words(self, text: str, org: str = ORG) -> list[str]:
        with self.indexer.indexes(org) as open_:
            assert open_.lexical is not None, open_.degraded
            return [hit.record_id for hit in open_.lexical.search(text, filter=EVERYONE, limit=10).hits]

    def by_meaning(self, text: str, org: str = ORG, *, limit: int = 10) -> list[str]:
        with self.indexer.indexes(org) as open_:
            assert open_.vectors is not None, open_.degraded
            vector = self.embedder.embed_query(text)
            return [hit.record_id for hit in open_.vectors.search(vector, filter=EVERYONE, limit=limit)]


def until(condition: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + timeout_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, "It did not happen in time."
        pause.wait(0.005)


def vectors_of(world: World, org: str = ORG) -> IndexStatus:
    return next(line for line in world.indexer.status() if line.index == "vectors" and line.organization_id == org)


def waiting(world: World, org: str = ORG) -> int:
    return vectors_of(world, org).pending


def level(world: World, org: str = ORG) -> None:
    world.settle(org)
    until(lambda: waiting(world, org) == 0)


def draft(entity_id: str, content: str = "", **changes: object) -> EntityDraft:
    plain = EntityDraft(
        id=entity_id, entity_type="episode", name=entity_id, visibility=ORGANIZATION, memory_scope=ORGANIZATION,
        content=content,
    )  # fmt: skip
    return replace(plain, **changes)  # type: ignore[arg-type]
