import pytest

from stores.errors import ValidationFailed
from stores.ledger.encoding import address_key, check_text, dump_json


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
