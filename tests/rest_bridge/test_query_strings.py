from typing import Literal

import pytest
from pydantic import BaseModel, JsonValue

from rest_bridge.query_strings import Coercion, read_query


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
