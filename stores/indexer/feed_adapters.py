"""Adapters that open and fill the lexical index and the graph."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from stores.graph import GraphIndex, probe
from stores.index import IndexBatch
from stores.indexer.feed_track import Admit, FeedAdapter
from stores.indexer.options import GraphEngine
from stores.indexer.status import IndexName
from stores.indexer.surroundings import Interrupted, Surroundings, describe, log
from stores.lexical import LexicalIndex
from stores.room import Room

Row = TypeVar("Row")


class DamagedGraph(Exception):  # says what is wrong, not who is
    """A child process could not open the graph."""


class LexicalAdapter(FeedAdapter[LexicalIndex]):
    name: IndexName = "lexical"

    def open_index(self, folder: Path, *, clean: bool) -> LexicalIndex:
        return LexicalIndex(folder)

    def load(self, index: LexicalIndex, around: Surroundings, admit: Admit) -> None:
        with around.ledger.feed.snapshot(around.organization_id) as snapshot:
            admit(IndexBatch((), snapshot.position))
            for page in _checked(snapshot.entities(), around):
                admit(IndexBatch.of(page, snapshot.position))


class GraphAdapter(FeedAdapter[GraphIndex]):
    name: IndexName = "graph"

    def __init__(self, engine: GraphEngine, clock: Callable[[], datetime], room: Room) -> None:
        self._engine: GraphEngine = engine
        self._clock = clock
        self._room = room

    def open_index(self, folder: Path, *, clean: bool) -> GraphIndex:
        """Open; after an unclean stop a child process tries first: opening may abort it."""
        if not clean and not probe(folder, self._engine):
            raise DamagedGraph("The graph cannot be opened after an unclean stop.")
        return GraphIndex(folder, engine=self._engine, clock=self._clock, room=self._room)

    def load(self, index: GraphIndex, around: Surroundings, admit: Admit) -> None:
        """Load in bulk, or page by page where a record stops that."""
        with around.ledger.feed.snapshot(around.organization_id) as snapshot:
            try:
                entities, relations = snapshot.entities(), snapshot.relations()
                index.load(_checked(entities, around), _checked(relations, around), snapshot.position)
            except (Interrupted, OSError):
                raise
            except Exception as error:  # noqa: BLE001  # engines raise anything about a record
                # Not as `organization_id`: its owners read those lines, and the reason may quote what is not theirs.
                log.warning("graph_not_loaded", organization=around.organization_id, reason=describe(error))
                index.load((), (), snapshot.position)
                for entity_page in _checked(snapshot.entities(), around):
                    admit(IndexBatch.of(entity_page, snapshot.position))
                for relation_page in _checked(snapshot.relations(), around):
                    admit(IndexBatch.of(relation_page, snapshot.position))


def _checked(pages: Iterator[list[Row]], around: Surroundings) -> Iterator[list[Row]]:
    for page in pages:
        around.check_closing()
        yield page
