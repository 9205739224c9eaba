"""What an MCP client was granted lets no other program sign in."""

import pytest

from tests.people import Person
from tests.rest_bridge.harness import assert_envelope
from tests.rest_bridge.oauth.flow import Flow, bearer
from tools.people.device import GRANT_TYPE

pytestmark = pytest.mark.anyio


async def test_a_clients_token_cannot_look_at_or_decide_a_device_login(flow: Flow, ann: Person) -> None:
    await flow.register()
    await flow.sign_in(ann)
    held = bearer((await flow.tokens())["access_token"])
    flow.browser.cookies.clear()
    device = (await flow.browser.post("/api/auth/device", json={})).json()
    code = {"user_code": device["user_code"]}
    for decision in ({"approve": True}, {"approve": False}):
        refused = await flow.browser.post("/api/auth/device/verify", json=code | decision, headers=held)
        assert refused.status_code in (401, 403), refused.text
    shown = await flow.browser.get("/api/auth/device/verify", params=code, headers=held)
    assert shown.status_code in (401, 403), shown.text
    asked = {"grant_type": GRANT_TYPE, "device_code": device["device_code"]}
    waiting = await flow.browser.post("/api/auth/device/token", json=asked)
    assert_envelope(waiting, 400, "authorization_pending")
