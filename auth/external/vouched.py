"""A person as a provider describes it."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from auth.accounts import Accounts, SignedIn, checked_email
from auth.external.addresses import is_web_address
from auth.external.provider import OidcProvider
from auth.origin import Origin
from stores.errors import AuthenticationRequired, Conflict, Forbidden, Unavailable, ValidationFailed
from stores.records import ExternalIdentity, Member, Organization, Role, User

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


@dataclass(frozen=True, slots=True)
class Entrance:
    """Sign-ins by one provider, for one request."""

    accounts: Accounts
    provider: str
    origin: Origin

    def by_codehost(self, person: Vouched, *, signup_enabled: bool) -> SignedIn:
        user = self._user(person, may_create=signup_enabled)
        return self.accounts.start(user, self.origin, provider=self.provider)

    def by_oidc(self, provider: OidcProvider, person: Vouched, role: Role) -> tuple[SignedIn, Role | None]:
        """Sign in with the claimed role for `session_minutes`; return the role before, too."""
        organization = bound_organization(self.accounts, provider)
        user = self._user(person, may_create=True)
        said = {"provider": provider.name, "role": role}
        audit = self.origin.draft("member.claim_role", organization.id, user.id, user.id, **said)
        before = self.accounts.ledger.people.put_member(user.id, organization.id, role, audit)
        lifetime = timedelta(minutes=provider.session_minutes)
        return self.accounts.start_in((organization, role), user, self.origin, self.provider, lifetime), before

    def dismiss(self, provider: OidcProvider, person: Vouched) -> tuple[Member, Organization] | None:
        """End the membership of a person without a claimed role."""
        ledger = self.accounts.ledger
        organization = ledger.people.organization_by_slug(provider.organization_slug)
        user = ledger.people.user_by_link(person.link_provider, person.subject)
        member = ledger.people.member(organization.id, user.id) if organization and user else None
        if organization is None or member is None:
            return None
        who = member.user.id
        audit = self.origin.draft("member.lose_role", organization.id, who, who, provider=provider.name)
        ended = ledger.people.drop_member(member.user.id, organization.id, audit)
        return None if ended is None else (member, organization)

    def _user(self, person: Vouched, *, may_create: bool) -> User:
        ledger = self.accounts.ledger
        if (known := ledger.people.user_by_link(person.link_provider, person.subject)) is not None:
            return known
        try:
            return self._new_user(person, may_create=may_create)
        except Conflict:
            # The person signed in twice at once, and the other sign-in was first.
            if (known := ledger.people.user_by_link(person.link_provider, person.subject)) is not None:
                return known
            raise

    def _new_user(self, person: Vouched, *, may_create: bool) -> User:
        ledger, now = self.accounts.ledger, self.accounts.clock()
        if person.email is None:
            raise AuthenticationRequired(
                "The provider names no e-mail address of yours that mail can be sent to.",
                word="oidc_claim_missing",
                remediation="Ask the operator to let the provider release the claim email.",
                details={"expected": "email"},
            )
        user = ledger.people.user_by_email(person.email)
        if user is None:
            if not may_create:
                raise Forbidden("signup_disabled", word="signup_disabled", remediation="Ask the operator for one.")
            return self._create(person, person.email, now)
        if not person.email_verified:
            raise Forbidden(
                "An account has your e-mail address, and the provider does not say that the address is yours.",
                code="external_email_unverified",
                remediation="Let the provider verify the address; until then sign in as you did before.",
            )
        link = ExternalIdentity(person.link_provider, person.subject, user.id, person.email, now)
        home = self.accounts.home_of(user.id)
        audit = self.origin.draft("user.link", home, user.id, user.id, provider=self.provider)
        return ledger.people.link_user(link, vouched=True, audit=audit)

    def _create(self, person: Vouched, email: str, now: datetime) -> User:
        user_id, name = str(uuid.uuid4()), person.name or email.partition("@")[0]
        user = User(
            user_id,
            email,
            name,
            password_hash=None,
            is_admin=False,
            avatar_url=person.avatar_url,
            codehost_id=person.codehost_id,
            created_at=now,
            email_verified_at=now if person.email_verified else None,
        )
        link = ExternalIdentity(person.link_provider, person.subject, user_id, email, now)
        return self.accounts.add(user, self.origin, link, self.provider)


def bound_organization(accounts: Accounts, provider: OidcProvider) -> Organization:
    organization = accounts.ledger.people.organization_by_slug(provider.organization_slug)
    if organization is None:
        raise Unavailable(
            f"The organization {provider.organization_slug}, which {provider.name} signs in to, does not exist.",
            word="oidc_organization_missing",
            remediation="Ask the operator to create it, or to correct organization_slug in ENGRAIN_OIDC.",
        )
    return organization
