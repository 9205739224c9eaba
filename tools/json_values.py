"""What clients put into free JSON, as far as it is what was meant to be there."""

from pydantic import JsonValue


def texts_in(value: JsonValue) -> list[str]:
    """The texts of a list that are not empty; none where it is no list."""
    return [each for each in value if isinstance(each, str) and each] if isinstance(value, list) else []
