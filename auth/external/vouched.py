"""A person as a provider describes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from auth.accounts import checked_email
from auth.external.addresses import is_web_address
from auth.external.provider import OidcProvider
from stores.errors import AuthenticationRequired, Forbidden, ValidationFailed
from stores.records import Role

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
    for each in given:
        if isinstance(each, str):
            shown = "".join(character for character in each if character.isprintable()).strip()[:NAME_LENGTH]
            if shown:
                return shown
    return None


def avatar_of(given: object) -> str | None:
    return given if isinstance(given, str) and is_web_address(given) else None


LINKS = "oidc"
ENTRA_HOSTS = frozenset(
    {"login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn", "sts.windows.net"}
)
"""Microsoft Entra: `sub` differs by client; `tid` and `oid` identify the account."""
ROLES: tuple[Role, ...] = ("owner", "admin", "member", "viewer")
SUBJECT_LENGTH = 255


def vouched(provider: OidcProvider, claims: Mapping[str, Any]) -> Vouched:
    return Vouched(
        link_provider=LINKS,
        subject=_subject(provider, claims),
        email=address_of(claims.get("email")),
        # Some providers send the boolean as a string.
        email_verified=claims.get("email_verified") is True or claims.get("email_verified") == "true",
        name=name_of(claims.get("name"), claims.get("preferred_username")),
        avatar_url=avatar_of(claims.get("picture")),
    )


def role_of(provider: OidcProvider, claims: Mapping[str, Any]) -> Role:
    given = claims.get(provider.role_claim)
    words = given if isinstance(given, list) else [given]
    for role in ROLES:
        if role in words or f"{provider.role_prefix}.{role.capitalize()}" in words:
            return role
    raise Forbidden(
        f"The provider gives you no role in {provider.organization_slug}.",
        word="oidc_missing_role",
        remediation=f"Ask for one of the roles {', '.join(ROLES)}, in the claim {provider.role_claim}.",
    )


def _subject(provider: OidcProvider, claims: Mapping[str, Any]) -> str:
    names = ("tid", "oid") if urlsplit(provider.issuer).hostname in ENTRA_HOSTS else ("sub",)
    parts = [claims.get(name) for name in names]
    if not all(isinstance(part, str) and part.isprintable() and 0 < len(part) <= SUBJECT_LENGTH for part in parts):
        raise AuthenticationRequired(
            f"The provider's claims do not say who you are: {' and '.join(names)} must be there.",
            word="oidc_subject_incomplete",
            remediation="Ask the operator to let the provider release these claims.",
        )
    return ":".join(["oidc", provider.issuer, *map(str, parts)])
