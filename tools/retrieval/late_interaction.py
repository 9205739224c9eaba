"""Late interaction: MaxSim (Khattab and Zaharia, SIGIR 2020) of the best candidates.

Tokens of thread neighbours count at a discount.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stores.embedding.builtin import unpacked
from stores.indexer import OpenIndexes
from stores.lexical import LexicalIndex
from stores.tokens import Tokens
from tools.retrieval.checks import Checks
from tools.retrieval.plan import Plan
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import TOKEN_CHANCE, Scores, expected_best

AMONG = 50
"""Candidates; 100 gave the same results in twice the time."""
AMONG_BY_WORDS = 30
"""Those with the most words, in threads: neighbours lend some that the evidence weighs little."""
MOST_TOKENS = 6_500
MOST_WITH_NEIGHBOURS = 8_000
REACH = 4
DISCOUNT = 0.93
"""Weight of a match one position away; two away its square."""
CODE_PRECISION = 0.5
"""Weight of the share of a code's tokens that the query matches (precision in BERTScore: Zhang et al., ICLR 2020)."""
_ROWS = 512
"""Tokens per multiplication, to stay in the CPU cache."""

QueryTokens = NDArray[np.float32]
"""(tokens, dimension), unit vectors."""


class Near(NamedTuple):
    owner: int
    """Place in the list of candidates."""
    other: str
    distance: int


class Matches(NamedTuple):
    better: Scores
    """Mean match of each candidate's best passage, relative to the average; 0 where unknown."""
    weakest: Mapping[str, float]
    """Match of the query's worst token in a whole record, by id."""


def compare(
    indexes: OpenIndexes, plan: Plan, pool: Pool, places: Iterable[int], checks: Checks, query: Future[QueryTokens]
) -> Matches | None:
    """Compare the query with the candidates at `places`, outside of threads with the first `AMONG`.

    None if there is nothing to compare.

    Raises:
        EmbeddingFailed: The query could not be encoded.
        sqlite3.Error: The token vectors could not be read.
    """
    store = indexes.vectors.tokens if indexes.vectors is not None else None
    places = list(dict.fromkeys(places))
    if store is None or not places:
        return None
    ids = [pool.ids[place] for place in places]
    near = _near(indexes.lexical, ids, checks) if plan.uses_threads and indexes.lexical is not None else []
    if not near:
        places, ids = places[:AMONG], ids[:AMONG]
    starts = dict(zip(ids, pool.passage_starts(places), strict=True))
    nearest = sorted(near, key=attrgetter("distance"))
    wanted = {each: starts.get(each, 0) for each in (*ids, *(each.other for each in nearest))}
    held = store.read(wanted, most=MOST_WITH_NEIGHBOURS if near else MOST_TOKENS)
    if not held.keys() & starts.keys():
        return None
    # Needed later anyway; done while the model encodes the query.
    checks.ask(pool.ids)
    best, anywhere, held_asked = best_matches(query.result(), held.values())
    rows = dict(zip(held, range(len(held)), strict=True))
    shown = checks.found(ids)
    known = [at for at, record_id in enumerate(ids) if record_id in rows and record_id in shown]
    if not known:
        return None
    own = [rows[ids[at]] for at in known]
    means = _with_neighbours(best, rows, ids, near)[own].mean(axis=1).astype(np.float64)
    means -= TOKEN_CHANCE * expected_best(np.array([len(held[ids[at]]) for at in known]))
    if indexes.lexical is not None:
        code = np.flatnonzero(indexes.lexical.code_among([ids[at] for at in known]))
        asked = held_asked[own][code]
        means[code] += CODE_PRECISION * (asked - asked.mean()) if len(code) else 0.0
    better = np.zeros(len(pool.ids))
    better[np.array(places)[known]] = means - means.mean()
    weakest = _with_neighbours(anywhere, rows, ids, near)[own].min(axis=1).tolist()
    return Matches(better, dict(zip((ids[at] for at in known), weakest, strict=True)))


def best_matches(query: QueryTokens, records: Collection[Sequence[Tokens]]) -> tuple[QueryTokens, QueryTokens, Scores]:
    """Return (records, query tokens) twice: the greatest cosine with a token of the best passage, and of any.

    And for each record the mean greatest cosine of that passage's tokens with one of the query.
    """
    passages = [passage for of_record in records for passage in of_record]
    tokens = np.concatenate(passages)
    products = np.empty((len(tokens), len(query)), np.float32)
    for first in range(0, len(tokens), _ROWS):
        np.matmul(unpacked(tokens[first : first + _ROWS]), query.T, out=products[first : first + _ROWS])
    starts = np.cumsum([0, *map(len, passages[:-1])])
    # Transposed, so that each maximum runs over contiguous memory: half the time.
    best = np.maximum.reduceat(np.ascontiguousarray(products.T), starts, axis=1)
    passage = _best_passages(best.mean(axis=0), map(len, records))
    asked = np.add.reduceat(products.max(axis=1), starts) / [len(each) for each in passages]
    chosen = best[:, passage]
    anywhere = np.maximum.reduceat(best, np.cumsum([0, *map(len, records)])[:-1], axis=1)
    return np.ascontiguousarray(chosen.T), np.ascontiguousarray(anywhere.T), asked[passage]


def _best_passages(means: NDArray[np.float32], counts: Iterable[int]) -> list[int]:
    ends = list(accumulate(counts, initial=0))
    return [first + int(means[first:last].argmax()) for first, last in pairwise(ends)]


def _with_neighbours(
    best: QueryTokens, rows: Mapping[str, int], ids: Sequence[str], near: Sequence[Near]
) -> QueryTokens:
    pairs = [each for each in near if ids[each.owner] in rows and each.other in rows]
    if not pairs:
        return best
    owners, others = np.array([(rows[ids[each.owner]], rows[each.other]) for each in pairs], np.int64).T
    factors = np.array([DISCOUNT**each.distance for each in pairs], np.float32)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    raised = best.copy()
    raised[owners[first]] = np.maximum(
        best[owners[first]], np.maximum.reduceat(best[others] * factors[:, None], first, axis=0)
    )
    return raised


def _near(index: LexicalIndex, ids: Sequence[str], checks: Checks) -> list[Near]:
    found = index.around(ids, REACH)
    names = index.named_by(set(found.keys)) if found.keys else {}
    allowed = checks.wanted(names.values())
    around = zip(found.owners, found.keys, found.distances, strict=True)
    return [Near(owner, names[key], distance) for owner, key, distance in around if names.get(key) in allowed]
