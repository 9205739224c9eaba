"""Accounts: sign-up, sign-in, token rotation, and authentication of every request."""

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from auth.api_keys import Keys, is_api_key
from auth.grants import ClientGrants, is_client_token
from auth.origin import NOWHERE, Origin
from auth.passwords import Passwords
from auth.policy import principal_of
from auth.principal import Principal, RecentPrincipals
from auth.tokens import Tokens, token_hash
from stores.errors import AuthenticationRequired, Conflict, Forbidden, InvalidRequest, ValidationFailed
from stores.ledger import AuditDraft, Ledger, address_key
from stores.records import ExternalIdentity, Identity, Invitation, JsonObject, Organization, Role, Session, User

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
# A dot-atom (RFC 5322, 3.2.3) that is no encoded word (RFC 2047), at a host name.
_EMAIL = re.compile(rf"(?=[^@]{{1,64}}@)(?!.*=\?){_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*")


@dataclass(frozen=True, slots=True)
class SignedIn:
    identity: Identity
    access_token: str
    refresh_token: str
    expires_in: int
    """Seconds until the access token expires."""


class TokenReplayed(AuthenticationRequired):
    """401: a spent refresh token was presented, which ended its session."""

    def __init__(self, user_id: str) -> None:
        super().__init__("The refresh token was already used or revoked.", remediation="Log in again.")
        self.user_id = user_id


