"""Own account: sign-up, sign-in, refresh, who am I, profile, preferences and deletion."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.accounts import SignedIn, TokenReplayed, require_invitation
from auth.principal import Scope
from auth.rights import require_session
from auth.tokens import token_hash
from stores.errors import AuthenticationRequired, Forbidden, InvalidRequest, ValidationFailed
from stores.records import JsonObject, Role, User
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Request, Result, Route, entry, mutation, public
from tools.frame.threads import in_thread, in_turn
from tools.runtime.announcements import announce_member

Email = Annotated[str, StringConstraints(min_length=3, max_length=254)]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=1024)]
Identifier = Annotated[str, StringConstraints(min_length=1, max_length=200)]
NewSecret = Annotated[str, StringConstraints(min_length=8, max_length=128)]
PersonName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]


class UserBrief(Result):
    """A user, as sign-in shows it."""

    id: str
    email: str
    name: str


class UserView(UserBrief):
    """A user, as it sees itself."""

    codehost_id: int | None
    avatar_url: str | None
    is_admin: bool


class OrganizationView(Result):
    """An organization."""

    id: str
    name: str
    slug: str


class LogInRequest(Request):
    """Credentials of a local account."""

    email: Email = Field(description="E-mail address.")
    password: Secret = Field(description="Password.")
    invite_token: Identifier | None = Field(
        None, description="Token of an invitation to this address; the session starts in its organization."
    )


class SignUpRequest(LogInRequest):
    """A new local account."""

    email: Email = Field(description="E-mail address; it identifies the account.")
    password: NewSecret = Field(description="8 to 128 characters.")
    name: PersonName = Field(description="Name that others see.")


class RefreshRequest(Request):
    """A refresh token, from the body or the cookie."""

    refresh_token: Annotated[str, StringConstraints(min_length=1, max_length=4096)] | None = Field(
        None, description="The refresh token that came last; browsers send it as a cookie instead."
    )


class TokensView(Result):
    """A rotated pair of tokens."""

    access_token: str
    refresh_token: str
    token_type: Literal["bearer"] = "bearer"  # noqa: S105 - a word of the protocol
    expires_in: int


class SignedInView(TokensView):
    """The user, the organization and both tokens."""

    user: UserBrief
    organization: OrganizationView


class MeRequest(Request):
    """Nothing: the caller is known."""


class MeView(Result):
    """The caller."""

    user: UserView
    organization: OrganizationView
    org_role: Role
    scopes: list[Scope] = Field(description="Rights of the credential: `api:read` to read, `api:write` to write, too.")


def signed_in_view(signed: SignedIn) -> SignedInView:
    identity = signed.identity
    return SignedInView.of(
        signed, user=UserBrief.of(identity.user), organization=OrganizationView.of(identity.organization)
    )


def require_local_auth(app: App) -> None:
    """Refuse sign-in by e-mail and password if it is switched off."""
    if not app.settings.local_auth_enabled:
        raise Forbidden(
            "local_auth_disabled",
            word="local_auth_disabled",
            remediation="Sign in with one of the configured providers.",
        )


@public("/api/auth/local/signup", 400, 403, 409, 429, status=201, cookies="set")
async def sign_up(app: App, call: Call, request: SignUpRequest) -> SignedInView:
    """Create an account with a personal organization, and sign in."""
    require_local_auth(app)
    if not app.settings.signup_enabled:
        raise Forbidden("signup_disabled", word="signup_disabled", remediation="Ask the operator for an account.")
    find = partial(app.accounts.create, request.email, request.password, request.name, call.origin)
    return signed_in_view(await _enter(app, call, request, find))


@public("/api/auth/local/login", 400, 401, 403, 409, 429, cookies="set")
async def log_in(app: App, call: Call, request: LogInRequest) -> SignedInView:
    """Sign in with e-mail and password."""
    require_local_auth(app)
    find = partial(app.accounts.check, request.email, request.password, call.origin)
    return signed_in_view(await _enter(app, call, request, find))


async def _enter(app: App, call: Call, request: LogInRequest, find: Callable[[], User]) -> SignedIn:
    if (token := request.invite_token) is None:
        return await in_turn(app.password_turns, lambda: app.accounts.start(find(), call.origin))

    def accept() -> SignedIn:
        invitation = require_invitation(app.accounts, token, request.email)
        user = find()
        audit = call.origin.draft("invitation.accept", invitation.organization_id, user.id, invitation.id)
        app.ledger.invitations.accept(token_hash(token), user.id, audit)
        return app.accounts.start(user, call.origin, organization_id=invitation.organization_id)

    signed = await in_turn(app.password_turns, accept)
    identity = signed.identity
    await announce_member(app, identity.organization.id, identity.user.id, "org_member_added", identity.role)
    return signed


@public("/api/auth/refresh", 401, 429, cookies="set", rate="30/minute")
async def refresh(app: App, call: Call, request: RefreshRequest) -> TokensView:
    """Exchange a refresh token for a new pair; each works once."""
    if request.refresh_token is None:
        raise AuthenticationRequired("A refresh token is needed.", remediation="Send refresh_token, or log in again.")
    try:
        signed = await in_thread(app.accounts.refresh, request.refresh_token, call.origin)
    except TokenReplayed as replayed:
        await app.events.renew_user(replayed.user_id)
        raise
    return TokensView.of(signed)


@entry(Route("GET", "/api/auth/me", tag="account"))
async def me(app: App, call: Call, _request: MeRequest) -> MeView:
    """Say who the caller is, in which organization and with which role."""
    return _me(call, call.caller.user)


def _me(call: Call, user: User) -> MeView:
    caller = call.caller
    organization, scopes = OrganizationView.of(caller.organization), sorted(caller.scopes)
    return MeView(user=UserView.of(user), organization=organization, org_role=caller.role, scopes=scopes)


Address = Annotated[str, StringConstraints(max_length=2048, pattern=r"^https?://[^\s]+$")]
Bio = Annotated[str, StringConstraints(max_length=2000)]

PREFERENCES_LIMIT = 64 * 1024
"""Characters of a user's preferences as JSON."""


