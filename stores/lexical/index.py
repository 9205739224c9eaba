"""Lexical index of one organization.

Its files are a folder per generation; the highest one of the present format is valid.
"""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from tantivy import DocAddress, Index, IndexWriter, Query, Searcher

from stores.clock import microseconds
from stores.folder import sync_folder
from stores.index import IndexBatch
from stores.lexical import queries, schema
from stores.lexical.hits import (
    MOST_HELD,
    HeldTerms,
    Holding,
    LexicalHit,
    LexicalHits,
    LexicalResult,
    Scored,
    in_order,
    keys_of,
    records_of,
    scores_by_key,
    weigh,
)
from stores.lexical.neighbours import Alongside, Placed, Threads
from stores.lexical.queries import LexicalPlan
from stores.lexical.schema import Progress, key_of
from stores.lexical.visible_stats import VisibleStats
from stores.records import Entity, IndexFilter, Position
from stores.threads import ThreadPlace, thread_place

_HEAP_BYTES = 30_000_000
# Equal scores are ordered by id where at most so many records share the last place.
_DEEPEST_TIE = 512
# Ids cached by key; above that the cache is cleared.
_MOST_NAMES = 200_000
# `prepare` rewrites from this share of records written since the last rewrite, up to this size: 10,000 abstracts take
# a second, while writes wait.
_SCATTERED = 0.25
_MOST_JOINED = 20_000
_BUILDING = "building"
_MOST_CALLERS = 64


