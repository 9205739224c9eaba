"""Graph as adjacency lists in numpy: places number entities, codes number strings."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stores.graph.neighbours import Direction, NeighbourQuery
from stores.graph.schema import BURIED, OPEN_ENDED, stored_time
from stores.graph.walk import MOST_EDGES, Reached, Step, Walk
from stores.records import Entity

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_WAYS: tuple[Direction, Direction] = ("incoming", "outgoing")
_NEVER = np.datetime64(OPEN_ENDED, "us").astype(np.int64)


class Adjacency:
    """`put` and `bury` keep entities current; `changed` names those with newer edges."""

    def __init__(self, ids: list[str], first: Ints, edges: Mapping[str, npt.NDArray[Any]]) -> None:
        self.changed: set[str] = set()
        self._ids = ids
        self._places = {each: place for place, each in enumerate(ids)}
        self._first = first
        self._edges = edges
        self._words: list[str] = []
        self._codes: dict[str, int] = {}
        self._visibility, self._types, self._projects = (np.zeros(len(ids), np.int32) for _ in range(3))

    @classmethod
    def of(cls, entities: pa.Table, edges: pa.Table) -> Self:
        """Build from all entities, buried ones too, and all edges."""
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

    def __len__(self) -> int:
        return len(self._ids)

    def put(self, entity: Entity) -> None:
        if (place := self._places.get(entity.id)) is not None:
            self._types[place] = self._code(entity.entity_type.lower())
            self._projects[place] = self._code(entity.project_id or "")
            self._visibility[place] = self._code(entity.visibility)

    def bury(self, entity_id: str) -> None:
        if (place := self._places.get(entity_id)) is not None:
            self._visibility[place] = self._code(BURIED)

    def walk(
        self, start: str, query: NeighbourQuery, now: datetime, *, depth: int, cap: int, most_around: float
    ) -> Walk | None:
        """Walk as `breadth_first` does; None where the engine has to: a hub, or unknown or changed edges."""
        if (place := self._places.get(start)) is None:
            return None
        visible = self._table(query.visibility)
        is_seen = np.zeros(len(self), np.bool_)
        ends = np.array([place])
        is_seen[ends] = True
        reached, nearest, capped = list[Reached](), [Reached(start, 0, ())], False
        edges = around = 0
        for _ in range(depth):
            if (room := cap - len(reached)) < 1:
                return Walk(tuple(reached), capped=True)
            rows, whose, is_cut = self._rows(ends, visible, query, now)
            around, edges = around + len(ends), edges + len(rows)
            is_much = edges > MOST_EDGES or around > most_around
            if is_cut or is_much or not self.changed.isdisjoint([each.id for each in nearest]):
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

    def _leading_on(self, rows: Ints, whose: Ints, is_seen: Bools, most: int) -> tuple[Ints, Ints, Codes]:
        is_new = ~is_seen[self._edges["other"][rows]]
        rows, whose = rows[is_new], whose[is_new]
        others, first, which = np.unique(self._edges["other"][rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        nth = np.empty_like(order)
        nth[order] = np.arange(len(order))
        leads_on = (whose == whose[first][which]) & (nth[which] < most)
        return rows[leads_on], whose[leads_on], others[order]

    def _rows(self, places: Ints, visible: Bools, query: NeighbourQuery, now: datetime) -> tuple[Ints, Ints, bool]:
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
        is_outgoing = self._edges["is_outgoing"][rows]
        passes = np.zeros(len(rows), np.bool_)
        for way in query.ways:
            named = is_outgoing if way == "outgoing" else ~is_outgoing
            if (names := query.towards(way).names) is not None:
                named = named & _is_in(self._table(names), self._edges["name"][rows])
            passes |= named
        return passes

    def _table(self, words: Iterable[str]) -> Bools:
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
