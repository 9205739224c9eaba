"""Dates in requests: ISO 8601 in any zone, or relative like `7d` and `2w`."""

from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints
from pydantic_core import PydanticCustomError

from stores.errors import ValidationFailed
from stores.language.moments import LONGEST_READ, read_span

FORMS = (
    "an ISO 8601 date or time such as 2026-03-01, 2026-03 or 2026-03-01T12:00:00Z, "
    "or a relative value such as 12h, 7d, 2w, 3m (of 30 days) or 1y"
)

NO_DATE = "no_date"


def _text(value: object) -> object:
    if isinstance(value, str) and value.strip() and len(value) <= LONGEST_READ:
        return value
    raise PydanticCustomError(NO_DATE, "is not a date: use {forms}", {"forms": FORMS, "expected": "date"})


WITH_FORMS = BeforeValidator(_text)
Date = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_READ), WITH_FORMS]


def moment(text: str, *, now: datetime, field: str) -> datetime:
    """Return the first instant of a date in UTC, also the default zone."""
    try:
        return read_span(text, now=now).start
    except ValueError:
        raise ValidationFailed(
            f"{field} is not a date: use {FORMS}.", details={"field": f"body.{field}", "expected": "date"}
        ) from None


def optional_moment(text: str | None, *, now: datetime, field: str) -> datetime | None:
    return None if text is None else moment(text, now=now, field=field)
