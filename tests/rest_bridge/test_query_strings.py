from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from rest_bridge.query_strings import Coercion, read_query
from stores.errors import ValidationFailed


class Fields(BaseModel):
    number: int | None = None
    amount: float = 0
    flag: bool = False
    word: str | None = None
    either: int | str = 0
    kind: Literal["a", "b"] = "a"
    numbers: list[int] = []
    maybe: list[bool] | None = None


COERCION = Coercion(Fields.model_json_schema())


def query(text: str) -> dict[str, JsonValue]:
    given = read_query({"query_string": text.encode()})
    return COERCION.fields(frozenset(Fields.model_fields), given, "query")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("number=7", {"number": 7}),
        ("number=-7", {"number": -7}),
        ("number=7.5", {"number": "7.5"}),
        ("number=x", {"number": "x"}),
        ("number=", {"number": ""}),
        ("number=\u0661", {"number": "\u0661"}),
        ("amount=7", {"amount": 7}),
        ("amount=.5e1", {"amount": 5.0}),
        ("amount=inf", {"amount": "inf"}),
        ("amount=NaN", {"amount": "NaN"}),
        ("flag=TRUE", {"flag": True}),
        ("flag=0", {"flag": False}),
        ("flag=maybe", {"flag": "maybe"}),
        ("word=7", {"word": "7"}),
        ("word=true", {"word": "true"}),
        ("word=a%20b+c", {"word": "a b c"}),
        ("either=7", {"either": "7"}),
        ("kind=b", {"kind": "b"}),
        ("numbers=1&numbers=2", {"numbers": [1, 2]}),
        ("numbers=1&numbers=x", {"numbers": [1, "x"]}),
        ("maybe=true", {"maybe": [True]}),
        ("unknown=1", {}),
        ("", {}),
        ("&&=&number", {"number": ""}),
    ],
)
def test_a_query_string_is_read(text: str, expected: dict[str, JsonValue]) -> None:
    assert query(text) == expected


def test_a_field_that_takes_one_value_is_not_given_two() -> None:
    with pytest.raises(ValidationFailed) as refused:
        query("number=1&number=1")
    assert refused.value.details["field"] == "query.number"


@given(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_what_is_written_is_read_back(number: int, amount: float, flag: bool) -> None:
    found = query(f"number={number}&amount={amount!r}&flag={flag}".replace("+", "%2B"))
    assert found == {"number": number, "amount": amount, "flag": flag}