@dataclass(frozen=True, slots=True)
class Accounts:
    """Accounts in the ledger. Every method blocks."""

    ledger: Ledger
    tokens: Tokens
    passwords: Passwords
    clock: Callable[[], datetime]
    public_scope: bool = False
    recent: RecentPrincipals = field(default_factory=RecentPrincipals)

    def create(self, email: str, password: str, name: str, origin: Origin = NOWHERE) -> User:
        email = checked_email(email)
        password_hash = self.passwords.hash(password)
        if self.ledger.people.user_by_email(email) is not None:
            raise Conflict("Email is already in use", remediation="Log in, or sign up with another address.")
        user = User(
            str(uuid.uuid4()), email, name.strip(), password_hash,
            is_admin=False, avatar_url=None, codehost_id=None, created_at=self.clock(),
        )  # fmt: skip
        return self.add(user, origin)

    def add(
        self, user: User, origin: Origin, link: ExternalIdentity | None = None, provider: str | None = None
    ) -> User:
        """Store a new user with a personal organization."""
        name, now = f"{user.name}'s organization", user.created_at
        organization = Organization(str(uuid.uuid4()), name, f"u-{user.id}", is_personal=True, created_at=now)
        details: JsonObject = {"provider": provider} if provider else {}
        audit = origin.draft("user.create", organization.id, user.id, user.id, **details)
        return self.ledger.people.create_account(user, organization, link, audit)

    def check(self, email: str, password: str, origin: Origin = NOWHERE) -> User:
        user = self.ledger.people.user_by_email(email.strip())
        known = self.passwords.verify(user.password_hash if user else None, password)
        if user is None or not known:
            # As much work for an unknown address, so that the response time reveals nothing.
            home, resource = self.home_of(user.id if user else ""), user.id if user else None
            self.ledger.audit.append(origin.draft("session.refuse", home, None, resource))
            raise AuthenticationRequired("Invalid credentials", remediation="Check the e-mail address and password.")
        return user

    def start(
        self, user: User, origin: Origin = NOWHERE, *, organization_id: str | None = None, provider: str | None = None
    ) -> SignedIn:
        joined = self.ledger.people.memberships(user.id)
        where = next((each for each in joined if organization_id in (None, each[0].id)), None)
        if where is None:
            raise Forbidden("Your account belongs to no organization.", remediation="Ask for an invitation to one.")
        return self.start_in(where, user, origin, provider)

    def start_in(
        self,
        where: tuple[Organization, Role],
        user: User,
        origin: Origin,
        provider: str | None = None,
        lifetime: timedelta | None = None,
    ) -> SignedIn:
        """Start a session; one with a lifetime ends with its first access token."""
        organization, role = where
        session = self.new_session(user.id, organization.id, origin, provider)
        if lifetime is not None:
            session = replace(session, expires_at=session.created_at + lifetime)
        audit = origin.draft("session.start", organization.id, user.id, session.id, provider=provider or "password")
        self.ledger.people.create_session(session, audit)
        return self.signed_in(Identity(user, organization, role, session), session, lifetime)

    def home_of(self, user_id: str) -> str | None:
        """Return the personal organization, whose audit log covers the account."""
        found = self.ledger.people.default_organization(user_id)
        return found.id if found is not None and found.is_personal else None

    def refresh(self, refresh_token: str, origin: Origin = NOWHERE) -> SignedIn:
        """Rotate both tokens; the session is not prolonged.

        Raises:
            TokenReplayed: The token was used before; its session has ended now.
        """
        claims = self.tokens.read(refresh_token, "refresh")
        if claims.session_id is None or claims.token_id is None:
            raise AuthenticationRequired("The token is not valid.")
        fresh = str(uuid.uuid4())
        session = self.ledger.people.rotate_session(claims.session_id, claims.token_id, fresh, self.clock())
        if session == "reused":
            if (ended := self.ledger.people.session(claims.session_id)) is not None:
                organization_id = ended.organization_id
                audit = origin.draft("session.reuse", organization_id, None, ended.id, user_id=ended.user_id)
                self.ledger.audit.append(audit)
            raise TokenReplayed(claims.user_id)
        if isinstance(session, str) or session.user_id != claims.user_id:
            raise AuthenticationRequired("The refresh token was already used or revoked.", remediation="Log in again.")
        return self._still_signed_in(session)

    def switch(
        self, session_id: str, organization_id: str, audit: AuditDraft | None = None, origin: Origin = NOWHERE
    ) -> SignedIn:
        """Move a session to another organization, and rotate both tokens."""
        seen, fresh = (origin.address, origin.user_agent), str(uuid.uuid4())
        session = self.ledger.people.switch_session(session_id, organization_id, fresh, audit, seen=seen)
        return self._still_signed_in(session)

    def _still_signed_in(self, session: Session | None) -> SignedIn:
        signed = None if session is None else self.resumed(session)
        if signed is None:
            raise AuthenticationRequired("The session has ended.")
        return signed

    def resumed(self, session: Session) -> SignedIn | None:
        """Sign in to a session again; None if its user has left the organization."""
        identity = self.ledger.people.identity(session.user_id, session.organization_id, session.id)
        return None if identity is None else self.signed_in(identity, session)

    def recall(self, token: str) -> Principal | None:
        """Return the cached caller of a token; never blocks."""
        version = self.ledger.version()
        found = None if version is None else self.recent.get(token, version, self.clock().timestamp())
        if found is not None and found.key_id is not None:
            self.ledger.api_keys.note_use(found.key_id)
        return found

    def authenticate(self, token: str) -> Principal:
        # Read first, so that a commit while the rest is read outdates the cached caller.
        version = self.ledger.version()
        if is_client_token(token):
            principal, until = self.grants.authenticate(token)
        else:
            principal, until = self.keys.authenticate(token) if is_api_key(token) else self._signed_in_as(token)
            if principal.key_id is not None:
                self.ledger.api_keys.note_use(principal.key_id)
        principal = replace(principal, has_public_scope=self.public_scope)
        if version is not None:
            self.recent.keep(token, principal, version, until)
        return principal

    @property
    def keys(self) -> Keys:
        return Keys(self.ledger, self.tokens.secret, self.clock)

    @property
    def grants(self) -> ClientGrants:
        return ClientGrants(self.ledger, self.tokens)

    def _signed_in_as(self, token: str) -> tuple[Principal, float]:
        claims = self.tokens.read(token, "access")
        if claims.organization_id is None:
            raise Forbidden("no_org_context: the token names no organization.", remediation="Switch to one first.")
        found = self.ledger.people.caller(claims.user_id, claims.organization_id, claims.session_id)
        if found is None:
            joined = [organization.id for organization, _ in self.ledger.people.memberships(claims.user_id)]
            if joined and claims.organization_id not in joined:
                raise Forbidden(
                    "org_access_denied: you are not a member of the organization of this token.",
                    remediation="Log in again to work in another of your organizations.",
                )
            raise AuthenticationRequired("The session has ended.")
        session, principal = found[0].session, principal_of(*found)
        ends = [None if session is None else session.expires_at, principal.until]
        return principal, min([claims.expires_at, *(each.timestamp() for each in ends if each is not None)])

    def renewed(self, principal: Principal) -> Principal | None:
        """Return a principal with its present rights; None if its credential has ended or is an MCP client's."""
        if principal.grant_id is not None:
            return None
        if principal.key_id is not None:
            return self.keys.renewed(principal.organization_id, principal.key_id)
        found = self.ledger.people.caller(principal.user_id, principal.organization_id, principal.session_id)
        return None if found is None else replace(principal_of(*found), scopes=principal.scopes)

    def local_principal(self) -> Principal:
        """Return the first admin: the caller if authentication is off."""
        admin = self.ledger.people.first_admin()
        organization = self.ledger.people.default_organization(admin.id) if admin else None
        found = self.member(admin.id, organization.id) if admin and organization else None
        if found is None:
            raise AuthenticationRequired(
                "Nobody has signed up here yet.", remediation="Sign up once with POST /api/auth/local/signup."
            )
        return found

    def member(self, user_id: str, organization_id: str) -> Principal | None:
        """Return a user as a member of an organization, with the rights of no session or key; None for others."""
        found = self.ledger.people.caller(user_id, organization_id)
        return None if found is None else replace(principal_of(*found), has_public_scope=self.public_scope)

    def new_session(
        self, user_id: str, organization_id: str, origin: Origin = NOWHERE, provider: str | None = None
    ) -> Session:
        now = self.clock()
        return Session(
            id=str(uuid.uuid4()),
            user_id=user_id,
            organization_id=organization_id,
            refresh_id=str(uuid.uuid4()),
            created_at=now,
            expires_at=now + self.tokens.refresh_lifetime,
            revoked_at=None,
            provider=provider,
            user_agent=origin.user_agent or None,
            ip_address=origin.address or None,
        )

    def signed_in(self, identity: Identity, session: Session, lifetime: timedelta | None = None) -> SignedIn:
        lifetime = lifetime or min(self.tokens.access_lifetime, session.expires_at - self.clock())
        return SignedIn(
            identity=identity,
            access_token=self.tokens.access(session, lifetime),
            refresh_token=self.tokens.refresh(session),
            expires_in=max(0, int(lifetime.total_seconds())),
        )


