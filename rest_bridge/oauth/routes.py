"""Routes of the authorization server."""

from collections.abc import Iterable

from starlette.routing import BaseRoute, Route

from rest_bridge.mcp_discovery import RESOURCE_METADATA_PATHS, ResourceMetadata
from rest_bridge.oauth.consent import ConsentPage
from rest_bridge.oauth.metadata import (
    AUTHORIZE_PATH,
    REGISTER_PATH,
    REVOKE_PATH,
    SERVER_METADATA_PATHS,
    TOKEN_PATH,
    ServerMetadata,
)
from rest_bridge.oauth.register import Registration
from rest_bridge.oauth.token import Revocation, TokenEndpoint
from rest_bridge.pages.operations import Operations
from tools.app import App


def build_oauth(app: App, api: Iterable[BaseRoute]) -> list[Route]:
    consent = ConsentPage(app, Operations(api))
    return [
        *(Route(path, ResourceMetadata(app.settings), methods=["GET"]) for path in RESOURCE_METADATA_PATHS),
        *(Route(path, ServerMetadata(app.settings), methods=["GET"]) for path in SERVER_METADATA_PATHS),
        Route(AUTHORIZE_PATH, consent, methods=list(consent.methods)),
        Route(REGISTER_PATH, Registration(app), methods=["POST"]),
        Route(TOKEN_PATH, TokenEndpoint(app), methods=["POST"]),
        Route(REVOKE_PATH, Revocation(app), methods=["POST"]),
    ]
