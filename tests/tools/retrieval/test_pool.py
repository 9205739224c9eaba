import numpy as np

from stores.lexical import LexicalHit, LexicalHits, LexicalResult
from stores.vectors import DenseHit, DenseHits
from tools.retrieval.pool import Pool


def test_what_the_words_alone_found_has_its_nearness_once_measured() -> None:
    words = LexicalResult(
        LexicalHits.of([LexicalHit("a", 2.0, 1.0), LexicalHit("b", 1.0, 0.5), LexicalHit("c", 0.5, 0.2)]), 3.0, {}
    )
    pool = Pool(words, DenseHits.of([DenseHit("b", 0.9, 0, 4), DenseHit("d", 0.8, 0, 4)]))
    assert pool.unmeasured == ["a", "c"]
    pool.measure([DenseHit("a", 0.4, 5, 9)])
    assert pool.unmeasured == ["c"]
    assert [round(float(each), 2) for each in pool.cosine[:2]] == [0.4, 0.9]
    assert np.isnan(pool.cosine[2])
    candidate = pool.candidate(0, 0.5)
    assert (candidate.cosine, candidate.passage) == (0.4, (5, 9))
    # It was not found by meaning.
    assert candidate.sources == ["lexical"]
    assert pool.found_by("vector") == 2


def test_what_is_measured_later_leaves_what_was_measured_before() -> None:
    words = LexicalResult(LexicalHits.of([LexicalHit("a", 2.0, 1.0)]), 3.0, {})
    pool = Pool(words, DenseHits.of([]))
    pool.measure([DenseHit("a", 0.4, 5, 9)])
    (place,) = pool.add(["b"])
    pool.measure([DenseHit("b", 0.3, 1, 2)])
    assert (pool.candidate(0, 0.5).passage, pool.candidate(int(place), 0.5).passage) == ((5, 9), (1, 2))
    pool.measure([])
    assert [round(float(each), 2) for each in pool.cosine] == [0.4, 0.3]