class LexicalIndex:
    """One writer. Reads from any thread, everything else from the writer's."""

    def __init__(self, folder: Path) -> None:
        """Open or create the index; one of another format is discarded."""
        self._folder = folder.absolute()
        self._schema = schema.build_schema()
        self._progress = Progress(None, 0, 0)
        self._is_closed = False
        self._names: dict[int, str] = {}
        self._threads = Threads(self._placed)
        self._code: set[int]
        """Keys of the records whose content is code."""
        self._searcher: Searcher
        self._seen: tuple[Searcher | None, dict[frozenset[str], VisibleStats]] = (None, {})
        """Statistics of the callers since the last commit."""
        self._adopt(_current(self._folder))

    @property
    def erasable(self) -> int:
        return self._progress.erasable

    def position(self) -> Position | None:
        return self._progress.position

    def apply(self, batch: IndexBatch) -> None:
        entities = {entity.id: entity for entity in batch.entities}
        gone = {*batch.gone("entity"), *entities}
        searcher = self._searcher
        placed = {record_id: thread_place(entity) for record_id, entity in entities.items()}
        documents = [schema.to_document(entity, placed[record_id]) for record_id, entity in entities.items()]
        erasable = self._progress.erasable + sum(searcher.doc_freq("id", record_id) > 0 for record_id in gone)
        scattered = self._progress.scattered + len(documents)
        position = schema.progress_document(batch.position, erasable=erasable, scattered=scattered)
        try:
            for record_id in gone:
                self._writer.delete_documents_by_term("id", record_id)
            self._writer.delete_documents_by_term(schema.RESERVED, schema.POSITION_KEY)
            for document in (*documents, position):
                self._writer.add_document(document)
            self._writer.commit()
        except BaseException:
            self._writer.rollback()
            raise
        self._index.reload()
        self._searcher = self._index.searcher()
        self._progress = Progress(batch.position, erasable, scattered)
        self._threads.update((key_of(record_id), placed.get(record_id)) for record_id in gone)
        code = {
            key_of(each)
            for each, document in zip(entities, documents, strict=True)
            if schema.CODE in document.get_all(schema.RESERVED)
        }
        self._code.difference_update({*map(key_of, gone)} - code)
        self._code.update(code)
        for record_id in entities:
            self._remember(key_of(record_id), record_id)

    def contents(self) -> Mapping[str, int]:
        return {document["id"][0]: document["revision"][0] for document in records_of(self._searcher)}

    def search(self, text: str, *, filter: IndexFilter, limit: int, heed_names: bool = True) -> LexicalResult:
        """Return the records that hold the question's words, best first, ties by id.

        Quotation marks require a phrase, nothing else is syntax. Records named as the whole question come first. Of a
        long text the first 20,000 characters and the 64 rarest terms count. With `heed_names`, numbers in names
        (`ENG-104`) count five times.
        """
        searcher = self._searcher
        stats = self._stats(searcher, filter.visibility)
        question = queries.plan(stats, text, heed_names=heed_names)
        if limit < 1:
            return _result(question, LexicalHits.of(()), frozenset())
        named = self._named_so(searcher, question, filter, limit)
        scored = queries.scored(self._schema, question, filter)
        others = self._best(searcher, scored, limit) if question.present else []
        holding = Holding(searcher, self._schema, question, filter)
        held = holding.masses([*named, *others])
        named, others = (holding.as_seen(stats, hits, held) for hits in (named, others))
        chosen, mass = frozenset(hit.id for hit in named), question.mass or 1.0
        hits = [LexicalHit(hit.id, hit.score, 1.0) for hit in named]
        hits += (
            LexicalHit(hit.id, hit.score, min(held.get(hit.key, 0.0) / mass, 1.0))
            for hit in others
            if hit.id not in chosen
        )
        return _result(question, LexicalHits.of(hits[:limit]), chosen)

    def weigh(
        self, text: str, entities: Iterable[Entity], *, visibility: frozenset[str], limit: int, heed_names: bool = True
    ) -> LexicalResult:
        """Score records that the index does not hold, by its term statistics: about 20,000 short ones a second."""
        searcher = self._searcher
        question = queries.plan(self._stats(searcher, visibility), text, heed_names=heed_names)
        hits, named = weigh(question, entities)
        return _result(question, LexicalHits.of(hits[:limit]), named)

    def around(self, record_ids: Iterable[str], radius: int) -> Alongside:
        """Return the neighbours at most `radius` places away in a thread, whose records have one visibility key."""
        return self._threads.around(map(key_of, record_ids), radius)

    def speakers_of(self, record_ids: Iterable[str]) -> list[int]:
        """`NOBODY` where unknown."""
        return self._threads.speakers_of(map(key_of, record_ids))

    def code_among(self, record_ids: Iterable[str]) -> list[bool]:
        return [key_of(record_id) in self._code for record_id in record_ids]

    def saying(self, found: LexicalResult, record_ids: Iterable[str]) -> set[str]:
        """Return the records that hold the whole question as a phrase."""
        by_key = {key_of(record_id): record_id for record_id in record_ids}
        if found.question is None or not found.question.words or not by_key:
            return set()
        whole = queries.phrase(self._schema, found.question.words)
        query = queries.requiring(whole, [queries.any_of(self._schema, "id", by_key.values())])
        return {by_key[key] for key in scores_by_key(self._searcher, query, len(by_key))}

    def held(self, found: LexicalResult, *, filter: IndexFilter) -> HeldTerms:
        """Return the question's terms in records of threads that hold the rarest."""
        question, searcher = found.question, self._searcher
        terms = question.present[: queries.MOST_MARKED] if question is not None else []
        if question is None or not terms:
            return HeldTerms((), {})
        threaded = Query.term_query(self._schema, schema.RESERVED, schema.THREADED, "basic")
        query = queries.marking(self._schema, terms, [threaded, *queries.filters(self._schema, filter)])
        marks = scores_by_key(searcher, query, MOST_HELD)
        return HeldTerms(
            tuple(term.idf / question.mass for term in terms), {key: int(score) for key, score in marks.items()}
        )

    def happened(self, record_ids: Iterable[str], spans: Sequence[tuple[datetime, datetime]]) -> set[str]:
        by_key = {key_of(record_id): record_id for record_id in record_ids}
        if not by_key or not spans:
            return set()
        asked = [(microseconds(start), microseconds(end)) for start, end in spans]
        searcher = self._searcher
        addresses = self._addresses(searcher, by_key)
        # For few records, columns are faster than a range query.
        columns = zip(*(searcher.fast_field_values(name, addresses) for name in ("key", *schema.HAPPENED)), strict=True)
        times = ((int(key or 0), first, last) for key, first, last in columns if first is not None)
        return {by_key[key] for key, first, last in times if any(first < end and start <= last for start, end in asked)}

    def happened_in(
        self,
        spans: Sequence[tuple[datetime, datetime]],
        text: str,
        *,
        filter: IndexFilter,
        limit: int,
        heed_names: bool = True,
    ) -> list[str]:
        """Return records whose event meets a span, most of the text first; the latest, if no word is known."""
        searcher = self._searcher
        asked = [(microseconds(start), microseconds(end)) for start, end in spans]
        question = queries.plan(self._stats(searcher, filter.visibility), text, heed_names=heed_names)
        terms = question.present
        query = queries.happening(self._schema, asked, terms, queries.filters(self._schema, filter))
        return [hit.id for hit in self._best(searcher, query, limit, by=None if terms else schema.HAPPENED[0])]

    def named_by(self, keys: Iterable[int]) -> dict[int, str]:
        known = {key: self._names.get(key) for key in keys}
        found = {key: name for key, name in known.items() if name is not None}
        if unknown := known.keys() - found.keys():
            searcher = self._searcher
            addresses = self._addresses(searcher, unknown)
            keys_found = keys_of(searcher, addresses)
            found |= zip(keys_found, self._ids(searcher, keys_found, addresses), strict=True)
        return found

    def _addresses(self, searcher: Searcher, keys: Collection[int]) -> list[DocAddress]:
        query = Query.term_set_query(self._schema, "key", sorted(keys))
        return [address for _, address in searcher.search(query, limit=len(keys), count=False).hits]

    def prepare(self) -> None:
        """Merge a small index that was written in many segments: searches take half as long."""
        count, scattered = self._searcher.num_docs, self._progress.scattered
        if self._searcher.num_segments > 1 and count <= _MOST_JOINED and scattered >= _SCATTERED * count:
            self._rewrite()

    def compact(self) -> bool:
        """Copy live records into a fresh index (20,000 short ones a second), if any are removed.

        Tantivy's binding cannot force a merge, and a deletion only hides a record. Searches go on.
        """
        if self._progress.erasable:
            self._rewrite()
        return False

    def close(self) -> None:
        """Wait for merges and release lock, thread and memory. Idempotent."""
        if self._is_closed:
            return
        self._is_closed = True
        self._writer.wait_merging_threads()
        # Free them now: this object is in reference cycles.
        del self._writer, self._searcher, self._index
        self._seen = (None, {})
        self._names.clear()
        self._code.clear()
        self._threads = Threads(tuple)

    def _rewrite(self) -> None:
        position = self._progress.position
        if position is None:
            return
        building, newest = self._folder / _BUILDING, _newest(self._folder)
        self._copy_into(building, position)
        adopted = newest.with_name(f"{schema.FORMAT}-{_number(newest) + 1}")
        building.rename(adopted)
        sync_folder(self._folder)
        self._writer.wait_merging_threads()
        self._adopt(adopted)
        _current(self._folder)  # removes the old one

    def _adopt(self, generation: Path) -> None:
        self._index: Index = schema.open_index(str(generation))
        self._writer: IndexWriter = self._index.writer(_HEAP_BYTES, 1)
        # Made once per commit: it takes as long as a search.
        self._searcher = self._index.searcher()
        self._progress = _progress_of(self._searcher, self._index)
        self._code = set(*self._columns(schema.CODE, "key"))

    def _copy_into(self, folder: Path, position: Position) -> None:
        _remove(folder)
        folder.mkdir()
        target = schema.open_index(str(folder))
        writer = target.writer(_HEAP_BYTES, 1)
        for document in records_of(self._searcher):
            writer.add_document(document)
        writer.add_document(schema.progress_document(position, erasable=0, scattered=0))
        writer.commit()
        writer.wait_merging_threads()

    def _named_so(
        self, searcher: Searcher, question: LexicalPlan, accepted: IndexFilter, limit: int
    ) -> Sequence[Scored]:
        if not question.ids and not (question.name and searcher.doc_freq("name", question.name)):
            return []
        return self._best(searcher, queries.named(self._schema, question, accepted), limit)

    def _stats(self, searcher: Searcher, visibility: frozenset[str]) -> VisibleStats:
        owner, known = self._seen
        if owner is not searcher or len(known) >= _MOST_CALLERS:
            known = {}
            self._seen = searcher, known
        if visibility not in known:
            visible = queries.any_of(self._schema, "visibility", visibility)
            known[visibility] = VisibleStats(searcher, self._schema, visible)
        return known[visibility]

    def _best(self, searcher: Searcher, query: Query, limit: int, *, by: str | None = None) -> Sequence[Scored]:
        for depth in (limit + 1, limit + _DEEPEST_TIE):
            found = searcher.search(query, limit=depth, count=False, order_by_field=by).hits
            if len(found) < depth or found[-1][0] < found[limit - 1][0]:
                break
        last = found[limit - 1][0] if len(found) >= limit else 0.0
        kept = [hit for hit in found if hit[0] >= last]
        addresses = [address for _, address in kept]
        keys = keys_of(searcher, addresses)
        ids = self._ids(searcher, keys, addresses)
        scored = (Scored(*hit) for hit in zip(ids, [score for score, _ in kept], keys, addresses, strict=True))
        return in_order(scored)[:limit]

    def _ids(self, searcher: Searcher, keys: Sequence[int], addresses: Sequence[DocAddress]) -> list[str]:
        known = list(map(self._names.get, keys))
        for at, record_id in enumerate(known):
            if record_id is None:
                known[at] = record_id = str(searcher.doc(addresses[at])["id"][0])
                self._remember(keys[at], record_id)
        return [record_id for record_id in known if record_id is not None]

    def _remember(self, key: int, record_id: str) -> None:
        if len(self._names) >= _MOST_NAMES:
            self._names.clear()
        self._names[key] = record_id

    def _placed(self) -> Iterator[Placed]:
        for mark in (schema.THREADED, schema.SEPARATING):
            columns = self._columns(mark, "key", "thread", "place", "speaker")
            for key, thread, order, speaker in zip(*columns, strict=True):
                yield key, ThreadPlace(thread, order, speaker)

    def _columns(self, mark: str, *names: str) -> list[list[int]]:
        searcher = self._searcher
        query = Query.term_query(self._schema, schema.RESERVED, mark, "basic")
        hits = searcher.search(query, limit=max(searcher.num_docs, 1), count=False).hits
        addresses = [address for _, address in hits]
        return [[int(value or 0) for value in searcher.fast_field_values(name, addresses)] for name in names]


