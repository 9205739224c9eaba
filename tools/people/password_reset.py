"""Password reset by mail."""

from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from auth.one_time import new_token, token_hash
from stores.errors import InvalidRequest
from stores.records import User
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Nothing, Request, Result, public
from tools.people.account import Email, NewSecret, require_local_auth
from tools.runtime.announcements import renew_account
from tools.runtime.mail import Letter
from tools.runtime.threads import in_turn

LIFETIME = timedelta(minutes=60)
ANSWER = "If the address belongs to an account, a mail with further instructions is on its way."


class ResetRequest(Request):
    """Ask for a password reset."""

    email: Email = Field(description="E-mail address of the account.")


class ConfirmResetRequest(Request):
    """A new password, and the proof that the account's mail was read."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=200)] = Field(description="Token from the mail.")
    new_password: NewSecret = Field(description="8 to 128 characters.")


class ResetView(Result):
    """The same words for every address."""

    message: str


def _letter(app: App, email: str) -> Letter | None:
    user = app.ledger.people.user_by_email(email.strip())
    if user is None or user.password_hash is None:
        return None
    token, stored = new_token()
    if not app.ledger.people.create_password_reset(user.id, stored, app.clock() + LIFETIME):
        return None
    return Letter(to=user.email, subject="Reset your Engrain password", text=_text(app, user.email, token))


def _text(app: App, email: str, token: str) -> str:
    if app.settings.frontend_url:
        way = f"Open {app.settings.frontend_url.rstrip('/')}/reset-password?token={token}"
    else:
        way = f"Send this token with a new password to POST /api/users/password/reset/confirm:\n\n{token}"
    return (
        # Not the user's name: who signed up with another's address could send text by it.
        f"Hello,\n\nsomebody asked to reset the password of the Engrain account {email}.\n\n{way}\n\n"
        "It works once, within 60 minutes. If it was not you, there is nothing to do.\n"
    )


async def ask_for_reset(app: App, _call: Call, request: ResetRequest) -> ResetView:
    """Mail a token that resets the password; the answer never tells whether the account exists."""
    require_local_auth(app)
    app.mailer.post(lambda: _letter(app, request.email))
    return ResetView(message=ANSWER)


async def confirm_reset(app: App, call: Call, request: ConfirmResetRequest) -> Nothing:
    """Set a new password by a mailed token; everything that was signed in to the account ends.

    Where it proves the address for the first time, API keys and links end too, and nobody else stays in the personal
    organization: whoever signed up may have been somebody else.
    """
    require_local_auth(app)

    def reset() -> User:
        stored = token_hash(request.token)
        user = app.ledger.people.password_reset_user(stored)
        if user is None:
            # Checked before hashing, to keep guesses cheap for the server.
            raise InvalidRequest(
                "The reset token is not valid, was used, or has expired.",
                code="invalid_reset_token",
                remediation="Ask for a new password reset and use the newest mail.",
            )
        password_hash = app.accounts.passwords.hash(request.new_password)
        audit = audit_entry(call, "user.password_reset", app.accounts.home_of(user.id), user.id)
        return app.ledger.people.reset_password(stored, password_hash, replace(audit, actor_id=user.id))

    user = await in_turn(app.password_turns, reset)
    await renew_account(app, user.id)
    return Nothing()


OPERATIONS = (
    public(ask_for_reset, "/api/users/password/reset", 403, 429, status=202),
    public(confirm_reset, "/api/users/password/reset/confirm", 400, 403, 429, status=204),
)
