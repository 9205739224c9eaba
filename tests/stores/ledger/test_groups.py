from hypothesis import given
from hypothesis import strategies as st

from stores.ledger.groups import Facets, Group, Order, Standing, first_of, first_of_groups

NONE = Facets("note", "", "", "", "", "", None, None, None)
ROWS = st.lists(
    st.builds(
        lambda name, updated, created: Standing(
            f"note_{name}", "note", "organization", updated, created, updated, NONE
        ),
        st.integers(0, 30),
        st.integers(0, 4),
        st.integers(0, 4),
    ),
    unique_by=lambda row: row.id,
    max_size=25,
)
ORDERS = st.builds(Order, st.sampled_from(["updated_us", "created_us"]), st.booleans(), st.integers(1, 30))


def expected(rows: list[Standing], order: Order) -> list[Standing]:
    place, is_descending, most = order
    return sorted(rows, key=lambda row: (getattr(row, place), row.id), reverse=is_descending)[:most]


@given(ROWS, ORDERS)
def test_the_first_of_any_rows_are_those_of_all_sorted(rows: list[Standing], order: Order) -> None:
    assert first_of(rows, order) == expected(rows, order)


@given(ROWS, ORDERS, st.integers(1, 4), st.sets(st.integers(0, 24)))
def test_groups_give_what_their_rows_do_also_after_changes(
    rows: list[Standing], order: Order, parts: int, dropped: set[int]
) -> None:
    groups = [Group() for _ in range(parts)]
    for number, row in enumerate(rows):
        groups[number % parts].put(row)
    assert first_of_groups(groups, order) == expected(rows, order)
    for number, row in enumerate(rows):
        if number in dropped:
            groups[number % parts].drop(row.id)
    left = [row for number, row in enumerate(rows) if number not in dropped]
    assert first_of_groups(groups, order) == expected(left, order)
