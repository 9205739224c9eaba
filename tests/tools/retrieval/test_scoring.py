"""Scores: within range, rising with every lane, comparable between queries, and the same for the real engines."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.people import Person
from tools.retrieval.pool import Candidate
from tools.retrieval.scoring import (
    CALIBRATION,
    FEW,
    HELD_ONCE,
    NAMED,
    NEIGHBOUR_SHARE,
    Scores,
    Signals,
    ThreadContext,
    beyond_chance,
    calibrated,
    doubted,
    expected_best,
    fuse,
    fused_by_rank,
    lifted,
    neighbourly,
    ranked,
    recency,
    set_apart,
)

CEILING = 20.0
YES = np.array([True])
shares = st.floats(0, 1)
candidates = st.builds(
    Candidate, id=st.text("abc", min_size=1, max_size=3), lexical=st.none() | st.floats(0, CEILING), coverage=shares,
    cosine=st.none() | st.floats(-1, 1),
)  # fmt: skip
pools = st.lists(candidates, min_size=1, max_size=8, unique_by=lambda candidate: candidate.id)


def fused(pool: list[Candidate], *, dense: bool = True, ceiling: float = CEILING) -> dict[str, float]:
    lexical = np.array([np.nan if each.lexical is None else each.lexical for each in pool])
    cosine = np.array([np.nan if each.cosine is None else each.cosine for each in pool])
    coverage = np.array([each.coverage for each in pool])
    scores = fuse(lexical, coverage, cosine, ceiling=ceiling, dense=dense)
    return dict(zip((each.id for each in pool), scores.tolist(), strict=True))


def column(*values: float) -> Scores:
    return np.array(values, np.float64)


@pytest.mark.parametrize("dense", [True, False])
def test_code_that_holds_every_word_in_pieces_is_no_exact_answer(dense: bool) -> None:
    held, near = column(1.0, 1.0, 1.0), column(0.2, 0.2, 0.2)
    signals = Signals(is_code=np.array([True, True, False]), is_scattered=np.array([True, False, False]))
    loose, saying, prose = fuse(4 * held, held, near, ceiling=CEILING, dense=dense, signals=signals).tolist()
    assert loose < 0.6
    assert min(saying, prose) > 0.9
    threaded = replace(signals, context=ThreadContext(np.array([True, False, False]), column(0.0, 0.0, 0.0)))
    assert fuse(4 * held, held, near, ceiling=CEILING, dense=dense, signals=threaded)[0] > 0.9, "a turn of a thread"


def test_the_best_of_many_passages_is_near_by_chance() -> None:
    near, none = column(0.5, 0.5, 0.45), np.zeros(3)
    signals = Signals(passages=np.array([1, 6, 1]))
    short, long, further = fuse(none, none, near, ceiling=CEILING, dense=True, signals=signals).tolist()
    assert short > further > long
    expected = [float(np.random.default_rng(1).standard_normal((20_000, n)).max(axis=1).mean()) for n in (1, 2, 5, 40)]
    np.testing.assert_allclose(expected_best(np.array([1, 2, 5, 40])), expected, atol=0.04)


def test_words_are_silent_where_no_record_holds_a_quarter_of_them() -> None:
    near, late = column(0.4, 0.41), column(0.05, -0.05)
    for coverage, first in ((0.2, 1), (0.6, 0)):
        signals = Signals(token_match=late, context=ThreadContext(np.zeros(2, np.bool_), column(0.1, 0.0)))
        scores = fuse(column(3.0, 0.0), column(coverage, 0.0), near, ceiling=CEILING, dense=True, signals=signals)
        assert scores.argmax() == first


@given(pools, st.booleans(), st.floats(0, CEILING))
def test_scores_stay_between_0_and_1_whatever_the_lanes_say(pool: list[Candidate], dense: bool, ceiling: float) -> None:
    assert all(0 <= score <= 1 for score in fused(pool, dense=dense, ceiling=ceiling).values())


@given(pools, st.sampled_from((("lexical", CEILING), ("coverage", 1.0))), shares, st.booleans())
def test_a_score_never_falls_when_bm25_or_coverage_rises(
    pool: list[Candidate], lane: tuple[str, float], share: float, dense: bool
) -> None:
    first, (field, most) = pool[0], lane
    raised = replace(first, **{field: max(getattr(first, field) or 0.0, share * most)})
    assert fused([raised, *pool[1:]], dense=dense)[first.id] >= fused(pool, dense=dense)[first.id]


@given(pools, st.floats(-1, 1))
def test_a_score_never_falls_when_the_cosine_rises(pool: list[Candidate], more: float) -> None:
    first = pool[0]
    near = -1.0 if first.cosine is None else first.cosine
    before, raised = replace(first, cosine=near), replace(first, cosine=max(near, more))
    assert fused([raised, *pool[1:]])[first.id] >= fused([before, *pool[1:]])[first.id]


@given(pools)
def test_a_record_outside_of_the_dense_lane_is_not_nearer_than_the_last_one_in_it(pool: list[Candidate]) -> None:
    held = [candidate.cosine for candidate in pool if candidate.cosine is not None]
    inside = Candidate("inside", cosine=max(0.0, min(held, default=0.0)))
    outside = Candidate("outside")
    scores = fused([*pool, inside, outside])
    assert scores["outside"] <= scores["inside"]


@given(
    st.lists(st.tuples(st.text(min_size=1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), unique_by=lambda pair: pair[0]),
    st.integers(0, 9),
)
def test_the_ranking_falls_and_ties_go_to_the_smaller_id(scored: list[tuple[str, float]], count: int) -> None:
    ids = [record_id for record_id, _ in scored]
    found = ranked(ids, column(*(score for _, score in scored)), count)
    expected = sorted((-score, record_id) for record_id, score in scored)[:count]
    assert [(-scored[place][1], scored[place][0]) for place in found] == expected


def test_scores_fall_where_most_of_the_question_is_unknown_and_nowhere_else() -> None:
    scores = column(0.0, 0.5, 1.0)
    assert doubted(scores, 1.0, 1.0, None).tolist() == [0.0, 0.15, 0.3]
    assert doubted(scores, 1.0, 0.5, None).tolist() == [0.0, 0.325, 0.65]
    assert doubted(scores, 1.0, 0.49, None).tolist() == doubted(scores, 1.0, 0.0, None).tolist() == scores.tolist()


def test_the_best_is_no_better_than_its_weakest_word_allows_and_the_others_keep_their_distance() -> None:
    scores = column(0.9, 0.45, 0.0)
    assert doubted(scores, 0.9, 0.0, 0.7).tolist() == [0.5, 0.25, 0.0]
    assert doubted(scores, 0.9, 0.0, 0.9).tolist() == scores.tolist()
    assert doubted(column(0.04), 0.04, 0.0, 0.4).tolist() == [0.04]


def test_a_long_text_holds_common_words_by_chance_and_a_short_one_holds_what_it_says() -> None:
    rare, common = 6.0, 0.5
    coverage = column(0.5, 0.5, 0.5, 1.0)
    passages = np.array([1, 4, 1, 4])
    assert beyond_chance(coverage, (rare, rare), passages).tolist() == pytest.approx([0.5, 0.496, 0.5, 1.0], abs=1e-3)
    assert beyond_chance(coverage, (common, common), passages).tolist() == pytest.approx([0.5, 0.2, 0.5, 1.0], abs=0.1)


def test_equal_scores_come_newest_first_and_no_score_gives_way_to_age() -> None:
    ids, scores = ["c", "a", "d", "b"], column(0.5, 0.5, 0.6, 0.5)
    changed, kept = column(3.0, 1.0, 0.0, 3.0), column(2.0, 3.0, 3.0, 1.0)
    assert [ids[place] for place in ranked(ids, scores, 4, newest=[changed])] == ["d", "b", "c", "a"]
    assert [ids[place] for place in ranked(ids, scores, 2, newest=[changed])] == ["d", "b"]
    assert [ids[place] for place in ranked(ids, scores, 4, newest=[changed, kept])] == ["d", "c", "b", "a"]
    assert [ids[place] for place in ranked(ids, scores, 4)] == ["d", "a", "b", "c"]


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_neighbour_is_lifted_by_its_lead_and_never_above_it(own: float, one: float, two: float) -> None:
    low, high = sorted((one, two))
    by_low, by_high = (float(neighbourly(column(own), column(lead), YES, YES)[0]) for lead in (low, high))
    assert own <= by_low <= by_high <= 1
    assert by_high >= NEIGHBOUR_SHARE * high**2
    if own < 0.3:
        assert by_high <= max(high, lifted(own, 0.2)), "a weak record does not overtake what led to it by that alone"


def test_beside_an_answer_a_neighbour_is_worth_showing_and_beside_what_is_off_topic_it_is_not() -> None:
    leads, all_of = column(0.95, 0.4, 0.2), np.full(3, True)
    beside_exact, beside_doubtful, beside_nothing = neighbourly(column(0.0, 0.0, 0.0), leads, all_of, ~all_of)
    assert beside_exact > 0.5
    assert beside_doubtful < 0.1
    assert beside_nothing < 0.03


def test_what_is_merely_filed_with_an_answer_keeps_its_own_score_where_it_has_one() -> None:
    found, brought_in = neighbourly(column(0.2, 0.0), column(0.95, 0.95), ~np.full(2, True), np.array([True, False]))
    assert 0.2 < found < 0.25
    assert 0.2 < brought_in < 0.3


@given(st.floats(0, 1), st.floats(0, 1), shares)
def test_a_bonus_keeps_the_order_and_the_range(one: float, other: float, share: float) -> None:
    low, high = sorted((one, other))
    assert low <= lifted(low, share) <= lifted(high, share) <= 1


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=2, max_size=8))
def test_exact_names_stand_above_all_others_and_the_order_among_either_stays(scored: list[tuple[float, bool]]) -> None:
    scores, named = column(*(score for score, _ in scored)), np.array([is_named for _, is_named in scored])
    apart = set_apart(scores, named)
    assert all(NAMED <= score <= 1 for score in apart[named])
    assert all(0 <= score <= NAMED for score in apart[~named])
    for group in (named, ~named):
        order = np.argsort(scores[group], kind="stable")
        assert (np.diff(apart[group][order]) >= 0).all()
    low = ~named & (scores <= 0.9)
    assert apart[low].tolist() == pytest.approx(scores[low].tolist())


def test_evidence_maps_to_the_stated_points_and_straight_in_between() -> None:
    evidence, scores = zip(*CALIBRATION, strict=True)
    assert calibrated(column(*evidence)).tolist() == pytest.approx(scores)
    assert calibrated(column(0.3, 99.0, -1.0)).tolist() == pytest.approx([0.15, 1.0, 0.0])


def test_pages_that_hold_every_word_somewhere_are_no_exact_answers_but_where_they_are_few() -> None:
    sentence = Candidate("sentence", lexical=HELD_ONCE * CEILING, coverage=0.9, cosine=0.6)
    pages = [Candidate(f"page {number}", lexical=0.1 * CEILING, coverage=1.0, cosine=0.2) for number in range(FEW + 1)]
    found = fused([sentence, *pages])
    assert max(found[page.id] for page in pages) < 0.4 < found["sentence"]
    found = fused([sentence, *pages[:FEW]])
    assert min(found[page.id] for page in pages[:FEW]) >= 0.9


@pytest.mark.parametrize("others", [FEW - 1, FEW, FEW + 1])
def test_a_page_does_not_fall_as_it_comes_to_hold_every_word_as_others_do(others: int) -> None:
    pages = [Candidate(f"page {number}", lexical=0.1 * CEILING, coverage=1.0) for number in range(others)]
    before, after = (
        fused([Candidate("a", lexical=0.1 * CEILING, coverage=coverage), *pages])["a"] for coverage in (0.999, 1.0)
    )
    assert after >= before


def test_words_without_vectors_still_tell_exact_from_off_topic() -> None:
    pool = [
        Candidate("exact", lexical=0.5 * CEILING, coverage=1.0),
        Candidate("stray", lexical=0.15 * CEILING, coverage=0.25),
    ]
    found = fused(pool, dense=False)
    assert found["exact"] >= 0.9
    assert found["stray"] < 0.3


def test_recency_halves_with_each_period_and_the_future_counts_as_present() -> None:
    month = 30 * 86_400.0
    found = recency(column(0, month, 2 * month, -5 * 86_400.0), 30)
    assert found.tolist() == pytest.approx([1, 0.5, 0.25, 1])


def test_a_record_of_another_moment_counts_nothing_when_recency_lasts_no_time() -> None:
    assert recency(column(1.0, 0.0), 5e-324).tolist() == [0, 1]


NOTES = [
    ("Retry policy for HTTP calls", "Calls are retried three times with exponential backoff and full jitter."),
    ("Error E4711 in the build", "The build fails with E4711 when the cache folder is mounted read-only."),
    ("Tenant isolation", "Every query carries the organization's id; a missing one raises NoTenantError at once."),
    ("Connection pooling", "Ten PostgreSQL connections stay open per worker and are recycled every hour."),
    ("Release checklist", "Bump the version, run the migrations on a copy, then tag and push the container image."),
    ("Why SQLite holds the ledger", "A durable commit takes a fifth of a millisecond and needs no server process."),
    ("Feature flags", "Flags are read from flags_for_user(), never from the environment, so that tests can set them."),
    ("Logging", "Log lines are structured; the request id is bound once in the middleware and inherited."),
]
OFF_TOPIC = [
    "sourdough baking with rye and a long cold proof", "who won the football world cup final",
    "income tax law for married couples", "purple violin mountain yesterday", "grandmother's cherry jam",
]  # fmt: skip


async def best(person: Person, query: str) -> tuple[str, float]:
    found = (await person.call("search", query=query))["results"]
    return (found[0]["name"], found[0]["score"]) if found else ("", 0.0)


@pytest.mark.anyio
async def test_exact_answers_are_near_1_and_off_topic_ones_below_a_third(owner: Person) -> None:
    entities = [{"name": name, "content": content, "entity_type": "note"} for name, content in NOTES]
    await owner.call("bulk_create_entities", entities=entities, sync=True)
    for name, content in NOTES:
        for query in (name, content, content.split(";")[0].rstrip(".")):
            found, score = await best(owner, query)
            assert (found, score >= 0.9) == (name, True), (query, score)
    for identifier, name in (("E4711", NOTES[1][0]), ("NoTenantError", NOTES[2][0]), ("flags_for_user", NOTES[6][0])):
        found, score = await best(owner, identifier)
        assert (found, score >= 0.9) == (name, True), (identifier, score)
    for query in OFF_TOPIC:
        found, score = await best(owner, query)
        assert score < 0.3, (query, found, score)


def test_ranks_alone_give_one_to_what_is_first_in_each_lane_and_nothing_to_what_none_found() -> None:
    scores = fused_by_rank([np.array([1, 2, 0, 0]), np.array([1, 0, 2, 0])])
    assert scores[0] == 1
    assert scores[1] == scores[2] == pytest.approx(61 / 62 / 2)
    assert scores[3] == 0


@given(st.permutations(range(1, 9)), st.permutations(range(1, 9)))
def test_ranks_alone_order_as_reciprocal_rank_fusion_does(one: list[int], other: list[int]) -> None:
    scores = fused_by_rank([np.array(one), np.array(other)])
    sums = [1 / (60 + a) + 1 / (60 + b) for a, b in zip(one, other, strict=True)]
    assert scores.tolist() == pytest.approx([each * 61 / 2 for each in sums])
