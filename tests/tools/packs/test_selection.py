"""What stands in a pack, where, and in which order."""

from hypothesis import given
from hypothesis import strategies as st

from tools.packs.facets import INTENTS, SHELVES, Intent, Layer, Option, most_each, relevant, select, takes
from tools.records.entity_types import GONE

TYPES = sorted({each for shelf in SHELVES.values() for each in shelf.types})
options = st.builds(
    Option, id=st.uuids().map(str), entity_type=st.sampled_from(TYPES),
    status=st.sampled_from(("", "todo", "doing", "done", "completed", "archived", "retired", "superseded")),
    score=st.floats(0, 1), is_under_way=st.just(False),
)  # fmt: skip


def placed(intent: Intent, *found: Option, limit: int = 24) -> list[tuple[str, str]]:
    return [(each.facet, each.option.id) for each in select(found, INTENTS[intent], limit)]


def test_work_that_is_over_is_prior_art_where_there_is_any_and_else_nothing() -> None:
    done, epic = Option("t", "task", "done", 0.9), Option("e", "epic", "completed", 0.8)
    project = Option("p", "project", "completed", 0.7)
    assert placed("build", done, epic, project) == [("prior_art", "t"), ("prior_art", "e"), ("prior_art", "p")]
    assert placed("ideate", done) == []
    assert placed("build", Option("t", "task", "todo", 0.1)) == [("active_work", "t")]


def test_what_is_out_of_use_is_in_no_pack() -> None:
    assert placed("build", *(Option(word, "decision", word, 0.9) for word in GONE)) == []


def test_a_record_stands_once_in_the_first_facet_that_has_room() -> None:
    rules = [Option(f"r{number}", "rule", "", 1 - number / 10) for number in range(5)]
    assert placed("review", *rules) == [
        ("verification", "r0"), ("constraints", "r3"), ("verification", "r1"), ("verification", "r2"),
        ("constraints", "r4"),
    ]  # fmt: skip


def test_what_is_under_way_leads_and_ties_keep_their_order() -> None:
    lead = Option("z", "task", "doing", 0.0, is_under_way=True)
    twins = [Option("b", "task", "todo", 0.5), Option("a", "task", "todo", 0.5)]
    assert [each for _, each in placed("build", *twins, lead)] == ["z", "b", "a"]


def test_when_there_is_room_for_few_every_facet_keeps_its_best() -> None:
    found = [Option(f"d{number}", "decision", "", 0.9) for number in range(4)]
    found += [Option("n", "note", "", 0.2), Option("r", "rule", "", 0.3)]
    assert placed("build", *found, limit=4) == [
        ("decisions", "d0"), ("decisions", "d1"), ("constraints", "r"), ("recent_memory", "n"),
    ]  # fmt: skip


def test_no_facet_and_no_task_hides_a_stronger_record() -> None:
    found = [Option("g", "error_pattern", "", 0.05), Option("t", "task", "doing", 0.0, is_under_way=True)]
    found += [Option("n", "note", "", 0.98), Option("a", "artifact", "", 0.3), Option("m", "note", "", 0.7)]
    assert [each for _, each in placed("debug", *found)] == ["n", "t", "m", "a", "g"]
    assert placed("debug", *found, limit=1) == [("recent_memory", "n")]


@given(st.lists(options, max_size=40, unique_by=lambda option: option.id), st.sampled_from(sorted(INTENTS)), st.data())
def test_no_pack_breaks_its_bounds(found: list[Option], intent: Intent, data: st.DataObject) -> None:
    limit = data.draw(st.integers(1, 50))
    facets = INTENTS[intent]
    chosen = select(found, facets, limit)
    assert len(chosen) <= limit
    assert len({each.option.id for each in chosen}) == len(chosen)
    assert all(takes(each.facet, each.option) for each in chosen)
    for facet in facets:
        assert sum(each.facet == facet for each in chosen) <= most_each(limit, facets)
    places = {option.id: place for place, option in enumerate(found)}
    ranks = [(each.facet, not each.option.is_under_way, -each.option.score, places[each.option.id]) for each in chosen]
    for facet in facets:
        of_one = [rank for rank in ranks if rank[0] == facet]
        assert of_one == sorted(of_one)


def test_what_is_far_is_noise_unless_nothing_is_nearer() -> None:
    def kept(*cosines: float, layer: Layer = "recall") -> list[float]:
        options = [Option(str(near), "note", "", 0.5, nearness=near) for near in cosines]
        return [each.nearness for each in relevant(options, layer)]

    assert kept(0.6, 0.13, 0.11, -0.1) == [0.6, 0.13]
    assert kept(0.1, 0.06, 0.04) == [0.1, 0.06]
    assert kept(0.6, 0.07, layer="deep_search") == [0.6, 0.07]
    assert relevant([Option("a", "note", "", 0.0)], "recall") == [], "found by nothing"


def test_what_shares_no_word_with_the_goal_must_be_near_next_to_what_it_is_about() -> None:
    def kept(*cosines: float, layer: Layer = "recall") -> list[float]:
        first, *others = (Option(str(near), "note", "", 0.5, nearness=near, shares_words=False) for near in cosines)
        options = [Option("all words", "note", "", 0.9), first, *others]
        return [each.nearness for each in relevant(options, layer)][1:]

    assert kept(0.5, 0.18, 0.17) == [0.5, 0.18]
    assert kept(0.9, 0.2, 0.19) == [0.9, 0.2], "never more than 0.2"
    assert kept(0.3, 0.12, 0.11) == [0.3, 0.12], "as little as without a nearer one"
    assert kept(0.5, 0.07, layer="deep_search") == [0.5, 0.07]
    named = [Option("a", "note", "", 0.5, nearness=near) for near in (0.5, 0.13)]
    assert relevant(named, "recall") == named, "these hold a word"
