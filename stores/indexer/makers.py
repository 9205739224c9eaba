"""Adapters that open and fill the lexical index and the graph."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from stores.graph import GraphIndex, Room, probe
from stores.index import Index, IndexBatch
from stores.indexer.handle import Handle
from stores.indexer.lane import Interrupted, Surroundings, describe, log
from stores.indexer.options import GraphEngine
from stores.indexer.refusals import Refusals
from stores.ledger import Snapshot
from stores.lexical import LexicalIndex
from stores.records import Position

T = TypeVar("T", bound=Index)
Row = TypeVar("Row")
Admit = Callable[[IndexBatch], None]


class Maker(Protocol[T]):
    """Adapter of one kind of index."""

    def open(self, folder: Path, *, clean: bool) -> T:
        """Open the index, or raise; with care after an unclean stop."""

    def fill(self, index: T, around: Surroundings, admit: Admit, check: Callable[[], None]) -> None:
        """Load everything from the ledger; call `check` between pages.

        `admit` skips records that the index refuses.
        """


@dataclass(slots=True)
class Track(Generic[T]):
    """Open index with its position and refused records."""

    handle: Handle[T]
    position: Position
    refusals: Refusals


class DamagedGraph(Exception):  # says what is wrong, not who is
    """A child process could not open the graph."""


class LexicalMaker:
    def open(self, folder: Path, *, clean: bool) -> LexicalIndex:
        return LexicalIndex.open(folder)

    def fill(self, index: LexicalIndex, around: Surroundings, admit: Admit, check: Callable[[], None]) -> None:
        with around.ledger.feed.snapshot(around.organization_id) as snapshot:
            admit(IndexBatch((), (), (), (), snapshot.position))
            for page in snapshot.entities():
                check()
                admit(IndexBatch(page, (), (), (), snapshot.position))
            _leave_out(snapshot, admit)


class GraphMaker:
    def __init__(self, engine: GraphEngine, clock: Callable[[], datetime], room: Room) -> None:
        self._engine: GraphEngine = engine
        self._clock = clock
        self._room = room

    def open(self, folder: Path, *, clean: bool) -> GraphIndex:
        """Open; after an unclean stop a child process tries first: opening may abort it."""
        if not clean and not probe(folder, self._engine):
            raise DamagedGraph("The graph cannot be opened after an unclean stop.")
        return GraphIndex.open(folder, engine=self._engine, clock=self._clock, room=self._room)

    def fill(self, index: GraphIndex, around: Surroundings, admit: Admit, check: Callable[[], None]) -> None:
        """Load in bulk, or page by page where a record stops that."""
        with around.ledger.feed.snapshot(around.organization_id) as snapshot:
            try:
                entities, relations = snapshot.entities(), snapshot.relations()
                index.load(_checked(entities, check), _checked(relations, check), snapshot.position)
            except (Interrupted, OSError):
                raise
            except Exception as error:  # noqa: BLE001  # engines raise anything about a record
                # Not as `organization_id`: its owners read those lines, and the reason may quote what is not theirs.
                log.warning("graph_not_loaded", organization=around.organization_id, reason=describe(error))
                index.load((), (), snapshot.position)
                for entity_page in _checked(snapshot.entities(), check):
                    admit(IndexBatch(entity_page, (), (), (), snapshot.position))
                for relation_page in _checked(snapshot.relations(), check):
                    admit(IndexBatch((), (), relation_page, (), snapshot.position))
            _leave_out(snapshot, admit)


def _leave_out(snapshot: Snapshot, admit: Admit) -> None:
    entities, relations = snapshot.unreadable_entities, snapshot.unreadable_relations
    if entities or relations:
        admit(IndexBatch((), list(entities), (), list(relations), snapshot.position, {**relations, **entities}))


def _checked(pages: Iterator[list[Row]], check: Callable[[], None]) -> Iterator[list[Row]]:
    for page in pages:
        check()
        yield page
