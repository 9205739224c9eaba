from typing import Annotated, Literal

from pydantic import BaseModel, Field, JsonValue, StringConstraints

from tools.frame.arguments import input_schema
from tools.frame.operation import Tool


class Arguments(BaseModel):
    title: Annotated[str, StringConstraints(min_length=1, max_length=9, pattern=r"\S")] = Field(description="A name.")
    limit: int = Field(10, ge=1, le=50, description="Most of them.")
    kind: Literal["a", "b"] | None = Field(None, description="Which kind.")
    either: int | str | None = Field(None, description="A number or a word.")
    data: dict[str, JsonValue] | None = Field(None, description="Anything.")
    hidden: bool = Field(False, description="Over REST only.")


def test_arguments_are_described_without_noise() -> None:
    assert input_schema(Arguments, Tool("Try", read_only=True, omit=frozenset({"hidden"}))) == {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "A name."},
            "limit": {"type": "integer", "default": 10, "maximum": 50, "description": "Most of them."},
            "type": {"type": "string", "enum": ["a", "b"], "description": "Which kind."},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}], "description": "A number or a word."},
            "data": {"type": "object", "description": "Anything."},
        },
    }


def test_words_that_are_for_programs_alone_are_not_offered() -> None:
    tool = Tool("Try", read_only=True, omit_values={"kind": frozenset({"b"})})
    schema = input_schema(Arguments, tool)
    assert schema["properties"]["type"]["enum"] == ["a"]
