"""The models that read the best candidates of a search more closely, as one reader of passages."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stores.embedding.embedder import Passage, PassageVectors
from stores.embedding.hands import Hands
from stores.embedding.late import LateEncoder
from stores.embedding.second import SecondModel


class CloseReader:
    """Token by token, and once more by meaning. Every method may be called from any thread at any time."""

    width: Final = LateEncoder.width
    """Bytes of a passage's token."""

    def __init__(self, *, twice: bool = True, asks_second: bool = True, hands: Hands | None = None) -> None:
        """Without `twice` there is no second model for meaning: beside another first one it was not measured.

        Where it is not asked, it reads nothing and is not loaded; what it read before stays of use. `hands` are who
        helps to read passages; nobody does without.
        """
        self._hands = hands or Hands(1)
        self.late = LateEncoder()
        self.second = SecondModel() if twice and asks_second else None
        self.model = f"{LateEncoder.model}+{SecondModel.model}" if twice else LateEncoder.model
        """What the vectors are recorded with."""
        self.is_asked_twice = self.second is not None
        """Whether passages get a vector by the second model."""
        self.dimension = SecondModel.dimension if twice else 0
        """Bytes of a passage's vector by the second model; 0 where there is none."""

    def split(self, text: str) -> list[Passage]:
        """Divide a text into passages that either model reads whole."""
        return self.late.split(text)

    @property
    def at_once(self) -> int:
        """How many passages are read at once at present."""
        return self._hands.free

    def encode_passages(self, texts: Sequence[str]) -> list[PassageVectors | None]:
        """Return what `encode_passage` returns of each, read several at once until somebody asks something.

        None stands for one that failed, and for one that was not begun any more.
        """
        return self._hands.some(self.encode_passage, texts)

    def encode_passage(self, text: str) -> PassageVectors:
        """Return what is kept of a passage; either model takes twice the time that `BuiltinEmbedder` takes for it.

        Raises:
            EmbeddingFailed: A model cannot be loaded, or was closed.
        """
        sentence = np.empty(0, np.int8) if self.second is None else self.second.embed_passage(text)
        return PassageVectors(self.late.encode_passage(text), sentence)

    def read_question(self, text: str) -> None:
        """Have every model read a question: so they are loaded for the next one.

        Raises:
            EmbeddingFailed: A model cannot be loaded, or was closed.
        """
        self.late.encode_question(text)
        if self.second is not None:
            self.second.embed_question(text)

    def close(self) -> None:
        """Let go of the models; what is running finishes."""
        self.late.close()
        if self.second is not None:
            self.second.close()