def checked_email(email: str) -> str:
    """Strip and check an e-mail address.

    ASCII only (`xn--` for other domains): many mail servers lack SMTPUTF8, and a password reset needs mail.
    """
    email = email.strip()
    if len(email) > 254 or not _EMAIL.fullmatch(email):
        raise ValidationFailed(
            "That is not an e-mail address.",
            remediation="Use ASCII letters, digits and . + - _ before the @; write other domains as xn--…",
            details={"field": "body.email", "expected": "e-mail address"},
        )
    return email


def require_invitation(accounts: Accounts, token: str, email: str) -> Invitation:
    invitation = accounts.ledger.invitations.by_token(token_hash(token))
    if invitation is None:
        raise InvalidRequest(
            "The invitation is not valid, was used or revoked, or has expired.", remediation="Ask for a new invitation."
        )
    if address_key(invitation.email) != address_key(email.strip()):
        raise InvalidRequest(
            "The invitation is for another e-mail address.",
            remediation="Use the account of the address that was invited.",
        )
    return invitation


def end_session(accounts: Accounts, session_id: str, user_id: str, origin: Origin) -> bool:
    session = accounts.ledger.people.session(session_id)
    if session is None or session.user_id != user_id:
        return False
    audit = origin.draft("session.end", session.organization_id, user_id, session_id)
    return accounts.ledger.people.revoke_session(session_id, user_id=user_id, audit=audit)
