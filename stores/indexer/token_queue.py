"""Token vectors of one organization, made from what its vector index holds.

The embedding worker calls `turn` when no text waits. A long record takes several turns; a changed one begins again.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from stores.embedding import Passage
from stores.indexer.handle import Handle
from stores.indexer.refusals import is_of_the_machine
from stores.indexer.surroundings import Surroundings, describe, log, log_refused
from stores.indexer.vector_cache import digest_of
from stores.records import Entity, searchable_text
from stores.tokens import PassageTokens, TokenRecord, Tokens, TokenStore, TokensUnusable
from stores.vectors import VectorIndex

if TYPE_CHECKING:
    from stores.embedding.late import LateEncoder

PASSAGES_PER_TURN = 4
"""A write meanwhile waits for these: .7 s on a slow processor."""
FURTHER_PASSAGES = 2
"""For each encoded in parallel: together they take a third longer than alone."""


PROBE = "A text of a few plain words."


class Unencodable(Exception):  # the record is at fault, the model is not
    """The model encodes other texts and not this one."""


class Encoding:
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

    def texts(self, encoder: "LateEncoder", most: int) -> list[str]:
        return [self._text[each.start : each.end] for each in self._next(encoder, most)]

    def advance(self, encoder: "LateEncoder", encoded: Mapping[str, Tokens]) -> bool:
        """Add the next passage, from `encoded` or by the model; return whether the model was asked.

        Unencodable if it fails twice, and another text can be encoded in between.
        """
        try:
            return self._advance(encoder, encoded)
        except Exception as error:
            if is_of_the_machine(error):
                raise
            encoder.encode_passage(PROBE)
        try:
            return self._advance(encoder, encoded)
        except Exception as error:
            if is_of_the_machine(error):
                raise
            raise Unencodable(describe(error)) from error

    def record(self) -> TokenRecord:
        return TokenRecord(self.record_id, self._revision, digest_of(self._text), self._tokens)

    def _advance(self, encoder: "LateEncoder", encoded: Mapping[str, Tokens]) -> bool:
        (each,) = self._next(encoder, 1)
        text = self._text[each.start : each.end]
        found = encoded.get(text)
        vectors = encoder.encode_passage(text) if found is None else found
        self._tokens.append(PassageTokens(each.start, each.end, vectors))
        return found is None

    def _next(self, encoder: "LateEncoder", most: int) -> list[Passage]:
        if self._passages is None:
            self._passages = encoder.split(self._text)
        first = len(self._tokens)
        return self._passages[first : first + most]


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
        self.refused: Mapping[str, str] = {}
        """Reasons by record that the model cannot encode. Replaced whole."""
        self.rests_until = 0.0
        self.trouble = ""
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
            self._forget_refusals({*gone, *new})
            for record_id in gone:
                self._waiting.pop(record_id, None)
            self._waiting.update(dict.fromkeys(new))
            with suppress(TokensUnusable):
                # Under the lock, so that a turn that is ending cannot bring back what is gone.
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
        self.rests_until, self.trouble = time.monotonic() + pause_s, f"token vectors are missing: {describe(error)}"
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
            self.rests_until, self.trouble = 0.0, ""
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
                try:
                    while left > 0 and alone > 0 and not each.is_done:
                        left -= 1
                        self._current = each
                        alone -= each.advance(encoder, encoded)
                except Unencodable as error:
                    self._refuse(each.record_id, str(error))
                    continue
                if not each.is_done:
                    return
                done.append(each.record())
                self._current = None
        finally:
            self._keep(store, done)

    def _begun(self, store: TokenStore, most: int) -> list[Encoding]:
        with self._lock:
            ids = list(islice(self._waiting, most))
            current = (
                self._current if self._current is not None and self._current.record_id in self._under_way else None
            )
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
        return [_resumed(current, entities[each], texts[each]) for each in ids if each not in same]

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
            self.refused = {**self.refused, record_id: f"no token vectors: {reason}"}
        log_refused(self._around.organization_id, "vectors", "entity", record_id, self.refused[record_id])

    def _drop(self, record_id: str) -> None:
        self._under_way.discard(record_id)
        self._waiting.pop(record_id, None)
        self._forget_refusals({record_id})

    def _restart(self, record_ids: Iterable[str]) -> None:
        self._current, self.refused = None, {}
        self._under_way.clear()
        self._waiting = OrderedDict.fromkeys(record_ids)

    def _forget_refusals(self, record_ids: set[str]) -> None:
        if not self.refused.keys().isdisjoint(record_ids):
            self.refused = {each: why for each, why in self.refused.items() if each not in record_ids}


def _resumed(current: Encoding | None, entity: Entity, text: str) -> Encoding:
    is_same = current is not None and current.record_id == entity.id and current.is_of(entity, text)
    return current if current is not None and is_same else Encoding(entity, text)


def _together(encoder: "LateEncoder", batch: Iterable[Encoding], most: int) -> dict[str, Tokens]:
    found: dict[str, Tokens] = {}
    with suppress(Exception):  # each is tried alone afterwards
        texts = list(dict.fromkeys(text for each in batch for text in each.texts(encoder, most)))[:most]
        found = {
            text: vectors
            for text, vectors in zip(texts, encoder.encode_passages(texts), strict=True)
            if vectors is not None
        }
    return found
