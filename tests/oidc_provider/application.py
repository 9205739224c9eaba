"""The provider: the authorization code flow with PKCE, checked as a provider should, and every way to do it wrong."""

import asyncio
import base64
import gzip
import hashlib
import secrets
import time
from collections import Counter
from typing import Any
from urllib.parse import urlencode

from joserfc.jwk import KeySet
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.oidc_provider.signing import new_key, signed

CLIENT_ID, CLIENT_SECRET = "engrain", "a secret that only the two of us know"
ISSUER_PATH = "/oidc"
Document = dict[str, Any]

EMAILS = [
    {"email": "old@code.example", "primary": False, "verified": True},
    {"email": "ada@code.example", "primary": True, "verified": True},
]
ODD_ANSWERS = {
    "broken": b'{"a": ', "list": b"[1]", "text": b"hello", "large": b'"' + b"x" * 2**20 + b'"', "deep": b"[" * 99_999,
    "empty": b"",
}  # fmt: skip


class Site:
    def __init__(self, address: str) -> None:
        self.address = address
        self.issuer = address + ISSUER_PATH
        self.behaviour: Document = {}
        self.codes: dict[str, Document] = {}
        self.tokens: set[str] = set()
        self.seen: Counter[str] = Counter()
        self.keys = [new_key("first")]

    def application(self) -> Starlette:
        routes = [
            Route("/behave", self.behave, methods=["POST"]),
            Route("/seen", self.tell),
            Route(f"{ISSUER_PATH}/.well-known/openid-configuration", self.configuration),
            Route(f"{ISSUER_PATH}/keys", self.public_keys),
            Route(f"{ISSUER_PATH}/userinfo", self.userinfo),
            Route("/code/api/user", self.user),
            Route("/code/api/user/emails", self.emails),
        ]
        for place in (ISSUER_PATH, "/code"):
            routes.append(Route(f"{place}/authorize", self.authorize))
            routes.append(Route(f"{place}/token", self.token, methods=["POST"]))
        return Starlette(routes=routes)

    async def behave(self, request: Request) -> Response:
        self.behaviour = await request.json()
        self.seen.clear()
        if kind := self.behaviour.get("new_key"):
            self.keys = [new_key(secrets.token_hex(4), kind)]
        return JSONResponse({})

    async def tell(self, _request: Request) -> Response:
        return JSONResponse(dict(self.seen))

    async def configuration(self, _request: Request) -> Response:
        document: Document = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            **self.behaviour.get("configuration", {}),
        }
        return await self.answer("configuration", _present(document))

    async def public_keys(self, _request: Request) -> Response:
        listed: list[Any] = list(KeySet(list(self.keys)).as_dict(private=False)["keys"])
        odd = [{"kty": "oct", "k": "c2VjcmV0", "kid": "odd"}, {"kty": "RSA", "n": "!", "e": 5}, {"kty": "ML-DSA"}, "?"]
        return await self.answer("keys", {"keys": self.behaviour.get("keys", [*odd, *listed])})

    async def authorize(self, request: Request) -> Response:
        query = dict(request.query_params)
        assert (query["client_id"], query["response_type"]) == (CLIENT_ID, "code")
        assert query["code_challenge_method"] == "S256"
        given: Document = {"state": query["state"], **self.behaviour.get("answer", {})}
        if query.get("prompt") == "none" and "silently" in self.behaviour:
            given["error"] = self.behaviour["silently"]
        if "error" not in given:
            given["code"] = secrets.token_urlsafe(16)
            self.codes[given["code"]] = query
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(given)}", 302)

    async def token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        way = "post" if "client_secret" in form else "basic"
        if _client(request, form) != (CLIENT_ID, CLIENT_SECRET) or self.behaviour.get("proof", way) != way:
            return JSONResponse({"error": "invalid_client"}, 401)
        asked = self.codes.pop(form["code"], {})
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (asked.get("redirect_uri"), asked.get("code_challenge")) != (form["redirect_uri"], challenge):
            return JSONResponse({"error": "invalid_grant"}, 400)
        token = secrets.token_urlsafe(16)
        self.tokens.add(token)
        document: Document = {"access_token": token, "token_type": "Bearer", "expires_in": 300}
        if "openid" in asked["scope"].split():
            flaw = self.behaviour.get("signature")
            document["id_token"] = signed(self.claims(asked), self.keys[0], flaw, CLIENT_SECRET)
        return await self.answer("token", _present({**document, **self.behaviour.get("token", {})}))

    def claims(self, asked: Document) -> Document:
        now = int(time.time())
        claims = {
            "iss": self.issuer, "sub": "ada-1", "aud": CLIENT_ID, "iat": now, "exp": now + 300,
            "nonce": asked.get("nonce"), "email": "ada@acme.example", "email_verified": True, "name": "Ada Lovelace",
            "roles": ["Engrain.Member"],
        }  # fmt: skip
        shifted = {name: now + seconds for name, seconds in self.behaviour.get("times", {}).items()}
        return _present({**claims, **shifted, **self.behaviour.get("claims", {})})

    async def userinfo(self, request: Request) -> Response:
        self.require_token(request)
        subject = self.behaviour.get("claims", {}).get("sub", "ada-1")
        return await self.answer("userinfo", {"sub": subject, **self.behaviour.get("userinfo", {})})

    async def user(self, request: Request) -> Response:
        self.require_token(request)
        return await self.answer("user", {"id": 4711, "login": "ada", "name": None, **self.behaviour.get("user", {})})

    async def emails(self, request: Request) -> Response:
        self.require_token(request)
        return await self.answer("emails", self.behaviour.get("emails", EMAILS))

    def require_token(self, request: Request) -> None:
        assert request.headers["authorization"].removeprefix("Bearer ") in self.tokens

    async def answer(self, place: str, document: Any) -> Response:
        self.seen[place] += 1
        how = self.behaviour.get("at", {}).get(place)
        if how == "slow":
            await asyncio.sleep(60)
        if how == "trickle":
            return Trickle()
        if how == "redirect":
            return RedirectResponse(f"{self.address}/elsewhere")
        if how == "compressed":
            body, headers = gzip.compress(b" " * 2**24), {"Content-Encoding": "gzip"}
            return Response(body, headers=headers, media_type="application/json")
        if isinstance(how, int):
            return Response("out of order", how)
        return Response(ODD_ANSWERS[how], media_type="application/json") if how else JSONResponse(document)


class Trickle(Response):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        for _ in range(600):
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
            await asyncio.sleep(0.1)


def _client(request: Request, form: dict[str, str]) -> tuple[str | None, str | None]:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if scheme == "Basic":
        client_id, _, client_secret = base64.b64decode(credentials).decode().partition(":")
        return client_id, client_secret
    return form.get("client_id"), form.get("client_secret")


def _present(document: Document) -> Document:
    return {name: value for name, value in document.items() if value is not None}
