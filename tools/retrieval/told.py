"""What happened in the days that a question names: it says so by when it happened, whatever its words are."""

from dataclasses import replace

import numpy as np

from stores.lexical import LexicalIndex, LexicalResult
from tools.retrieval.neighbours import Measure
from tools.retrieval.plan import Plan
from tools.retrieval.pool import Places, Pool
from tools.retrieval.scoring import DATED_AMONG, HELD_ONCE, Scores, ranked
from tools.retrieval.timespans import Named

BROUGHT = 50
"""Records of those days that become candidates even if no lane found them."""
LATER = 0.5
"""What the days count for what happened up to a week later, when things are told, as a share of what they do else."""


def note_told(index: LexicalIndex, plan: Plan, pool: Pool, words: LexicalResult, days: Named, measure: Measure) -> None:
    """Note how much of the question, in words for days, each of the best candidates tells without saying it.

    What holds the most of the rest of the question, of those days, is taken into the pool before. What names their
    month or year speaks for itself: it tells of these days, or of others.
    """
    if words.ceiling <= 0:
        return
    heed_names = plan.heeds_names
    found = index.happened_in(days.days, days.rest, filter=plan.prefilter, limit=BROUGHT, heed_names=heed_names)
    known = set(pool.ids)
    new = [each for each in found if each not in known]
    brought = pool.add(new)
    pool.measure(measure(new))
    best = [pool.ids[place] for place in ranked(pool.ids, pool.fused, DATED_AMONG)]
    ids = list(dict.fromkeys([*best, *found]))
    dated = index.happened(ids, days.spans)
    within = index.happened(dated, days.days)
    places = {each: place for place, each in enumerate(pool.ids) if each in dated}
    among_dated = replace(plan.prefilter, ids=frozenset(dated))
    limit = max(len(dated), 1)
    alone = index.search(days.rest, filter=among_dated, limit=limit, heed_names=heed_names)
    rest, share = np.zeros(len(pool.ids)), min(alone.ceiling / words.ceiling, 1.0)
    for each, coverage in zip(alone.hits.ids, alone.hits.coverage.tolist(), strict=True):
        rest[places[each]] = share * coverage
    _note_brought(pool, brought, rest, words.ceiling)
    among = np.array([*places.values()], np.int64)
    counts = np.array([1.0 if each in within else LATER for each in places])
    # "17" stands in many a text, a month or a year where somebody says when it was.
    saying = set(index.search(days.dates, filter=among_dated, limit=limit, heed_names=heed_names).hits.ids)
    speaks = np.array([each in saying for each in places], np.bool_)
    lacking = np.clip((1.0 - pool.coverage[among]) - (share - rest[among]), 0.0, 1.0 - share)
    pool.told[among] = np.where(speaks, 0.0, counts * lacking)


def _note_brought(pool: Pool, brought: Places, rest: Scores, ceiling: float) -> None:
    """Rank what the lexical index found by its time behind what it found by its words."""
    pool.coverage[brought] = rest[brought]
    pool.lexical[brought] = HELD_ONCE * ceiling * rest[brought]
    ranks = pool.ranks["lexical"]
    ranks[brought] = ranks.max(initial=0) + np.arange(1, len(brought) + 1)
