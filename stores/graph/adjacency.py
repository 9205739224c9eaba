"""The edges of a whole graph as arrays, by the entity that they touch: a walk of three steps takes a few milliseconds.

A place is the number of an entity, a code that of a word: a visibility key, a name, a type or a project.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stores.graph.neighbours import Direction, Edge, NeighbourQuery
from stores.graph.schema import BURIED, OPEN_ENDED, stored_time
from stores.graph.walk import MOST_EDGES, Bounds, Front, Reached, Step, Walk
from stores.records import Entity

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_WAYS: tuple[Direction, Direction] = ("incoming", "outgoing")
_NEVER = np.datetime64(OPEN_ENDED, "us").astype(np.int64)


class Adjacency:
    """A graph as it was when it was read. The entities follow later changes, the edges do not."""

    def __init__(self, ids: list[str], first: Ints, edges: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take the entities, where the edges of each begin (and, last, where they end), and the edges.

        Those of an entity come in the order in which they are followed: latest `valid_at` first, then by relation id.
        """
        self._ids = ids
        self._places = {each: place for place, each in enumerate(ids)}
        self._first = first
        self._edges = edges
        self._words: list[str] = []
        self._codes: dict[str, int] = {}
        self._visibility, self._types, self._projects = (np.zeros(len(ids), np.int32) for _ in range(3))

    @classmethod
    def of(cls, entities: pa.Table, edges: pa.Table) -> Self:
        """Arrange what was read: every entity that an edge touches, hidden ones too, and every edge."""
        ids = entities["id"].combine_chunks()
        ends = [_found(edges[name], ids) for name in ("source_id", "target_id")]
        times = {name: _micros(edges[name]) for name in ("created_at", "expired_at", "valid_at", "invalid_at")}
        rank = np.empty(len(edges), np.int64)
        rank[pc.sort_indices(edges["id"]).to_numpy()] = np.arange(len(edges))
        order = np.lexsort((np.tile(rank, 2), -np.tile(times["valid_at"], 2), np.concatenate(ends)))
        both = order % max(len(edges), 1)
        columns = {
            "other": np.concatenate(ends[::-1])[order].astype(np.int32),
            "is_outgoing": order < len(edges),
            "is_closed": (times["expired_at"] != _NEVER)[both],
            "has_begun": (times["valid_at"] <= times["created_at"])[both],
            "valid_at": times["valid_at"][both],
            "invalid_at": times["invalid_at"][both],
        }
        first = np.searchsorted(np.concatenate(ends)[order], np.arange(len(ids) + 1))
        made = cls(ids.to_pylist(), first, columns)
        for name in ("name", "visibility"):
            columns[name] = made._coded(edges[name])[both]
        made._visibility = made._coded(entities["visibility"])
        made._types, made._projects = made._coded(entities["entity_type"]), made._coded(entities["project_id"])
        return made

    def __contains__(self, entity_id: str) -> bool:
        """Tell whether the edges of an entity are here."""
        return entity_id in self._places

    def __len__(self) -> int:
        """Count the entities."""
        return len(self._ids)

    def put(self, entity: Entity) -> None:
        """Follow a change of an entity; one that was not there stays unknown."""
        if (place := self._places.get(entity.id)) is not None:
            self._types[place] = self._code(entity.entity_type.lower())
            self._projects[place] = self._code(entity.project_id or "")
            self._visibility[place] = self._code(entity.visibility)

    def bury(self, entity_id: str) -> None:
        """Follow the deletion of an entity."""
        if (place := self._places.get(entity_id)) is not None:
            self._visibility[place] = self._code(BURIED)

    def follow(self, origins: Sequence[str], query: NeighbourQuery, now: datetime) -> tuple[list[Edge], bool]:
        """Follow the edges of entities that are here, in their order, up to the limit of each.

        The second value tells whether some entity had more.
        """
        rows, whose, is_cut = self._followed(origins, query, now)
        return list(self._shown(origins, whose, rows)), is_cut

    def walk(self, start: str, bounds: Bounds, query: NeighbourQuery, now: datetime) -> Walk | None:
        """Walk as `breadth_first` does, all edges of a step at once.

        None where that would pass one of the bounds on work, where an entity on the way has more than its limit, and
        where the edges of one are not here as they are now.
        """
        visible = self._table(query.visibility)
        is_seen = np.zeros(len(self), np.bool_)
        ends = np.array([self._places[start]])
        is_seen[ends] = True
        reached, nearest, capped = list[Reached](), [Reached(start, 0, ())], False
        edges = around = 0
        for _ in range(bounds.depth):
            if (room := bounds.cap - len(reached)) < 1:
                return Walk(tuple(reached), capped=True)
            rows, whose, is_cut = self._rows(ends, visible, query, now)
            around, edges = around + len(ends), edges + len(rows)
            is_much = edges > MOST_EDGES or around > bounds.most_around
            if is_cut or is_much or not bounds.follows(each.id for each in nearest):
                return None
            rows, whose, others = self._leading_on(rows, whose, is_seen, room)
            nearest = self._reached(nearest, whose, rows)
            reached += nearest
            capped = capped or len(others) > room
            ends = others[:room]
            is_seen[ends] = True
            if not nearest:
                break
        return Walk(tuple(reached), capped)

    def _reached(self, origins: Sequence[Reached], whose: Ints, rows: Ints) -> list[Reached]:
        """Tell how each entity was met, in the order of its first edge; its edges come from one origin."""
        others, codes = self._edges["other"][rows], 2 * self._edges["name"][rows] + self._edges["is_outgoing"][rows]
        steps = {code: Step(self._words[code // 2], _WAYS[code % 2]) for code in np.unique(codes).tolist()}
        before = [origin.path for origin in origins]
        ids = map(self._ids.__getitem__, others.tolist())
        paths = [(*before[origin], steps[code]) for origin, code in zip(whose.tolist(), codes.tolist(), strict=True)]
        found: dict[str, Reached] = {}
        for id_, path in zip(ids, paths, strict=True):
            known = found.setdefault(id_, Reached(id_, len(path), path))
            if known.path is not path and path[-1] not in (known.path[-1], *known.others):
                found[id_] = known._replace(others=(*known.others, path[-1]))
        return list(found.values())

    def arrive(
        self, origins: Sequence[str], front: Front, query: NeighbourQuery, now: datetime
    ) -> tuple[list[Edge], int] | None:
        """Follow the edges of those entities of a front that are here, in their order, and leave out what it may.

        Returns how many edges there are, too. None where some entity has more than its limit, or all have too many.
        """
        rows, whose, is_cut = self._followed(origins, query, now)
        count = len(rows)
        if is_cut or count > front.most:
            return None
        is_seen = np.zeros(len(self), np.bool_)
        is_seen[[place for each in front.seen if (place := self._places.get(each)) is not None]] = True
        rows, whose, _ = self._leading_on(rows, whose, is_seen, front.room + 1)
        return list(self._shown(origins, whose, rows)), count

    def _leading_on(self, rows: Ints, whose: Ints, is_seen: Bools, most: int) -> tuple[Ints, Ints, Codes]:
        """Keep the edges to what is new, of each entity those of the first origin, and of so many entities.

        Returns all that is new as well, in the order of the first edges.
        """
        is_new = ~is_seen[self._edges["other"][rows]]
        rows, whose = rows[is_new], whose[is_new]
        others, first, which = np.unique(self._edges["other"][rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        nth = np.empty_like(order)
        nth[order] = np.arange(len(order))
        leads_on = (whose == whose[first][which]) & (nth[which] < most)
        return rows[leads_on], whose[leads_on], others[order]

    def _followed(self, origins: Sequence[str], query: NeighbourQuery, now: datetime) -> tuple[Ints, Ints, bool]:
        places = np.fromiter((self._places[each] for each in origins), np.int64, len(origins))
        return self._rows(places, self._table(query.visibility), query, now)

    def _rows(self, places: Ints, visible: Bools, query: NeighbourQuery, now: datetime) -> tuple[Ints, Ints, bool]:
        """Return the edges of entities in their order, up to each one's limit; whose they are; whether one had more."""
        asked = _is_in(visible, self._visibility[places])
        at = self._first[places]
        counts = np.where(asked, self._first[places + 1] - at, 0)
        rows = np.repeat(at - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        kept = self._passes(rows, query, visible, now)
        rows, whose = rows[kept], np.repeat(np.arange(len(places)), counts)[kept]
        counts = np.bincount(whose, minlength=len(places))
        if not len(counts) or counts.max() <= query.limit_per_id:
            return rows, whose, False
        nth = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        within = nth < query.limit_per_id
        return rows[within], whose[within], True

    def _shown(self, origins: Sequence[str], whose: Ints, rows: Ints) -> Iterable[Edge]:
        others, names, ways = (self._edges[name][rows].tolist() for name in ("other", "name", "is_outgoing"))
        return zip(
            map(origins.__getitem__, whose.tolist()),
            map(self._ids.__getitem__, others),
            map(self._words.__getitem__, names),
            map(_WAYS.__getitem__, ways),
            strict=True,
        )

    def _passes(self, rows: Ints, query: NeighbourQuery, visible: Bools, now: datetime) -> Bools:
        edges = self._edges
        moment = _moment(query.as_of or now)
        passes = (edges["invalid_at"][rows] > moment) & _is_in(visible, edges["visibility"][rows])
        if query.as_of is None:
            begun = (edges["valid_at"][rows] <= moment) | edges["has_begun"][rows]
            passes &= begun & ~edges["is_closed"][rows]
        elif query.until is None:
            passes &= edges["valid_at"][rows] <= moment
        else:
            passes &= edges["valid_at"][rows] < _moment(query.until)
        passes &= self._is_named(rows, query)
        others = edges["other"][rows]
        passes &= _is_in(visible, self._visibility[others])
        if query.entity_types is not None:
            passes &= _is_in(self._table(each.lower() for each in query.entity_types), self._types[others])
        if query.project_ids is not None:
            passes &= _is_in(self._table(query.project_ids), self._projects[others])
        return passes

    def _is_named(self, rows: Ints, query: NeighbourQuery) -> Bools:
        """Test the direction of edges, and their names in it."""
        is_outgoing = self._edges["is_outgoing"][rows]
        passes = np.zeros(len(rows), np.bool_)
        for way in query.ways:
            named = is_outgoing if way == "outgoing" else ~is_outgoing
            if (names := query.towards(way).names) is not None:
                named = named & _is_in(self._table(names), self._edges["name"][rows])
            passes |= named
        return passes

    def _table(self, words: Iterable[str]) -> Bools:
        """Return for each code whether it is that of one of the words; the last place is that of all later codes."""
        wanted = [code for word in words if (code := self._codes.get(word)) is not None]
        table = np.zeros(len(self._words) + 1, np.bool_)
        table[wanted] = True
        return table

    def _coded(self, words: pa.ChunkedArray) -> Codes:
        found = words.combine_chunks().dictionary_encode()
        codes: Codes = np.array([self._code(word) for word in found.dictionary.to_pylist()] or [0], np.int32)
        coded: Codes = codes[found.indices.to_numpy()]
        return coded

    def _code(self, word: str) -> int:
        if (code := self._codes.get(word)) is None:
            self._words.append(word)
            code = self._codes[word] = len(self._words) - 1
        return code


def _is_in(table: Bools, codes: Codes) -> Bools:
    return table.take(codes, mode="clip")


def _found(values: pa.ChunkedArray, ids: pa.Array) -> Ints:
    found: Ints = pc.index_in(values, value_set=ids).to_numpy().astype(np.int64)
    return found


def _moment(at: datetime) -> int:
    return int(np.datetime64(stored_time(at), "us").astype(np.int64))


def _micros(values: pa.ChunkedArray) -> Ints:
    micros: Ints = values.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    return micros
