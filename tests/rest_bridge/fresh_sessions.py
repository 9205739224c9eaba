"""Loaded by schemathesis: a session of its own for each call, because the call ends the session or the account."""

import os
import uuid
from functools import cache
from typing import Any

import httpx2
import schemathesis

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"


def post(path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    address = f"{os.environ['FUZZED_SERVER']}/api/auth/{path}"
    return dict(httpx2.post(address, json=body, headers=headers, trust_env=False).json())


def signed_up() -> str:
    body = {"email": f"{uuid.uuid4().hex}@example.org", "password": "correct horse battery", "name": "Fuzz"}
    return str(post("local/signup", body)["access_token"])


@cache
def person() -> str:
    return signed_up()


@schemathesis.auth(refresh_interval=None)
class FreshSession:
    def get(self, case: Any, _context: Any) -> str:
        if case.operation.path == "/api/users/me":
            return signed_up()
        # A program's login takes no Argon2, and its session is like any other.
        codes = post("device", {})
        post("device/verify", {"user_code": codes["user_code"], "approve": True}, person())
        redeemed = post("device/token", {"grant_type": GRANT_TYPE, "device_code": codes["device_code"]})
        return str(redeemed["access_token"])

    def set(self, case: Any, token: str, _context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {token}"
