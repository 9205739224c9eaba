"""Token vectors of one organization, made from the passages of its vector index.

The embedding worker calls `turn` when no text waits. A long record takes several turns; a changed one begins again.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from stores.embedding import Passage
from stores.indexer.faults import describe, is_of_the_machine, log, log_refused
from stores.indexer.track import Handle, Surroundings
from stores.records import Entity, searchable_text
from stores.tokens import PassageTokens, TokenRecord, Tokens, TokenStore, TokensUnusable
from stores.vectors import VectorIndex

if TYPE_CHECKING:
    from stores.embedding.builtin import LateEncoder

T = TypeVar("T")

PASSAGES_PER_TURN = 4
"""A write meanwhile waits for these: .7 s on a slow processor."""
FURTHER_PASSAGES = 2
"""For each encoded in parallel: together they take a third longer than alone."""
PROBE = "A text of a few plain words."


class Unencodable(Exception):  # the record is at fault, the model is not
    """The model encodes other texts and not this one."""


@dataclass(slots=True, eq=False)
class Encoding:
    entity: Entity
    text: str
    passages: Sequence[Passage] | None = None
    tokens: list[PassageTokens] = field(default_factory=list)

    def divide(self, encoder: "LateEncoder") -> Sequence[tuple[Passage, str]]:
        """Return the passages without vectors, and their texts."""
        if self.passages is None:
            self.passages = encoder.split(self.text) if self.text else ()
        return [(each, self.text[each.start : each.end]) for each in self.passages[len(self.tokens) :]]


class TokenQueue:
    """`turn` is called by one thread, everything else by any."""

    def __init__(self, around: Surroundings, handle: Handle[VectorIndex], wake: Callable[[], None]) -> None:
        """Records whose vectors are missing or outdated wait."""
        self._around = around
        self._handle = handle
        self._wake = wake
        self._lock = threading.Lock()
        self._store: TokenStore | None = handle.index.tokens
        self._under_way: set[str] = set()
        """Being encoded, and unchanged since."""
        self._current: Encoding | None = None
        """The record at which the last turn ended."""
        self.refused: dict[str, str] = {}
        """Reasons by record that the model cannot encode."""
        self.rests_until = 0.0
        missing: Iterable[str] = ()
        if self._store is not None:
            held, known = handle.index.contents(), self._store.contents()
            self._store.drop([each for each in known if each not in held])
            self._store.on_fault = around.wake
            missing = [each for each, revision in held.items() if known.get(each) != revision]
        self._waiting = OrderedDict.fromkeys(missing)

    def __len__(self) -> int:
        return len(self._waiting)

    def require_sound(self) -> None:
        """Raise TokensUnusable if the file is damaged: reopening the index replaces it."""
        if self._store is not None and self._store.fault:
            raise TokensUnusable(self._store.fault)

    def let_go(self) -> None:
        with self._lock:
            self._store = None
            self._restart(())

    def follow(self, changed: Iterable[str], deleted: Iterable[str]) -> None:
        """Queue records that the index took in, and drop those that are gone."""
        gone = set(deleted)
        with self._lock:
            if self._store is None:
                return
            new = [each for each in changed if each not in gone]
            self._under_way.difference_update(gone, new)
            for record_id in (*gone, *new):
                self.refused.pop(record_id, None)
            for record_id in gone:
                self._waiting.pop(record_id, None)
            self._waiting.update(dict.fromkeys(new))
            with suppress(TokensUnusable):
                # Under the lock, so that an ending turn cannot bring back deleted records.
                self._store.drop(list(gone))
        self._wake()

    def begin_again(self) -> None:
        with self._lock:
            if self._store is None:
                return
            with suppress(TokensUnusable):
                self._store.clear()
            self._restart(self._handle.index.contents())
        self._wake()

    def differences(self) -> list[str]:
        """Check the file; where it cannot be read, it is made again."""
        fault = self._store.check() if self._store is not None else ""
        return [f"token vectors cannot be read: {fault}"] if fault else []

    def fail(self, error: Exception, pause_s: float) -> None:
        self.rests_until = time.monotonic() + pause_s
        # Not as `organization_id`, as where a record is refused.
        log.warning("token_vectors_failed", organization=self._around.organization_id, error=describe(error))
        self._around.progressed()

    def turn(self, encoder: "LateEncoder") -> None:
        """Encode the next few passages and store complete records."""
        handle, store, before = self._handle, self._store, len(self)
        if store is None or not handle.acquire():
            return
        try:
            self._encode(store, encoder)
            self.rests_until = 0.0
        finally:
            handle.release()
            if len(self) < before:
                self._around.progressed()

    def _encode(self, store: TokenStore, encoder: "LateEncoder") -> None:
        at_once = encoder.at_once
        left = PASSAGES_PER_TURN + FURTHER_PASSAGES * (at_once - 1)
        alone = PASSAGES_PER_TURN if at_once == 1 else 1
        batch = self._begun(store, left)
        encoded = _together(encoder, batch, left) if at_once > 1 else {}
        done: list[TokenRecord] = []
        try:
            for each in batch:
                self._current = each
                try:
                    for passage, text in _tried(encoder, partial(each.divide, encoder)):
                        if left <= 0 or alone <= 0:
                            return
                        left -= 1
                        if (vectors := encoded.get(text)) is None:
                            alone -= 1
                            vectors = encoded[text] = _tried(encoder, partial(encoder.encode_passage, text))
                        each.tokens.append(PassageTokens(passage.start, passage.end, vectors))
                except Unencodable as error:
                    self._refuse(each.entity.id, str(error))
                    continue
                done.append(TokenRecord(each.entity.id, each.entity.revision, digest_of(each.text), each.tokens))
                self._current = None
        finally:
            self._keep(store, done)

    def _begun(self, store: TokenStore, most: int) -> list[Encoding]:
        with self._lock:
            ids = list(islice(self._waiting, most))
            # It goes on where it was, unless the record has changed.
            current = self._current if self._current and self._current.entity.id in self._under_way else None
            self._current = None
            self._under_way.update(ids)
        entities = self._around.feed.entities(ids)
        texts = {each.id: searchable_text(each) for each in entities.values()}
        digests = store.digests(texts)
        same = {each for each in ids if each not in texts or digests.get(each) == digest_of(texts[each])}
        store.confirm({each: entities[each].revision for each in same if each in entities})
        with self._lock:
            for each in same & self._under_way:
                self._drop(each)
        fresh = [Encoding(entities[each], texts[each]) for each in ids if each not in same]
        return [current if current is not None and current.entity == each.entity else each for each in fresh]

    def _keep(self, store: TokenStore, done: list[TokenRecord]) -> None:
        with self._lock:
            valid = [record for record in done if record.record_id in self._under_way]
            if valid:
                store.put(valid)
            for record in valid:
                self._drop(record.record_id)

    def _refuse(self, record_id: str, reason: str) -> None:
        with self._lock:
            self._current = None
            if record_id not in self._under_way:  # it has changed meanwhile, or is gone
                return
            self._drop(record_id)
            why = self.refused[record_id] = f"no token vectors: {reason}"
        log_refused(self._around.organization_id, "vectors", "entity", record_id, why)

    def _drop(self, record_id: str) -> None:
        self._under_way.discard(record_id)
        self._waiting.pop(record_id, None)
        self.refused.pop(record_id, None)

    def _restart(self, record_ids: Iterable[str]) -> None:
        self._current, self.refused = None, {}
        self._under_way.clear()
        self._waiting = OrderedDict.fromkeys(record_ids)


def _tried(encoder: "LateEncoder", act: Callable[[], T]) -> T:
    """Raise Unencodable if it fails twice, and another text can be encoded in between."""
    try:
        return act()
    except Exception as error:
        if is_of_the_machine(error):
            raise
        encoder.encode_passage(PROBE)
    try:
        return act()
    except Exception as error:
        if is_of_the_machine(error):
            raise
        raise Unencodable(describe(error)) from error


def digest_of(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _together(encoder: "LateEncoder", batch: Iterable[Encoding], most: int) -> dict[str, Tokens | None]:
    with suppress(Exception):  # each is tried alone afterwards
        texts = list(dict.fromkeys(text for each in batch for _, text in each.divide(encoder)))[:most]
        return dict(zip(texts, encoder.encode_passages(texts), strict=True))
    return {}
