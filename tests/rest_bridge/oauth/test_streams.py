"""What a client holds open ends with what its person granted."""

import anyio
import httpx2
import pytest

from rest_bridge.mcp_streams import RECHECK_S
from tests.people import Person
from tests.rest_bridge import harness
from tests.rest_bridge.oauth.flow import bearer
from tests.rest_bridge.oauth.test_tokens import connect
from tests.rest_bridge.test_mcp_mount import open_session
from tools.app import App
from tools.catalogue import OPERATIONS
from tools.runtime.threads import in_thread

pytestmark = pytest.mark.anyio


async def test_an_open_stream_ends_soon_after_the_grant(app: App, ann: Person) -> None:
    async with harness.serving(app, OPERATIONS) as port:
        address = f"http://127.0.0.1:{port}"
        token = await in_thread(connect, app, ann, f"{address}/mcp")
        client = harness.Person(ann.user_id, ann.organization_id, "", token)
        async with httpx2.AsyncClient(base_url=address, trust_env=False, timeout=30) as http:
            headers = {**await open_session(http, client), **client.bearer}
            (grant,) = (await http.get("/api/users/me/grants", headers=bearer(ann.token))).json()["grants"]
            async with http.stream("GET", "/mcp", headers=headers) as stream:
                assert stream.status_code == 200
                ended = await http.delete(f"/api/users/me/grants/{grant['id']}", headers=bearer(ann.token))
                assert ended.status_code == 200
                with anyio.fail_after(RECHECK_S + 3):
                    assert b"".join([piece async for piece in stream.aiter_bytes()]) == b""
            assert (await http.get("/mcp", headers=headers)).status_code == 401
