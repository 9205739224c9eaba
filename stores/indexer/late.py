"""Token vectors of one organization's records: which ones are missing, and making them a few passages at a time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b
from itertools import islice
from typing import Protocol

from stores.embedding import Passage
from stores.indexer.admission import is_of_the_machine
from stores.indexer.feed import Feed
from stores.indexer.handle import Handle
from stores.indexer.lane import Surroundings, describe, log_refused
from stores.indexer.refusals import AGAIN_S
from stores.indexer.remembered import RememberedTokens
from stores.records import Entity, searchable_text
from stores.tokens import PassageTokens, TokenRecord, Tokens, TokenStore
from stores.vectors import VectorIndex

PASSAGES_PER_TURN = 4
"""What may keep a write that is made meanwhile waiting: a fifth of a second on a slow processor."""
PROBE = "A text of a few plain words."
"""What a model that works encodes."""


class TokenEncoder(Protocol):
    """A model for late interaction."""

    @property
    def model(self) -> str:
        """What the vectors are recorded with."""
        ...

    @property
    def width(self) -> int:
        """Numbers of each vector."""
        ...

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages that fit the model."""
        ...

    def encode_passage(self, text: str) -> Tokens:
        """Return (tokens, width) bytes, a vector each."""
        ...


class LateRider:
    """The token vectors of one organization, of whichever index is open at the moment. Safe to use from any thread."""

    def __init__(self, around: Surroundings, wake: Callable[[], None]) -> None:
        self._around = around
        self._wake = wake
        self._handle: Handle[VectorIndex] | None = None
        self._vectors: LateVectors | None = None

    def __len__(self) -> int:
        """How many records wait for their token vectors."""
        return len(self._vectors) if self._vectors is not None else 0

    @property
    def is_hurried(self) -> bool:
        """Whether somebody waits for a write of this organization to show."""
        return bool(self) and self._around.hurried()

    @property
    def refused(self) -> Mapping[str, str]:
        """Records that the model cannot encode, and why."""
        return self._vectors.refused if self._vectors is not None else {}

    def awaits(self, record_ids: Collection[str]) -> bool:
        """Whether one of some records has still to get its token vectors."""
        return self._vectors is not None and self._vectors.awaits(record_ids)

    def adopt(self, handle: Handle[VectorIndex]) -> None:
        """Follow an index from what it holds now."""
        index = handle.index
        self._handle = handle
        self._vectors = LateVectors(index.tokens, self._around.feed, index.contents()) if index.tokens else None
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

    def give_up_for_now(self) -> None:
        """Let nobody wait for what failed."""
        self._around.progressed()

    def turn(self, encoder: TokenEncoder, remembered: RememberedTokens) -> None:
        """Encode the tokens of a few passages."""
        handle, vectors = self._handle, self._vectors
        if handle is None or vectors is None or not handle.acquire():
            return
        known = vectors.refused
        try:
            if vectors.turn(encoder, remembered):
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

    def __init__(self, store: TokenStore, feed: Feed, held: Mapping[str, int]) -> None:
        """Begin with the records and revisions that the vector index holds."""
        self._store = store
        self._feed = feed
        self._lock = threading.Lock()
        known = store.contents()
        self._waiting = OrderedDict.fromkeys(each for each, revision in held.items() if known.get(each) != revision)
        """The newest last, which are encoded first: somebody may be waiting for them."""
        self._current: _Unfinished | None = None
        self._parked: dict[str, _Unfinished] = {}
        """Records that had to make way for newer ones."""
        self._under_way: set[str] = set()
        """Records that are being encoded and have neither changed nor gone since."""
        self.refused: Mapping[str, str] = {}
        """Those that the model cannot encode, and why. Replaced whole, so that all may read."""
        self._again_at = 0.0
        store.drop([each for each in known if each not in held])

    def __len__(self) -> int:
        """How many records wait."""
        with self._lock:
            return len(self._waiting) + len(self._under_way)

    def follow(self, changed: Iterable[str], deleted: Iterable[str]) -> None:
        """Take note of what the vector index has just taken in."""
        gone, new = list(deleted), list(changed)
        with self._lock:
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
            known = self._store.contents()
            self._store.drop(known)
            self._waiting.update(OrderedDict.fromkeys((*known, *self.refused)))
            self._readmit(self.refused)
            self._under_way.clear()
            self._parked.clear()

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
            return any(each in self._waiting or each in self._under_way for each in record_ids)

    def turn(self, encoder: TokenEncoder, remembered: RememberedTokens) -> bool:
        """Encode the next few passages, and keep the records that are complete; tell whether any is done with.

        A record that the model cannot encode, while it encodes others, is refused.
        """
        before = len(self)
        left = PASSAGES_PER_TURN
        done: list[TokenRecord] = []
        try:
            while left > 0 and (unfinished := self._next()) is not None:
                try:
                    left -= _encoded(unfinished, encoder, remembered, left)
                except _Unencodable as error:
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
        return len(self) < before

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
                self._readmit({record.record_id for record in valid})
            except Exception:
                self._waiting.update(OrderedDict.fromkeys(record.record_id for record in valid))
                raise

    def _next(self) -> "_Unfinished | None":
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
        entities = self._feed.entities(ids)
        texts = {each.id: searchable_text(each) for each in entities.values()}
        digests = self._store.digests(texts)
        same: dict[str, int] = {}
        with self._lock:
            for record_id in ids:
                entity = entities.get(record_id)
                if entity is not None and digests.get(record_id) != _digest(texts[record_id]):
                    self._waiting.pop(record_id, None)
                    self._under_way.add(record_id)
                    parked = self._parked.pop(record_id, None)
                    if parked is None or not parked.is_of(entity, texts[record_id]):
                        parked = _Unfinished(entity, texts[record_id])
                    self._current = parked
                    break
                if self._waiting.pop(record_id, record_id) is None:
                    self._readmit({record_id})
                    same |= {record_id: entity.revision} if entity is not None else {}
        if same:
            self._store.confirm(same)


