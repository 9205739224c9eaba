import re
from typing import Literal

import pytest
from pydantic import Field, ValidationError

from stores.errors import ValidationFailed
from tools.frame.operation import Request, Tool
from tools.frame.parsing import parse, parse_json
from tools.relations.explore import ExploreRequest
from tools.search.search import SearchRequest


class Find(Request):
    query: str = Field(min_length=1)
    limit: int = Field(10, ge=1, le=50)
    metadata: dict[str, object] | None = None


def test_a_type_that_there_is_not_is_named_by_its_place_and_the_types_that_there_are() -> None:
    for model, more in ((SearchRequest, {"query": "a"}), (ExploreRequest, {})):
        with pytest.raises(ValidationFailed) as refused:
            parse(model, {**more, "types": ["note", "nonsense"]})
        assert refused.value.details["field"] == "body.types.1"
        assert "'episode'" in refused.value.details["expected"]
        assert "more field" not in refused.value.message


def test_a_refusal_is_one_sentence_with_one_end() -> None:
    with pytest.raises(ValidationFailed) as refused:
        parse(ExploreRequest, {"relationship_types": ["PART_OFF"]})
    assert refused.value.message == "relationship_types.0: PART_OFF is not a relationship type; did you mean PART_OF?"
    with pytest.raises(ValidationFailed) as refused:
        parse(Find, {"query": ""})
    assert refused.value.message.endswith("character.")
    assert refused.value.details["expected"] == "String should have at least 1 character"


def test_whole_numbers_are_found_wherever_they_stand() -> None:
    class Nested(Request):
        pages: list[Find]
        several: list[int] | int | None = None

    found = parse_json(Nested, {"pages": [{"query": "a", "limit": 2}, {"query": "b", "limit": 3.0}], "free": 1.0})
    assert [page.limit for page in found.pages] == [2, 3]
    with pytest.raises(ValidationError):
        parse_json(Nested, {"pages": [], "several": "x"})


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"query": "a", "phase": "new', 'old"}, "phase: Input should be 'new' or 'old'."),
        ({"query": "a", "metadata": r'{"a": "\u0000"}'}, "body.metadata.a holds the character U+0000"),
        ({"query": "a", "metadata": '{"a": 1e999}'}, "body.metadata.a is not a finite number."),
        ({"query": "a", "phase": "OLD"}, "phase: old is not for agents"),
    ],
    ids=["two words", "null", "infinity", "not for agents"],
)
def test_a_repaired_value_is_checked_as_if_it_was_sent(sent: dict[str, object], message: str) -> None:
    class Sorted(Find):
        phase: Literal["new", "old"] = "new"

    tool = Tool("Find", read_only=True, omit_values={"phase": frozenset({"old"})})
    with pytest.raises(ValidationFailed, match=re.escape(message)):
        parse(Sorted, sent, tool=tool)
    assert parse(Sorted, {"query": "a", "phase": "NEW"}, tool=tool).phase == "new"
