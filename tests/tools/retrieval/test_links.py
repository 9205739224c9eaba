from tools.retrieval.links import Reached, SeedLink, dated, reach
from tools.retrieval.plan import NEIGHBOURS_EACH

STRENGTH = {"a": 0.9, "b": 0.5}


def test_a_neighbour_has_the_best_lead_of_those_that_tell_of_it() -> None:
    links = [
        SeedLink("b", "x", "ABOUT"),
        SeedLink("a", "x", "ABOUT"),
        SeedLink("a", "y", "BELONGS_TO"),
        SeedLink("b", "y", "ABOUT"),
    ]
    found = reach(STRENGTH, links, shown=STRENGTH, replaced=())
    assert found == [Reached("x", 0.9, True), Reached("y", 0.5, True)]


def test_what_is_filed_with_a_candidate_is_brought_in_and_tells_nothing() -> None:
    for name in ("BELONGS_TO", "PART_OF", "CONTAINS"):
        assert reach(STRENGTH, [SeedLink("a", "x", name)], shown=STRENGTH, replaced=()) == [Reached("x", 0.9, False)]


def test_a_hub_tells_nothing_of_its_neighbours_and_brings_in_no_more_than_others() -> None:
    links = [SeedLink("a", f"x{number}", "ABOUT") for number in range(NEIGHBOURS_EACH + 1)]
    few = reach(STRENGTH, links[:-1], shown=STRENGTH, replaced=())
    many = reach(STRENGTH, links, shown=STRENGTH, replaced=())
    assert len(few) == len(many) == NEIGHBOURS_EACH
    assert all(each.telling for each in few)
    assert not any(each.telling for each in many)


def test_what_is_not_shown_leads_nowhere_and_what_was_replaced_to_its_successor() -> None:
    links = [SeedLink("a", "x", "ABOUT"), SeedLink("a", "new", "SUPERSEDES"), SeedLink("b", "y", "ABOUT")]
    assert reach(STRENGTH, links, shown={"b"}, replaced={"a"}) == [Reached("new", 0.9, True), Reached("y", 0.5, True)]
    assert reach(STRENGTH, links, shown={"b"}, replaced=()) == [Reached("y", 0.5, True)]


def test_what_of_the_same_name_was_true_in_the_days_that_are_meant_stands_in_for_what_is_true_now() -> None:
    then = [SeedLink("a", "old", "OWNS"), SeedLink("a", "both", "OWNS")]
    now = [
        SeedLink("a", "both", "OWNS"),
        SeedLink("a", "new", "OWNS"),
        SeedLink("a", "guide", "ABOUT"),
        SeedLink("b", "other", "OWNS"),
    ]
    found = reach(STRENGTH, dated(then, now), shown=STRENGTH, replaced=())
    telling = {each.record_id: each.telling for each in found}
    assert list(telling) == ["old", "both", "new", "guide", "other"]
    assert telling == {"old": True, "both": True, "new": False, "guide": True, "other": True}
    assert dated([], now) == now


def test_a_record_of_few_neighbours_then_is_no_hub_for_having_many_others_now() -> None:
    then = [SeedLink("a", f"old{number}", "OWNS") for number in range(NEIGHBOURS_EACH)]
    found = reach(STRENGTH, dated(then, [SeedLink("a", "new", "OWNS")]), shown=STRENGTH, replaced=())
    assert [each.record_id for each in found] == [link.record_id for link in then]
    assert all(each.telling for each in found)


def test_what_was_replaced_leads_to_its_successor_whatever_it_replaced_itself_in_the_days_that_are_meant() -> None:
    links = dated([SeedLink("a", "first", "SUPERSEDES")], [SeedLink("a", "new", "SUPERSEDES")])
    assert Reached("new", 0.9, True) in reach(STRENGTH, links, shown=(), replaced={"a"})
