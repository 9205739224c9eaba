"""Hits of a search as columns, because hundreds are ranked and few looked at."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Hit = TypeVar("Hit", bound=tuple[Any, ...])


class Hits(Sequence[Hit]):
    """A column of ids, one of scores, and further ones; `kind` makes a hit of a row."""

    kind: Callable[..., Hit]
    dtypes: ClassVar[tuple[type[np.generic], ...]]

    def __init__(self, ids: Sequence[str], *columns: NDArray[Any]) -> None:
        self.ids = ids
        self.columns = columns
        self.scores: NDArray[np.float64] = columns[0]

    @classmethod
    def of(cls, hits: Iterable[Hit]) -> Self:
        found = list(hits)
        columns = ([hit[place] for hit in found] for place, _ in enumerate(cls.dtypes, start=1))
        return cls([hit[0] for hit in found], *map(np.array, columns, cls.dtypes))

    def __len__(self) -> int:
        return len(self.ids)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    @overload
    def __getitem__(self, at: int) -> Hit: ...

    @overload
    def __getitem__(self, at: slice) -> Self: ...

    def __getitem__(self, at: int | slice) -> Hit | Self:
        if isinstance(at, slice):
            return type(self)(self.ids[at], *(column[at] for column in self.columns))
        return self.kind(self.ids[at], *(column[at].item() for column in self.columns))
