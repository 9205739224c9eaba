import re

import pytest
from structlog.testing import capture_logs

from tests.rest_bridge.harness import Client, Person
from tools.runtime.version import VERSION

pytestmark = pytest.mark.anyio

EVERYWHERE = [
    ("GET", "/api/", 200), ("GET", "/nope", 404), ("PUT", "/api/notes", 405), ("GET", "/api/notes", 401),
    ("POST", "/mcp", 401), ("GET", "/api/docs", 200), ("GET", "/metrics", 200),
    ("GET", "/.well-known/oauth-protected-resource/mcp", 200),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path", "status"), EVERYWHERE)
async def test_every_answer_has_an_id_and_the_version(client: Client, method: str, path: str, status: int) -> None:
    response = await client.request(method, path)
    assert response.status_code == status
    assert re.fullmatch(r"req_[0-9a-f]{12}", response.headers["x-request-id"])
    assert response.headers["x-engrain-version"] == VERSION
    assert response.headers.get_list("x-request-id") == [response.headers["x-request-id"]]


@pytest.mark.parametrize("offered", ["", "has space", "é", "x" * 129, "a\tb", "<script>"])
async def test_a_malformed_id_is_replaced(client: Client, offered: str) -> None:
    response = await client.get("/api/", headers=[(b"x-request-id", offered.encode())])
    assert response.headers["x-request-id"].startswith("req_")
    longest = await client.get("/api/", headers={"X-Request-ID": "x" * 128})
    assert longest.headers["x-request-id"] == "x" * 128


async def test_one_line_is_logged_for_each_request(client: Client, ada: Person) -> None:
    with capture_logs() as lines:
        await client.get("/api/notes/secret-id?token=secret", headers={**ada.bearer, "X-Request-ID": "r1"})
    [line] = [line for line in lines if line["event"] == "request"]
    assert line["method"] == "GET"
    assert line["route"] == "/api/notes/{note_id}"
    assert line["status"] == 404
    assert line["request_id"] == "r1"
    assert line["user_id"] == ada.user_id
    assert line["organization_id"] == ada.organization_id
    assert isinstance(line["status"], int)
    assert line["ms"] >= 0
    assert "secret" not in str(line)
    assert ada.token not in str(line)
