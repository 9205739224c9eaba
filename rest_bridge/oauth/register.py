"""`/register`: dynamic client registration (RFC 7591)."""

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope

from auth.grants_clients import RegisteredClient
from auth.grants_errors import OAuthRefused
from rest_bridge.bodies import parse_object, read_body
from rest_bridge.oauth.endpoint import ClientEndpoint, answered
from stores.errors import ValidationFailed
from stores.records import JsonObject
from tools.runtime.threads import in_thread

BODY_LIMIT = 32 * 1024


class Registration(ClientEndpoint):
    """Register any program: people decide about its rights."""

    rate = "60/hour"

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        body = await read_body(scope, receive, BODY_LIMIT)
        try:
            described = parse_object(body, Headers(scope=scope).get("content-type"))
        except ValidationFailed as error:
            raise OAuthRefused("invalid_client_metadata", error.message) from None
        client, secret = await in_thread(self.app.accounts.clients.register, described)
        return answered(_body_of(client, secret, int(self.app.clock().timestamp())), 201)


def _body_of(client: RegisteredClient, secret: str | None, now: int) -> JsonObject:
    answer: JsonObject = {"client_id": client.id, "client_id_issued_at": now, **client.metadata}
    if secret is not None:
        answer |= {"client_secret": secret, "client_secret_expires_at": 0}
    return answer
