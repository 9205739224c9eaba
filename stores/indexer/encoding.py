"""Encoding the tokens of one record, one passage at a time, and telling whether it is to blame where that fails."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol

from stores.embedding import Passage
from stores.indexer.batch_bisect import is_of_the_machine
from stores.indexer.lane import describe
from stores.indexer.vector_cache import TokenCache
from stores.records import Entity
from stores.tokens import PassageTokens, TokenRecord, Tokens

PROBE = "A text of a few plain words."
"""What a model that works encodes."""


class TokenEncoder(Protocol):
    """Encodes passages to token vectors; `LateEncoder` for one."""

    @property
    def model(self) -> str:
        """What the vectors are recorded with."""
        ...

    @property
    def width(self) -> int:
        """Bytes of each token's vector."""
        ...

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages that fit the models."""
        ...

    def encode_passage(self, text: str) -> Tokens:
        """Return the vectors of its tokens."""
        ...

    @property
    def at_once(self) -> int:
        """How many passages it encodes at once at present."""
        ...

    def encode_passages(self, texts: Sequence[str]) -> list[Tokens | None]:
        """Return the same of several, in order; None where it failed, or was not begun."""
        ...


class Unfinished:
    """A record some of whose passages are encoded."""

    def __init__(self, entity: Entity, text: str) -> None:
        self.record_id = entity.id
        self._revision = entity.revision
        self._text = text
        self._passages: list[Passage] | None = None if text else []
        self._tokens: list[PassageTokens] = []

    @property
    def is_done(self) -> bool:
        """Whether all of them are."""
        return self._passages is not None and len(self._tokens) == len(self._passages)

    def is_of(self, entity: Entity, text: str) -> bool:
        """Whether they are those of a record as it is now."""
        return entity.revision == self._revision and text == self._text

    def encode(self, encoder: TokenEncoder, remembered: TokenCache) -> int:
        """Encode the next passage; return how many that were, none of an empty text."""
        chosen = self._next(encoder, 1)
        for each in chosen:
            found = remembered.encoded(self._text[each.start : each.end], encoder.encode_passage)
            self._tokens.append(PassageTokens(each.start, each.end, found))
        return len(chosen)

    def texts(self, encoder: TokenEncoder, most: int) -> list[str]:
        """The passages that are encoded next."""
        return [self._text[each.start : each.end] for each in self._next(encoder, most)]

    def _next(self, encoder: TokenEncoder, most: int) -> list[Passage]:
        if self._passages is None:
            self._passages = encoder.split(self._text)
        first = len(self._tokens)
        return self._passages[first : first + most]

    def record(self) -> TokenRecord:
        """What is to be kept once it is done."""
        return TokenRecord(self.record_id, self._revision, digest_of(self._text), self._tokens)


class Unencodable(Exception):  # the record is at fault, the model is not
    """The model encodes other texts and not this one."""


def encoded(unfinished: Unfinished, encoder: TokenEncoder, remembered: TokenCache) -> int:
    """Encode the next passage of a record; return how many that were.

    Raises:
        Unencodable: The record is to blame: twice it cannot be encoded, and another text can in between.
        Exception: The model, or the machine, is.
    """
    try:
        return unfinished.encode(encoder, remembered)
    except Exception as error:
        if is_of_the_machine(error):
            raise
        encoder.encode_passage(PROBE)
    try:
        return unfinished.encode(encoder, remembered)
    except Exception as error:
        if is_of_the_machine(error):
            raise
        raise Unencodable(describe(error)) from error


def digest_of(text: str) -> bytes:
    """What tells a text from others."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
