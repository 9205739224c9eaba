from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores.errors import ValidationFailed
from stores.ledger.encoding import (
    address_key,
    check_text,
    cut,
    dump_json,
    fold,
    from_micros,
    key_of,
    load_value,
    to_micros,
)

INSTANTS = st.datetimes(timezones=st.just(UTC))


@given(INSTANTS)
def test_an_instant_survives_to_the_microsecond(instant: datetime) -> None:
    assert from_micros(to_micros(instant)) == instant


@given(INSTANTS, INSTANTS)
def test_stored_instants_compare_as_instants_do(one: datetime, other: datetime) -> None:
    assert (to_micros(one) < to_micros(other)) == (one < other)


def test_another_zone_is_the_same_instant() -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    instant = datetime(2026, 3, 1, 0, 0, 0, 1, tzinfo=zone)
    assert from_micros(to_micros(instant)) == instant
    assert from_micros(to_micros(instant)).tzinfo is UTC


@given(st.text(max_size=30), st.integers(0, 40))
def test_a_cut_is_the_longest_beginning_that_fits(text: str, size: int) -> None:
    text = text.encode(errors="ignore").decode()
    found = cut(text, size)
    assert text.startswith(found)
    assert len(found.encode()) <= size
    assert found == text or len(text[: len(found) + 1].encode()) > size


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing_more_and_ignores_case(text: str) -> None:
    assert fold(fold(text)) == fold(text)
    assert fold(text.casefold()) == fold(text)


def test_a_key_is_empty_for_nothing_and_bounded_for_everything() -> None:
    assert key_of(None) == key_of("") == ""
    assert len(key_of("ß" * 10_000).encode()) <= 200
    assert len(key_of("\u0390" * 10_000).encode()) <= 200


@given(st.text(alphabet=["\\", "u", "0", "\0", '"', "a"], max_size=12))
def test_json_with_u0000_is_refused_and_what_looks_like_it_is_kept(text: str) -> None:
    if "\0" in text:
        with pytest.raises(ValidationFailed):
            dump_json({"k": text})
    else:
        assert load_value(dump_json({"k": text})) == {"k": text}


def test_a_structure_too_deep_to_read_is_refused() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValidationFailed):
        dump_json(deep)  # type: ignore[arg-type]


def test_two_halves_of_a_character_are_not_joined_across_texts() -> None:
    with pytest.raises(ValidationFailed):
        check_text(("\ud83d", "\ude00"))
    check_text(("😀", None, ""))


def test_an_address_is_the_same_in_whatever_case_its_ascii_letters_are() -> None:
    assert address_key("Sam.O'Neil+x@Example.ORG") == address_key("sam.o'neil+X@EXAMPLE.org")


@pytest.mark.parametrize(
    ("one", "other"),
    [("\u017fam@ex.org", "sam@ex.org"), ("mar\u212a@ex.org", "mark@ex.org"), ("\u0130an@ex.org", "i\u0307an@ex.org"),
     ("sam@stra\u00dfe.de", "sam@strasse.de"), ("\u00c9va@ex.org", "\u00e9va@ex.org"),
     ("e\u0301va@ex.org", "\u00e9va@ex.org"), ("sam@ex\uff0eorg", "sam@ex.org")],
    ids=["long s", "Kelvin", "dotted I", "sharp s", "accent in capitals", "decomposed", "wide dot"],
)  # fmt: skip
def test_addresses_that_only_look_alike_are_not_the_same(one: str, other: str) -> None:
    assert address_key(one) != address_key(other)