class _Unfinished:
    """A record some of whose passages are encoded."""

    def __init__(self, entity: Entity, text: str) -> None:
        self.record_id = entity.id
        self._revision = entity.revision
        self._text = text
        self._passages: list[Passage] | None = None if text else []
        self._tokens: list[PassageTokens] = []

    @property
    def is_done(self) -> bool:
        return self._passages is not None and len(self._tokens) == len(self._passages)

    def is_of(self, entity: Entity, text: str) -> bool:
        return entity.revision == self._revision and text == self._text

    def encode(self, encoder: TokenEncoder, remembered: RememberedTokens, most: int) -> int:
        """Encode some passages; return how many."""
        if self._passages is None:
            self._passages = encoder.split(self._text)
        first = len(self._tokens)
        chosen = self._passages[first : first + most]
        for each in chosen:
            vectors = remembered.encoded(self._text[each.start : each.end], encoder.encode_passage)
            self._tokens.append(PassageTokens(each.start, each.end, vectors))
        return len(chosen)

    def record(self) -> TokenRecord:
        return TokenRecord(self.record_id, self._revision, _digest(self._text), self._tokens)


class _Unencodable(Exception):  # the record is at fault, the model is not
    """The model encodes other texts and not this one."""


def _encoded(unfinished: _Unfinished, encoder: TokenEncoder, remembered: RememberedTokens, most: int) -> int:
    """Encode some passages of a record; return how many.

    Raises:
        _Unencodable: The record is to blame: twice it cannot be encoded, and another text can in between.
        Exception: The model, or the machine, is.
    """
    try:
        return unfinished.encode(encoder, remembered, most)
    except Exception as error:
        if is_of_the_machine(error):
            raise
        encoder.encode_passage(PROBE)
    try:
        return unfinished.encode(encoder, remembered, most)
    except Exception as error:
        if is_of_the_machine(error):
            raise
        raise _Unencodable(describe(error)) from error


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
