"""Loaded by schemathesis: signs somebody up for each call, because the call ends the session or the account."""

import os
import uuid
from typing import Any

import httpx2
import schemathesis


@schemathesis.auth(refresh_interval=None)
class FreshSession:
    def get(self, _case: Any, _context: Any) -> str:
        body = {"email": f"{uuid.uuid4().hex}@example.org", "password": "correct horse battery", "name": "Fuzz"}
        answer = httpx2.post(f"{os.environ['FUZZED_SERVER']}/api/auth/local/signup", json=body, trust_env=False)
        return str(answer.json()["access_token"])

    def set(self, case: Any, token: str, _context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {token}"
