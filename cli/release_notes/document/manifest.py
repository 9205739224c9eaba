"""One way to install a project."""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"[\w.+!-]{1,80}")
_NEEDS = re.compile(r"[\w.<>=!~^*|, -]{1,80}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One way to install the project.

    Attributes:
        name: As in the package index, `group:artifact` for Maven and Gradle; empty if it is only built in place.
        version: None if it comes from elsewhere, such as the tag.
        needs: Platform and version: `Python >=3.11`.
        is_published: False if the file excludes it from package indexes.
        is_program: Run rather than imported.
    """

    path: str
    tool: str
    name: str
    version: str | None = None
    needs: str | None = None
    extras: tuple[str, ...] = ()
    is_published: bool = True
    is_program: bool = False


def version_in(value: object) -> str | None:
    return value if isinstance(value, str) and _VERSION.fullmatch(value) else None


def need_of(platform: str, value: object) -> str | None:
    return f"{platform} {value.strip()}" if isinstance(value, str) and _NEEDS.fullmatch(value) else None
