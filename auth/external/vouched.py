"""A person as a provider describes it, with everything in it fit to be stored."""

from dataclasses import dataclass

from auth.accounts import checked_email
from auth.external.addresses import is_web_address
from stores.errors import ValidationFailed

NAME_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Vouched:
    """Somebody who proved to a provider to be the holder of an account there."""

    link_provider: str
    """What the ledger keeps the link under."""
    subject: str
    """The account, unique under `link_provider`."""
    email: str | None
    email_verified: bool
    name: str | None
    avatar_url: str | None
    codehost_id: int | None = None


def address_of(given: object) -> str | None:
    """Return an e-mail address that can be stored; None for anything else."""
    try:
        return checked_email(given) if isinstance(given, str) and given.isprintable() else None
    except ValidationFailed:
        return None


def name_of(*given: object) -> str | None:
    """Return the first of some names that can be shown, without what cannot; None where there is none."""
    for each in given:
        if isinstance(each, str):
            shown = "".join(character for character in each if character.isprintable()).strip()[:NAME_LENGTH]
            if shown:
                return shown
    return None


def avatar_of(given: object) -> str | None:
    """Return the address of a picture; None for anything else."""
    return given if isinstance(given, str) and is_web_address(given) else None
