import numpy as np

from stores.lexical import LexicalHit, LexicalResult
from stores.vectors import DenseHit
from tools.retrieval.pool import Pool


def test_what_the_words_alone_found_has_its_nearness_once_measured() -> None:
    words = LexicalResult((LexicalHit("a", 2.0, 1.0), LexicalHit("b", 1.0, 0.5), LexicalHit("c", 0.5, 0.2)), 3.0, {})
    pool = Pool(words, [DenseHit("b", 0.9, 0, 4), DenseHit("d", 0.8, 0, 4)])
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
