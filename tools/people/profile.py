"""Profile, preferences and deletion of the own account."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.rights import require_session
from stores.errors import InvalidRequest, ValidationFailed
from stores.records import JsonObject, User
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Operation, Request, Result, Route, mutation
from tools.people.account import MeRequest, MeView, me
from tools.runtime.threads import in_thread

PersonName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
Address = Annotated[str, StringConstraints(max_length=2048, pattern=r"^https?://[^\s]+$")]
Bio = Annotated[str, StringConstraints(max_length=2000)]

PREFERENCES_LIMIT = 64 * 1024
"""Characters of a user's preferences as JSON."""


class UpdateMeRequest(Request):
    """The fields to change; those that are absent stay."""

    name: PersonName | None = Field(None, description="How others see the user.")
    avatar_url: Address | None = Field(None, description="Address of a picture; null takes it away.")


class UpdateProfileRequest(UpdateMeRequest):
    """The fields to change; those that are absent stay."""

    bio: Bio | None = Field(None, description="A few words about oneself; null takes them away.")


class ProfileView(Result):
    """A user, as it describes itself."""

    id: str
    email: str
    name: str
    avatar_url: str | None
    bio: str | None
    codehost_id: int | None
    email_verified_at: datetime | None
    created_at: datetime


class UpdatePreferencesRequest(Request):
    """Preferences to set."""

    preferences: JsonObject = Field(description="Merged key by key into what is there; a null is stored.")


class PreferencesView(Result):
    """All preferences of a user; clients decide what they mean."""

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


async def update_me(app: App, call: Call, request: UpdateMeRequest) -> MeView:
    """Change the caller's name or picture."""
    user = await in_thread(_edit, app, call, request)
    return await me(app, replace(call, principal=replace(call.caller, user=user)), MeRequest())


async def get_profile(_app: App, call: Call, _request: MeRequest) -> ProfileView:
    """Return how the caller describes itself."""
    return ProfileView.of(call.caller.user)


async def update_profile(app: App, call: Call, request: UpdateProfileRequest) -> ProfileView:
    """Change how the caller describes itself."""
    return ProfileView.of(await in_thread(_edit, app, call, request))


async def get_preferences(app: App, call: Call, _request: MeRequest) -> PreferencesView:
    """Return the caller's preferences."""
    return PreferencesView(preferences=await in_thread(app.ledger.people.preferences, call.caller.user_id))


async def update_preferences(app: App, call: Call, request: UpdatePreferencesRequest) -> PreferencesView:
    """Set some of the caller's preferences; the others stay."""

    def write() -> JsonObject:
        require_session(call.caller)
        merged = app.ledger.people.preferences(call.caller.user_id) | request.preferences
        if len(json.dumps(merged, ensure_ascii=False)) > PREFERENCES_LIMIT:
            raise ValidationFailed(
                f"Preferences have at most {PREFERENCES_LIMIT} characters of JSON.",
                details={"field": "body.preferences", "expected": f"at most {PREFERENCES_LIMIT} characters"},
            )
        return app.ledger.people.edit_preferences(call.caller.user_id, request.preferences)

    return PreferencesView(preferences=await in_thread(write))


async def delete_me(app: App, call: Call, _request: MeRequest) -> DeletionView:
    """Delete the caller's account, and the organizations in which nobody else is; what it wrote in others stays there.

    Refused are the last owner of an organization that has other members, whoever has others in the personal one, and
    the server's last admin while there are other users.
    """

    def delete() -> None:
        require_session(call.caller)
        user_id = call.caller.user_id
        app.ledger.people.delete_user(user_id, audit_entry(call, "user.delete", None, user_id))

    await in_thread(delete)
    await app.events.renew_user(call.caller.user_id)
    return DeletionView(message="The account is deleted; all its sessions have ended.")


OPERATIONS = (
    mutation(update_me, Route("PATCH", "/api/auth/me", tag="account", errors=(400,))),
    Operation(get_profile, route=Route("GET", "/api/users/me/profile", tag="account")),
    mutation(update_profile, Route("PATCH", "/api/users/me/profile", tag="account", errors=(400,))),
    Operation(get_preferences, route=Route("GET", "/api/users/me/preferences", tag="account")),
    mutation(
        update_preferences,
        Route("PATCH", "/api/users/me/preferences", tag="account", body_limit=4 * PREFERENCES_LIMIT, errors=(413,)),
    ),
    Operation(
        delete_me,
        scope="write",
        route=Route("DELETE", "/api/users/me", status=202, tag="account", cookies="clear", errors=(409,)),
    ),
)
