"""Date matching: records of the days that a query names count as if they said so."""

from dataclasses import replace

import numpy as np

from stores.lexical import LexicalIndex, LexicalResult
from tools.retrieval.date_phrases import DatePhrases
from tools.retrieval.neighbours import Measure
from tools.retrieval.plan import Plan
from tools.retrieval.pool import Pool
from tools.retrieval.scoring import DATED_AMONG, HELD_ONCE, ranked

BROUGHT = 50
REPORTED = 0.5
"""Weight of records from the week after, in which events are reported."""


def match_dates(
    index: LexicalIndex, plan: Plan, pool: Pool, words: LexicalResult, dates: DatePhrases, measure: Measure
) -> None:
    """Note the share of the query matched by time alone; add records of the named days."""
    if words.ceiling <= 0:
        return
    uses_names = plan.uses_names
    found = index.happened_in(dates.days, dates.rest, filter=plan.prefilter, limit=BROUGHT, heed_names=uses_names)
    known = set(pool.ids)
    new = [each for each in found if each not in known]
    added = pool.add(new)
    pool.measure(measure(new))
    best = [pool.ids[place] for place in ranked(pool.ids, pool.fused, DATED_AMONG)]
    dated = index.happened(dict.fromkeys([*best, *found]), dates.spans)
    among = replace(plan.prefilter, ids=frozenset(dated))
    alone = index.search(dates.rest, filter=among, limit=max(len(dated), 1), heed_names=uses_names)
    places = {each: place for place, each in enumerate(pool.ids) if each in dated}
    rest, share = np.zeros(len(pool.ids)), min(alone.ceiling / words.ceiling, 1.0)
    for each, coverage in zip(alone.hits.ids, alone.hits.coverage.tolist(), strict=True):
        rest[places[each]] = share * coverage
    pool.coverage[added] = rest[added]
    pool.lexical[added] = HELD_ONCE * words.ceiling * rest[added]
    # Behind what the lexical index found by its words.
    ranks = pool.ranks["lexical"]
    ranks[added] = ranks.max(initial=0) + np.arange(1, len(added) + 1)
    at = np.array([*places.values()], np.int64)
    exact = index.happened(dated, dates.days)
    counts = np.array([1.0 if each in exact else REPORTED for each in places])
    pool.date_share[at] = counts * np.clip((1.0 - pool.coverage[at]) - (share - rest[at]), 0.0, 1.0 - share)
