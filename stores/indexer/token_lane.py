"""Token vectors of one organization's records: which ones are missing, and making them a few passages at a time."""

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from itertools import islice

from stores.indexer.encoding import TokenEncoder, Unencodable, Unfinished, digest_of, encoded
from stores.indexer.feed import Feed
from stores.indexer.handle import Handle
from stores.indexer.lane import Surroundings, describe, log, log_refused
from stores.indexer.refusals import AGAIN_S
from stores.indexer.vector_cache import TokenCache
from stores.records import Entity, searchable_text
from stores.tokens import TokenRecord, TokenStore, TokensUnusable
from stores.vectors import VectorIndex

PASSAGES_PER_TURN = 4
"""What may keep a write that is made meanwhile waiting: .7 s on a slow processor."""
FURTHER_PASSAGES = 2
"""As many more for each that is encoded at once beside another: together they take a third longer than alone.

Then no more than one is encoded alone: what came meanwhile is encoded ahead in the next turn.
"""


class LateRider:
    """The token vectors of one organization, of whichever index is open at the moment. Safe to use from any thread."""

    def __init__(self, around: Surroundings, wake: Callable[[], None]) -> None:
        self._around = around
        self._wake = wake
        self._handle: Handle[VectorIndex] | None = None
        self._vectors: LateVectors | None = None
        self.rests_until = 0.0
        """Until when it is left alone, because it failed."""
        self.trouble = ""
        """Why it failed the last time; empty where it did not."""

    def __len__(self) -> int:
        """How many records wait for their token vectors."""
        return len(self._vectors) if self._vectors is not None else 0

    @property
    def is_hurried(self) -> bool:
        """Whether somebody waits for a write of this organization to show."""
        return bool(self) and self._around.hurried()

    @property
    def rests(self) -> bool:
        """Whether there is no sense in waiting for it now."""
        return self.rests_until > time.monotonic()

    @property
    def refused(self) -> Mapping[str, str]:
        """Records that the model cannot encode, and why."""
        return self._vectors.refused if self._vectors is not None else {}

    def awaits(self, record_ids: Collection[str]) -> bool:
        """Whether one of some records has still to get its token vectors."""
        return self._vectors is not None and self._vectors.awaits(record_ids)

    def adopt(self, handle: Handle[VectorIndex]) -> None:
        """Follow an index from what it holds now."""
        index, tokens = handle.index, handle.index.tokens
        self._handle = handle
        self.rests_until, self.trouble = 0.0, ""
        self._vectors = LateVectors(tokens, self._around.feed, index.contents) if tokens is not None else None
        if tokens is not None:
            tokens.on_fault = self._wake
        self._wake()

    def let_go(self) -> None:
        """Follow none."""
        self._handle = self._vectors = None

    def follow(self, changed: Iterable[str], deleted: Iterable[str]) -> None:
        """Take note of what the index has just taken in, and of what is gone from it, whatever changed before."""
        if self._vectors is not None:
            self._vectors.follow(changed, deleted)
            self._wake()

    def begin_again(self) -> None:
        """Throw away what there is, and make it anew."""
        if self._vectors is not None:
            self._vectors.begin_again()
            self._wake()

    def try_again(self) -> None:
        """Let what was refused wait once more, where that was long ago."""
        if self._vectors is not None and self._vectors.try_again():
            self._wake()

    def differences(self) -> list[str]:
        """What is wrong with what is kept. It is made anew then, and counts as waiting."""
        fault = self._vectors.check() if self._vectors is not None else ""
        if fault:
            self._wake()
        return [f"token vectors cannot be read: {fault}"] if fault else []

    def fail(self, error: Exception, pause_s: float) -> None:
        """Rest for a while, and let nobody wait for what failed."""
        self.rests_until, self.trouble = time.monotonic() + pause_s, f"token vectors are missing: {describe(error)}"
        # Not as `organization_id`, as where a record is refused.
        log.warning("token_vectors_failed", organization=self._around.organization_id, error=describe(error))
        self._around.progressed()

    def turn(self, encoder: TokenEncoder, remembered: TokenCache) -> None:
        """Encode the tokens of a few passages."""
        handle, vectors = self._handle, self._vectors
        if handle is None or vectors is None or not handle.acquire():
            return
        known = vectors.refused
        try:
            is_done_with_some = vectors.turn(encoder, remembered)
            self.rests_until, self.trouble = 0.0, ""
            if is_done_with_some:
                self._around.progressed()
        finally:
            handle.release()
            now = vectors.refused
            for each in now.keys() - known.keys():
                log_refused(self._around.organization_id, "vectors", "entity", each, now[each])


