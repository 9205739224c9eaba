"""A person as a provider describes it."""

from dataclasses import dataclass

from auth.accounts import checked_email
from auth.external.addresses import is_web_address
from stores.errors import ValidationFailed

NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Vouched:
    link_provider: str
    subject: str
    email: str | None
    email_verified: bool
    name: str | None
    avatar_url: str | None
    codehost_id: int | None = None


def address_of(given: object) -> str | None:
    try:
        return checked_email(given) if isinstance(given, str) and given.isprintable() else None
    except ValidationFailed:
        return None


def name_of(*given: object) -> str | None:
    """Return the printable part of the first name that has one."""
    for each in given:
        if isinstance(each, str):
            shown = "".join(character for character in each if character.isprintable()).strip()[:NAME_LENGTH]
            if shown:
                return shown
    return None


def avatar_of(given: object) -> str | None:
    return given if isinstance(given, str) and is_web_address(given) else None
