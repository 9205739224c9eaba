"""Token encoding of one record, a passage at a time."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from stores.embedding import Passage
from stores.indexer.refusals import is_of_the_machine
from stores.indexer.surroundings import describe
from stores.indexer.vector_cache import digest_of
from stores.records import Entity
from stores.tokens import PassageTokens, TokenRecord, Tokens

PROBE = "A text of a few plain words."


class TokenEncoder(Protocol):
    """Late-interaction model, such as `LateEncoder`."""

    @property
    def model(self) -> str: ...

    @property
    def width(self) -> int:
        """Bytes of a token's vector."""

    def split(self, text: str) -> list[Passage]: ...

    def encode_passage(self, text: str) -> Tokens: ...

    @property
    def at_once(self) -> int:
        """Passages encoded in parallel at present."""

    def encode_passages(self, texts: Sequence[str]) -> list[Tokens | None]:
        """Encode several, in order; None where it failed, or was not begun."""


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

    def texts(self, encoder: TokenEncoder, most: int) -> list[str]:
        return [self._text[each.start : each.end] for each in self._next(encoder, most)]

    def advance(self, encoder: TokenEncoder, encoded: Mapping[str, Tokens]) -> bool:
        """Add the next passage, from `encoded` or by the model; return whether the model was asked.

        Raises:
            Unencodable: It fails twice, and another text can be encoded in between. Exception: The model, or the
                machine, is at fault.
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

    def _advance(self, encoder: TokenEncoder, encoded: Mapping[str, Tokens]) -> bool:
        (each,) = self._next(encoder, 1)
        text = self._text[each.start : each.end]
        found = encoded.get(text)
        vectors = encoder.encode_passage(text) if found is None else found
        self._tokens.append(PassageTokens(each.start, each.end, vectors))
        return found is None

    def _next(self, encoder: TokenEncoder, most: int) -> list[Passage]:
        if self._passages is None:
            self._passages = encoder.split(self._text)
        first = len(self._tokens)
        return self._passages[first : first + most]
