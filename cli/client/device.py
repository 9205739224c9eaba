"""Client side of the device login (RFC 8628)."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
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


@dataclass(slots=True)
class Waiting:
    server: Server
    started: Started
    sleep: Callable[[float], Any] = time.sleep
    clock: Callable[[], float] = time.monotonic
    pause_s: float = 0.0

    def result(self) -> JsonObject:
        """Poll until the login is decided; return the tokens, or raise CommandFailed."""
        deadline = self.clock() + self.started.expires_in_s
        wait_s = self.pause_s = self.started.interval_s
        while self.clock() + wait_s < deadline:
            self.sleep(wait_s)
            answer = self._ask()
            if isinstance(answer, dict):
                return answer
            wait_s = answer
        self.sleep(max(0.0, deadline - self.clock()))
        raise _expired()

    def _ask(self) -> JsonObject | float:
        body: JsonObject = {"grant_type": GRANT_TYPE, "device_code": self.started.device_code}
        try:
            return self.server.request("POST", "/api/auth/device/token", body)
        except Unreachable:
            self.pause_s = min(self.pause_s * 2, max(self.pause_s, LONGEST_PAUSE_S))
            return self.pause_s
        except Refused as refused:
            return self._pause_after(refused)

    def _pause_after(self, refused: Refused) -> float:
        if refused.error == "slow_down":
            self.pause_s += SLOWER_S
        elif refused.error == "access_denied":
            raise CommandFailed("The login was denied.", f"If that was a mistake: {_AGAIN}") from None
        elif refused.error == "expired_token":
            raise _expired() from None
        elif refused.error != "authorization_pending" and refused.status not in (429, 500, 503):
            raise refused
        return max(self.pause_s, refused.retry_after_s or 0.0)


def _expired() -> CommandFailed:
    return CommandFailed("Nobody allowed the login before its code expired.", _AGAIN)
