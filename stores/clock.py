"""The two sources of chance that tests replace: the time and new ids."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The present, aware, in UTC."""
    return datetime.now(UTC)


def new_uuid() -> str:
    """A fresh random UUID in text form."""
    return str(uuid.uuid4())


def new_id(prefix: str) -> str:
    """A fresh id of the form `<prefix>_<12 hex digits>`."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"
