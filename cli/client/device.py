"""Client side of the device login (RFC 8628)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from cli.client.failure import CommandFailed, Refused, Unreachable
from cli.client.server import JsonObject, Server

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
SLOWER_S = 5
"""Added to the polling interval after `slow_down` (RFC 8628, section 3.5)."""
LONGEST_PAUSE_S = 30.0
_AGAIN = "Start it again with `engrain login`."


@dataclass(frozen=True, slots=True)
class Started:
    device_code: str
    user_code: str
    page: str
    page_with_code: str
    expires_in_s: float
    interval_s: float


def start(server: Server, client_name: str) -> Started:
    """Begin a login, or raise Refused or Unreachable."""
    answer = server.request("POST", "/api/auth/device", {"client_name": client_name})
    try:
        page = str(answer["verification_uri"])
        return Started(
            str(answer["device_code"]),
            str(answer["user_code"]),
            _web_address(page),
            _web_address(str(answer.get("verification_uri_complete") or page)),
            float(answer["expires_in"]),
            float(answer.get("interval", 5)),
        )
    except (KeyError, TypeError, ValueError):
        raise Unreachable(f"{server.address} began no login that makes sense.", "Is it an Engrain server?") from None


def _web_address(text: str) -> str:
    if urlsplit(text).scheme not in ("http", "https") or not text.isprintable():
        raise ValueError(text)
    return text


def poll(
    server: Server,
    started: Started,
    sleep: Callable[[float], object] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> JsonObject:
    """Ask until the login is decided; return the tokens, or raise CommandFailed."""
    deadline = clock() + started.expires_in_s
    body: JsonObject = {"grant_type": GRANT_TYPE, "device_code": started.device_code}
    pause_s = wait_s = started.interval_s
    while clock() + wait_s < deadline:
        sleep(wait_s)
        try:
            return server.request("POST", "/api/auth/device/token", body)
        except Unreachable:
            pause_s = wait_s = min(pause_s * 2, max(pause_s, LONGEST_PAUSE_S))
        except Refused as refused:
            if refused.error == "access_denied":
                raise CommandFailed("The login was denied.", f"If that was a mistake: {_AGAIN}") from None
            if refused.error == "expired_token":
                break
            if refused.error == "slow_down":
                pause_s += SLOWER_S
            elif refused.error != "authorization_pending" and refused.status not in (429, 500, 503):
                raise
            wait_s = max(pause_s, refused.retry_after_s or 0.0)
    else:
        sleep(max(0.0, deadline - clock()))
    raise CommandFailed("Nobody allowed the login before its code expired.", _AGAIN)