def _result(question: LexicalPlan, hits: LexicalHits, named: frozenset[str]) -> LexicalResult:
    return LexicalResult(
        hits,
        # Scores have 24 bits: keep the promise of a ceiling regardless.
        max(question.ceiling, float(hits.scores.max(initial=0.0))),
        {term.value: term.idf for term in question.terms},
        named,
        question,
    )


def _progress_of(searcher: Searcher, index: Index) -> Progress:
    query = Query.term_query(index.schema, schema.RESERVED, schema.POSITION_KEY, "basic")
    found = searcher.search(query, limit=1, count=False).hits
    return schema.read_progress(searcher.doc(found[0][1])) if found else Progress(None, 0, 0)


def _current(folder: Path) -> Path:
    """Return the valid generation, creating it where needed; remove everything else."""
    folder.mkdir(parents=True, exist_ok=True)
    newest = _newest(folder)
    for entry in folder.iterdir():
        if entry != newest:
            _remove(entry)
    newest.mkdir(exist_ok=True)
    return newest


def _newest(folder: Path) -> Path:
    generations = [each for each in folder.glob(f"{schema.FORMAT}-*") if _number(each)]
    return max(generations, key=_number, default=folder / f"{schema.FORMAT}-1")


def _number(generation: Path) -> int:
    _, _, number = generation.name.partition("-")
    return int(number) if number.isdecimal() else 0


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
