import pytest

from stores.errors import ValidationFailed
from stores.ledger.encoding import check_text, dump_json


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
