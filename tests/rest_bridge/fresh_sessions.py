"""Loaded by schemathesis: a session of its own for each call, because the call ends the session or the account."""

import os
import uuid
from functools import cache
from typing import Any

import httpx2
import schemathesis

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"


def post(path: str, body: dict[str, Any], token: str = "") -> dict[str, Any]:
    address = f"{os.environ['FUZZED_SERVER']}/api/auth/{path}"
    return dict(httpx2.post(address, json=body, headers={"Authorization": token}, trust_env=False).json())


@cache
def person(name: str) -> str:
    body = {"email": f"{name}@example.org", "password": "correct horse battery", "name": "Fuzz"}
    return f"Bearer {post('local/signup', body)['access_token']}"


@schemathesis.auth(refresh_interval=None)
class FreshSession:
    def get(self, case: Any, _context: Any) -> str:
        if case.operation.path == "/api/users/me":
            return person(uuid.uuid4().hex)
        # A program's login takes no Argon2, and its session is like any other.
        codes = post("device", {})
        post("device/verify", {"user_code": codes["user_code"], "approve": True}, person("fuzz"))
        told = post("device/token", {"grant_type": GRANT_TYPE, "device_code": codes["device_code"]})
        return f"Bearer {told['access_token']}"

    def set(self, case: Any, token: str, _context: Any) -> None:
        case.headers["Authorization"] = token
