"""Paths without fields are looked up; nothing else about routing changes."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from rest_bridge.straight import StraightRoutes


async def tell(request: Request) -> Response:
    return PlainTextResponse(f"{request.scope['route'].path} {dict(request.path_params)}")


def test_a_path_to_the_letter_goes_before_fields_and_all_else_is_as_without() -> None:
    routes = [
        Route("/things/{name}", tell, methods=["GET", "DELETE"]),
        Route("/things/all", tell, methods=["POST"]),
        Route("/here", tell, methods=["GET"]),
        Route("/here", tell, methods=["PUT"]),
    ]
    plain = TestClient(Starlette(routes=routes))
    straight = TestClient(Starlette(routes=[StraightRoutes(routes), *routes]))
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        for path in ("/here", "/here/", "/things/all", "/things/one", "/things", "/nowhere", "/things/a%2Fb"):
            one, other = (client.request(method, path) for client in (plain, straight))
            assert (one.status_code, one.text, one.headers.get("allow")) == (
                other.status_code,
                other.text,
                other.headers.get("allow"),
            ), (method, path)
    assert straight.get("/here").text == "/here {}"
    assert straight.post("/things/all").text == "/things/all {}"
