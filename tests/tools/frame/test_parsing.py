import pytest
from pydantic import Field, ValidationError

from stores.errors import ValidationFailed
from tools.frame.operation import Request
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
    assert refused.value.message == "relationship_types.0: PART_OFF is no relationship type; did you mean PART_OF?"
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
