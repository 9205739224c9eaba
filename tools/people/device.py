"""Device login (RFC 8628) for programs without a browser."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import Field, StringConstraints

from auth.principal import Principal
from auth.rights import require_session
from auth.tokens import keyed_hash, new_token, token_hash
from stores.errors import InvalidRequest, NotFound, ValidationFailed
from stores.ledger import AuditDraft, DeviceLogin, DeviceRefusal
from stores.records import JsonObject, Session
from tools.app import App
from tools.frame.audit_entries import audit_entry
from tools.frame.operation import Call, Request, Result, Route, entry, mutation, public
from tools.people.account import Identifier, OrganizationView, SignedInView, signed_in_view
from tools.people.organizations import Slug, membership

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
PAGE = "/device"
LIFETIME = timedelta(minutes=10)
INTERVAL_S = 5
"""Seconds between two polls."""
PROVIDER = "device"
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
"""Consonants only, so that codes spell no words (RFC 8628, section 6.1)."""

_LENGTH = 8
_PURPOSE = b"engrain device codes 1"
_BODY_LIMIT = 16 * 1024
_VERIFY = "/api/auth/device/verify"

UserCode = Annotated[str, StringConstraints(min_length=1, max_length=64)]


class StartDeviceRequest(Request):
    """A program that wants to sign in."""

    client_name: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"\S")] = Field(
        "A program", description="Name of the program, shown to the person who decides."
    )


class StartedDeviceView(Result):
    """The two codes, and where the person goes."""

    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str
    expires_in: int
    interval: int


class DeviceTokenRequest(Request):
    """The question of a program that waits."""

    grant_type: Annotated[str, StringConstraints(max_length=200)] = Field(description=f"`{GRANT_TYPE}`, nothing else.")
    device_code: Identifier = Field(description="The device code that the program was given.")


class DescribeDeviceRequest(Request):
    """A code that a program shows."""

    user_code: UserCode = Field(description="The code as it was typed; case and separators do not matter.")


class DecideDeviceRequest(DescribeDeviceRequest):
    """Decide on a device login."""

    approve: bool = Field(description="True lets the program act as you; false turns it away.")
    organization: Slug | None = Field(
        None, description="Slug of your organization that the program signs in to; the session's own when absent."
    )


class WaitingDeviceView(Result):
    """Waiting program. Its name is its own claim."""

    user_code: str
    client_name: str
    address: str
    user_agent: str
    started_at: datetime
    expires_at: datetime


class DecidedDeviceView(Result):
    """The decision."""

    approved: bool
    client_name: str
    organization: OrganizationView | None


_FORM: dict[str, Any] = {"body_limit": _BODY_LIMIT, "takes_form": True}


@public("/api/auth/device", 409, 429, rate="10/minute", **_FORM)
def start_device(app: App, call: Call, request: StartDeviceRequest) -> StartedDeviceView:
    """Begin to sign in a program without a browser: it shows the user code, and asks with the device code.

    A person who is signed in opens the address, compares the code and decides. Both codes hold for ten minutes.
    """
    name = request.client_name.strip()
    if not name.isprintable():
        raise ValidationFailed(
            "client_name holds characters that cannot be seen.",
            details={"field": "body.client_name", "expected": "visible characters"},
        )
    details: JsonObject = {"client_name": name, "address": call.origin.address, "user_agent": call.origin.user_agent}
    (device_code, device_hash), user_code = new_token(), _shown("".join(map(secrets.choice, [ALPHABET] * _LENGTH)))
    expires_at = app.clock() + LIFETIME
    app.ledger.device_logins.start(
        DeviceLogin(device_hash, _hash(app, user_code), details, INTERVAL_S, expires_at=expires_at)
    )
    page = f"{call.server()}{PAGE}"
    return StartedDeviceView(
        device_code=device_code,
        user_code=user_code,
        verification_uri=page,
        verification_uri_complete=f"{page}?{urlencode({'user_code': user_code})}",
        expires_in=int(LIFETIME.total_seconds()),
        interval=INTERVAL_S,
    )


@public("/api/auth/device/token", 400, 429, rate="60/minute", **_FORM)
def device_token(app: App, call: Call, request: DeviceTokenRequest) -> SignedInView:
    """Ask whether the program was let in; once it was, the answer signs it in.

    Until then the answer is 400 with one of the words of RFC 8628 as `error`.
    """
    if request.grant_type != GRANT_TYPE:
        raise InvalidRequest(
            "This endpoint knows one grant type.",
            code="unsupported_grant_type",
            remediation=f"Send {GRANT_TYPE} as grant_type.",
            details={"field": "body.grant_type", "expected": GRANT_TYPE},
        )

    def enter(login: DeviceLogin) -> tuple[Session, AuditDraft]:
        session = app.accounts.new_session(login.user_id or "", login.organization_id or "", call.origin, PROVIDER)
        where, who = session.organization_id, session.user_id
        return session, call.origin.draft("session.start", where, who, session.id, provider=PROVIDER)

    found = app.ledger.device_logins.enter(token_hash(request.device_code), enter)
    signed = found if isinstance(found, str) else app.accounts.resumed(found) or "access_denied"
    if isinstance(signed, str):
        message, remediation = _REFUSALS[signed]
        raise InvalidRequest(message, code=signed, remediation=remediation)
    return signed_in_view(signed)


_REFUSALS: Mapping[DeviceRefusal, tuple[str, str]] = {
    "authorization_pending": ("The login is not allowed yet.", "Ask again when the interval has passed."),
    "slow_down": (
        "The program asks more often than it was told.",
        "Wait five seconds longer between two questions from now on.",
    ),
    "access_denied": ("The program was turned away.", "Start the login again if it was a mistake."),
    "expired_token": ("The device code is unknown, was used, or has expired.", "Start the login again."),
}


@entry(Route("GET", _VERIFY, tag="account", rate="30/minute", errors=(404, 429)))
def describe_device(app: App, call: Call, request: DescribeDeviceRequest) -> WaitingDeviceView:
    """Say which program waits with a code and from which address it asked, before deciding."""
    user_code, found = _waiting(app, call.caller, request.user_code)
    return WaitingDeviceView.of(found, user_code=user_code, started_at=found.expires_at - LIFETIME, **found.details)


@mutation(Route("POST", _VERIFY, tag="account", body_limit=_BODY_LIMIT, rate="10/minute", errors=(404, 429)))
def decide_device(app: App, call: Call, request: DecideDeviceRequest) -> DecidedDeviceView:
    """Let the program that shows a code sign in as the caller, or turn it away; a code is decided once."""
    _, waiting = _waiting(app, call.caller, request.user_code)
    organization, action = call.caller.organization, "device.approve" if request.approve else "device.deny"
    if request.approve and request.organization is not None:
        organization, _ = membership(app, call.caller, request.organization)
    audit = audit_entry(call, action, organization.id, None, waiting.details)
    approved_for = organization.id if request.approve else None
    app.ledger.device_logins.decide(waiting.user_code_hash, call.caller.user_id, approved_for, audit)
    return DecidedDeviceView(
        approved=request.approve,
        client_name=str(waiting.details["client_name"]),
        organization=OrganizationView.of(organization) if request.approve else None,
    )


def _waiting(app: App, caller: Principal, typed: str) -> tuple[str, DeviceLogin]:
    require_session(caller)
    letters = "".join(letter for letter in typed.upper() if letter.isalnum())
    found = None
    if len(letters) == _LENGTH and set(letters) <= set(ALPHABET):
        found = app.ledger.device_logins.by_user_code(_hash(app, _shown(letters)))
    if found is None:
        raise NotFound(
            "No program waits with that code.",
            remediation="Check the code that the program shows; if it is older than ten minutes, start the login "
            "again.",
        )
    return _shown(letters), found


def _hash(app: App, user_code: str) -> str:
    return keyed_hash(app.accounts.tokens.secret, _PURPOSE, user_code)


def _shown(letters: str) -> str:
    return f"{letters[:4]}-{letters[4:]}"