class LateVectors:
    """Follows the vector index: what that has taken in, gets token vectors when nothing else waits for a model.

    `turn` is called by one thread, everything else by any.
    """

    def __init__(self, store: TokenStore, feed: Feed, held: Callable[[], Mapping[str, int]]) -> None:
        """Begin with the records and revisions that the vector index holds."""
        self._store = store
        self._feed = feed
        self._held = held
        self._lock = threading.Lock()
        known: Mapping[str, int | None] = {}
        with suppress(TokensUnusable):
            known = self._drop_superfluous()
        self._waiting = OrderedDict.fromkeys(each for each, revision in held().items() if known.get(each) != revision)
        """The newest last, which are encoded first: somebody may be waiting for them."""
        self._current: Unfinished | None = None
        self._parked: dict[str, Unfinished] = {}
        """Records that had to make way for newer ones."""
        self._under_way: set[str] = set()
        """Records that are being encoded and have neither changed nor gone since."""
        self.refused: Mapping[str, str] = {}
        """Those that the model cannot encode, and why. Replaced whole, so that all may read."""
        self._again_at = 0.0
        self._is_lost = bool(store.fault)
        """Whether everything waits because the file cannot be used."""
        self._is_new = False
        """Whether the file was made anew and nothing has been put into it."""

    def __len__(self) -> int:
        """How many records wait."""
        with self._lock:
            self._heed_fault()
            return len(self._waiting) + len(self._under_way)

    def follow(self, changed: Iterable[str], deleted: Iterable[str]) -> None:
        """Take note of what the vector index has just taken in."""
        gone, new = list(deleted), list(changed)
        with self._lock, suppress(TokensUnusable):
            self._under_way.difference_update(gone, new)
            self._readmit({*gone, *new})
            for record_id in (*gone, *new):
                self._waiting.pop(record_id, None)
                self._parked.pop(record_id, None)
            if new:
                self._park()
            self._waiting.update(OrderedDict.fromkeys(each for each in new if each not in gone))
            # Under the lock, so that a turn that is ending cannot bring back what is gone.
            self._store.drop(gone)

    def begin_again(self) -> None:
        """Throw away what there is, and make it anew."""
        with self._lock:
            # What cannot be made anew at present has a fault then: the next turn tries it again.
            with suppress(sqlite3.Error, OSError):
                self._store.mend(anew=True)
            self._is_lost = bool(self._store.fault)
            self._wait_for_all()

    def check(self) -> str:
        """Say what is wrong with the file, nothing at best."""
        return self._store.fault or self._store.check()

    def try_again(self) -> bool:
        """Let those that were refused wait once more, behind all others, where that is due; tell whether it is."""
        with self._lock:
            is_due = bool(self.refused) and time.monotonic() >= self._again_at
            if is_due:
                self._again_at = time.monotonic() + AGAIN_S
                self._wait_last(each for each in self.refused if each not in self._under_way)
            return is_due

    def awaits(self, record_ids: Collection[str]) -> bool:
        """Whether one of some records waits, or is being encoded."""
        with self._lock:
            self._heed_fault()
            return any(each in self._waiting or each in self._under_way for each in record_ids)

    def turn(self, encoder: TokenEncoder, remembered: TokenCache) -> bool:
        """Encode the next few passages, and keep the records that are complete; tell whether any is done with.

        A record that the model cannot encode, while it encodes others, is refused. A file that is damaged is made anew
        before.
        """
        before = len(self)
        try:
            if self._store.fault:
                self._mend()
            self._encode_some(encoder, remembered)
        except TokensUnusable:
            if self._is_new:  # That would not help again.
                raise
        return len(self) < before

    def _encode_some(self, encoder: TokenEncoder, remembered: TokenCache) -> None:
        at_once = encoder.at_once
        left = PASSAGES_PER_TURN + FURTHER_PASSAGES * (at_once - 1)
        alone = PASSAGES_PER_TURN if at_once == 1 else 1
        done: list[TokenRecord] = []
        try:
            if at_once > 1:
                self._encode_ahead(encoder, remembered, left)
            enough = remembered.encodings + alone
            while left > 0 and remembered.encodings < enough and (unfinished := self._next()) is not None:
                try:
                    left -= encoded(unfinished, encoder, remembered)
                except Unencodable as error:
                    left -= 1
                    self._refuse(unfinished.record_id, str(error))
                    continue
                if unfinished.is_done:
                    done.append(unfinished.record())
                    with self._lock:
                        self._current = None if self._current is unfinished else self._current
        except Exception:
            self._put_last()
            raise
        finally:
            self._keep(done)

    def _encode_ahead(self, encoder: TokenEncoder, remembered: TokenCache, most: int) -> None:
        """Encode what the turn comes to, several passages at once; it finds them remembered."""
        # Which of them is at fault, if one is, the turn tells: it takes one at a time.
        with suppress(Exception):
            remembered.encode_ahead(self._ahead(encoder, most), encoder.encode_passages)

    def _ahead(self, encoder: TokenEncoder, most: int) -> list[str]:
        """The passages that the turn comes to, of records that are read and divided for it once."""
        with self._lock:
            current = self._current
        texts = current.texts(encoder, most) if current is not None else []
        with self._lock:
            ids = list(islice(reversed(self._waiting), most - len(texts)))
        entities, changed = self._changed(ids) if ids else ({}, {})
        for record_id in (each for each in ids if each in changed):
            if len(texts) >= most:
                break
            begun = self._begun(entities[record_id], changed[record_id])
            texts += begun.texts(encoder, most - len(texts))
            with self._lock:
                if record_id in self._waiting:
                    self._parked[record_id] = begun
        return texts

    def _mend(self) -> None:
        self._store.mend()
        with self._lock:
            self._is_lost, self._is_new = False, True
        self._drop_superfluous()

    def _drop_superfluous(self) -> Mapping[str, int]:
        held, known = self._held(), self._store.contents()
        self._store.drop([each for each in known if each not in held])
        return known

    def _heed_fault(self) -> None:
        if self._store.fault and not self._is_lost:
            self._is_lost = True
            self._wait_for_all()

    def _wait_for_all(self) -> None:
        self._current, self.refused = None, {}
        self._under_way.clear()
        self._parked.clear()
        self._waiting = OrderedDict.fromkeys(self._held())

    def _put_last(self) -> None:
        """Let a record that failed wait behind all others."""
        with self._lock:
            failed = self._current.record_id if self._current is not None else None
            self._park()
            if failed is not None and failed in self._waiting:
                self._wait_last([failed])

    def _wait_last(self, record_ids: Iterable[str]) -> None:
        for each in record_ids:
            self._waiting[each] = None
            self._waiting.move_to_end(each, last=False)

    def _refuse(self, record_id: str, reason: str) -> None:
        with self._lock:
            self._current = None
            if record_id in self._under_way:  # Otherwise it has changed meanwhile, or is gone.
                self._under_way.discard(record_id)
                self._again_at = time.monotonic() + AGAIN_S
                self.refused = {**self.refused, record_id: f"no token vectors: {reason}"}

    def _readmit(self, record_ids: Collection[str]) -> None:
        if not self.refused.keys().isdisjoint(record_ids):
            self.refused = {each: why for each, why in self.refused.items() if each not in record_ids}

    def _park(self) -> None:
        if self._current is not None and self._current.record_id in self._under_way:
            record_id = self._current.record_id
            self._parked[record_id] = self._current
            self._under_way.discard(record_id)
            self._waiting[record_id] = None
        self._current = None

    def _keep(self, done: list[TokenRecord]) -> None:
        with self._lock:
            valid = [record for record in done if record.record_id in self._under_way]
            self._under_way.difference_update(record.record_id for record in valid)
            try:
                if valid:
                    self._store.put(valid)
                    self._is_new = False
                self._readmit({record.record_id for record in valid})
            except Exception:
                self._waiting.update(OrderedDict.fromkeys(record.record_id for record in valid))
                raise

    def _next(self) -> "Unfinished | None":
        while True:
            with self._lock:
                if self._current is not None and self._current.record_id in self._under_way:
                    return self._current
                self._current = None
                if not self._waiting:
                    return None
                ids = list(islice(reversed(self._waiting), PASSAGES_PER_TURN))
            self._begin(ids)

    def _begin(self, ids: list[str]) -> None:
        entities, changed = self._changed(ids)
        same: dict[str, int] = {}
        with self._lock:
            for record_id in ids:
                entity = entities.get(record_id)
                if entity is not None and record_id in changed:
                    self._current = self._begun(entity, changed[record_id])
                    self._waiting.pop(record_id, None)
                    self._under_way.add(record_id)
                    self._parked.pop(record_id, None)
                    break
                self._parked.pop(record_id, None)
                if self._waiting.pop(record_id, record_id) is None:
                    self._readmit({record_id})
                    same |= {record_id: entity.revision} if entity is not None else {}
        if same:
            self._store.confirm(same)

    def _changed(self, ids: list[str]) -> tuple[Mapping[str, Entity], Mapping[str, str]]:
        """Read records; return those that are there, and the text of each that has another one than was encoded."""
        entities = self._feed.entities(ids).found
        texts = {each.id: searchable_text(each) for each in entities.values()}
        digests = self._store.digests(texts)
        return entities, {each: text for each, text in texts.items() if digests.get(each) != digest_of(text)}

    def _begun(self, entity: Entity, text: str) -> Unfinished:
        parked = self._parked.get(entity.id)
        return parked if parked is not None and parked.is_of(entity, text) else Unfinished(entity, text)
