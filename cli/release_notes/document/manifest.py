"""One way to install a project, as one of its files tells it."""

import re
from dataclasses import dataclass

_VERSION = re.compile(r"[\w.+!-]{1,80}")
_NEEDS = re.compile(r"[\w.<>=!~^*|, -]{1,80}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """One way to install the project.

    Attributes:
        tool: What installs it: `pip`, `npm`, `cargo`, `go`, `docker`, `compose`, `composer`, `gem`, `mix`, `maven`,
            `gradle`, `nuget`, `pub`, `cmake`, `meson`.
        name: As the index knows it, of `maven` and `gradle` `group:artifact`; empty for what is only built where it is.
        version: As the file states it; None where it comes from elsewhere, such as the tag.
        needs: The platform and its version, as the file words it: `Python >=3.11`.
        is_published: False where the file says that it is not for a package index.
        is_program: It is run rather than built upon.
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