class UpdateMeRequest(Request):
    """The fields to change; those that are absent stay."""

    name: PersonName | None = Field(None, description="Name that others see.")
    avatar_url: Address | None = Field(None, description="Address of a picture; null takes it away.")


class UpdateProfileRequest(UpdateMeRequest):
    """The fields to change; those that are absent stay."""

    bio: Bio | None = Field(None, description="A few words about oneself; null takes them away.")


class ProfileView(UserBrief):
    """A user, as it describes itself."""

    avatar_url: str | None
    bio: str | None
    codehost_id: int | None
    email_verified_at: datetime | None
    created_at: datetime


class UpdatePreferencesRequest(Request):
    """Preferences to set."""

    preferences: JsonObject = Field(description="Merged key by key into the stored ones; a null is stored.")


class PreferencesView(Result):
    """Preferences of a user; their meaning is up to clients."""

    preferences: JsonObject


class DeletionView(Result):
    """Effect of deleting the account."""

    message: str


def _edit(app: App, call: Call, request: UpdateMeRequest) -> User:
    require_session(call.caller)
    fields = type(request).model_fields
    given = {name: getattr(request, name) for name in fields if name in request.model_fields_set}
    if given.get("name", "") is None:
        del given["name"]
    if not given:
        raise InvalidRequest("Nothing to change.", remediation=f"Send at least one of {', '.join(fields)}.")
    if "name" in given:
        given["name"] = given["name"].strip()
    return app.ledger.people.edit_user(call.caller.user_id, lambda user: replace(user, **given))


@mutation(Route("PATCH", "/api/auth/me", tag="account", errors=(400,)))
def update_me(app: App, call: Call, request: UpdateMeRequest) -> MeView:
    """Change the caller's name or picture."""
    return _me(call, _edit(app, call, request))


@entry(Route("GET", "/api/users/me/profile", tag="account"))
async def get_profile(_app: App, call: Call, _request: MeRequest) -> ProfileView:
    """Return how the caller describes itself."""
    return ProfileView.of(call.caller.user)


@mutation(Route("PATCH", "/api/users/me/profile", tag="account", errors=(400,)))
def update_profile(app: App, call: Call, request: UpdateProfileRequest) -> ProfileView:
    """Change how the caller describes itself."""
    return ProfileView.of(_edit(app, call, request))


@entry(Route("GET", "/api/users/me/preferences", tag="account"))
def get_preferences(app: App, call: Call, _request: MeRequest) -> PreferencesView:
    """Return the caller's preferences."""
    return PreferencesView(preferences=app.ledger.people.preferences(call.caller.user_id))


@mutation(Route("PATCH", "/api/users/me/preferences", tag="account", body_limit=4 * PREFERENCES_LIMIT, errors=(413,)))
def update_preferences(app: App, call: Call, request: UpdatePreferencesRequest) -> PreferencesView:
    """Set some of the caller's preferences; the others stay."""
    require_session(call.caller)
    merged = app.ledger.people.preferences(call.caller.user_id) | request.preferences
    if len(json.dumps(merged, ensure_ascii=False)) > PREFERENCES_LIMIT:
        raise ValidationFailed(
            f"Preferences have at most {PREFERENCES_LIMIT} characters of JSON.",
            details={"field": "body.preferences", "expected": f"at most {PREFERENCES_LIMIT} characters"},
        )
    return PreferencesView(preferences=app.ledger.people.edit_preferences(call.caller.user_id, request.preferences))


@mutation(Route("DELETE", "/api/users/me", status=202, tag="account", cookies="clear", errors=(409,)))
def delete_me(app: App, call: Call, _request: MeRequest) -> DeletionView:
    """Delete the caller's account and the organizations without other members; records in others stay.

    Refused for the last owner of an organization with other members, for the owner of a personal one with other
    members, and for the server's last admin while there are other users.
    """
    require_session(call.caller)
    user_id = call.caller.user_id
    app.ledger.people.delete_user(user_id, audit_entry(call, "user.delete", None, user_id))
    call.then(app.events.renew_user, user_id)
    return DeletionView(message="The account is deleted; all its sessions have ended.")
