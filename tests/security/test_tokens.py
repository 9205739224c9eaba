import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.people import Person
from tests.security.harness import SURFACES, World, bearer, cookie

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("surface", SURFACES)]

OTHER_SECRET = "another secret of sufficient length, 0123456789"
PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = PRIVATE.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
OWN_KEY = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PRIVATE.public_key()))

HANDSHAKE_LINE = 8_000
"""Longer headers are not read when a socket is opened."""

Forgery = Callable[[dict[str, Any], str], str]
"""Makes a token from the claims of a good one and the server's secret, which only some forgers know."""


def coded(value: object) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(claims: dict[str, Any], secret: str, **header: Any) -> str:
    return jwt.encode(claims, secret, algorithm="HS256", headers=header or None)


def by_hand(header: dict[str, Any], payload: bytes, secret: str) -> str:
    text = f"{coded(header)}.{coded(payload)}"
    return f"{text}.{coded(hmac.digest(secret.encode(), text.encode(), hashlib.sha256))}"


def changed(**claims: Any) -> Forgery:
    return lambda good, secret: signed({**good, **claims}, secret)


def without(claim: str) -> Forgery:
    return lambda good, secret: signed({name: value for name, value in good.items() if name != claim}, secret)


def unsigned(algorithm: str) -> Forgery:
    return lambda good, _: f"{coded({'alg': algorithm, 'typ': 'JWT'})}.{coded(good)}."


def headed(**header: Any) -> Forgery:
    return lambda good, _: jwt.encode(good, PEM, algorithm="RS256", headers=header)


def parts(pick: Callable[[str, str, str], str]) -> Forgery:
    return lambda good, secret: pick(*signed(good, secret).split("."))


def swapped(text: str) -> str:
    return ("A" if text[0] != "A" else "B") + text[1:]


FORGERIES: dict[str, Forgery] = {
    "signature changed": parts(lambda head, body, mark: f"{head}.{body}.{swapped(mark)}"),
    "signature cut": parts(lambda head, body, mark: f"{head}.{body}.{mark[:-4]}"),
    "signature gone": parts(lambda head, body, _: f"{head}.{body}."),
    "two parts": parts(lambda head, body, _: f"{head}.{body}"),
    "four parts": parts(lambda head, body, mark: f"{head}.{body}.{mark}.{mark}"),
    "five parts": parts(lambda head, body, mark: f"{head}.{body}.{mark}.{body}.{mark}"),
    "payload of another": lambda good, secret: ".".join(
        (*signed({**good, "sub": "somebody"}, OTHER_SECRET).split(".")[:2], signed(good, secret).split(".")[2])
    ),
    "header changed": parts(lambda _, body, mark: f"{coded({'alg': 'HS256', 'typ': 'jwt'})}.{body}.{mark}"),
    "none": unsigned("none"),
    "None": unsigned("None"),
    "NONE": unsigned("NONE"),
    "no algorithm": lambda good, _: f"{coded({'typ': 'JWT'})}.{coded(good)}.",
    "none, with a signature": parts(lambda _, body, mark: f"{coded({'alg': 'none'})}.{body}.{mark}"),
    "other secret": lambda good, _: signed(good, OTHER_SECRET),
    "empty secret": lambda good, _: by_hand({"alg": "HS256"}, json.dumps(good).encode(), ""),
    "stronger algorithm": lambda good, secret: jwt.encode(good, secret + secret, algorithm="HS512"),
    "same secret, other algorithm": lambda good, secret: jwt.encode(good, secret, algorithm="HS384"),
    "public key algorithm": lambda good, _: jwt.encode(good, PEM, algorithm="RS256"),
    "public key algorithm, signed by the secret": lambda good, secret: by_hand(
        {"alg": "RS256"}, json.dumps(good).encode(), secret
    ),
    "jwk": headed(jwk=OWN_KEY),
    "jku": headed(jku="http://127.0.0.1:1/keys.json", kid="mine"),
    "x5u": headed(x5u="http://127.0.0.1:1/certificate.pem"),
    "x5c": headed(x5c=["bWluZQ=="]),
    "kid is a path": lambda good, _: signed(good, OTHER_SECRET, kid="../../../../dev/null"),
    "kid is SQL": lambda good, _: signed(good, OTHER_SECRET, kid="' UNION SELECT 'x' --"),
    "kid names an empty key": lambda good, _: by_hand({"alg": "HS256", "kid": ""}, json.dumps(good).encode(), ""),
    "unknown critical header": lambda good, secret: by_hand(
        {"alg": "HS256", "crit": ["exp2"], "exp2": 1}, json.dumps(good).encode(), secret
    ),
    "unencoded payload": lambda good, secret: by_hand(
        {"alg": "HS256", "b64": False, "crit": ["b64"]}, json.dumps(good).encode(), secret
    ),
    "expired": changed(exp=int(time.time()) - 1),
    "expired long ago": changed(exp=1),
    "never expires": without("exp"),
    "exp is null": changed(exp=None),
    "exp is text": changed(exp="9999999999"),
    "exp is true": changed(exp=True),
    "exp is negative": changed(exp=-1),
    "exp is a fraction": changed(exp=9_999_999_999.5),
    "exp is a list": changed(exp=[9_999_999_999]),
    "not yet valid": changed(nbf=int(time.time()) + 3600),
    "no type": without("typ"),
    "refresh as access": changed(typ="refresh", jti="x"),
    "type in capitals": changed(typ="ACCESS"),
    "type is a list": changed(typ=["access"]),
    "type is both": changed(typ="access refresh"),
    "no subject": without("sub"),
    "subject is nobody": changed(sub="00000000-0000-4000-8000-000000000000"),
    "subject is a number": changed(sub=1),
    "subject is null": changed(sub=None),
    "no time of issue": without("iat"),
    "organization is nowhere": changed(org="00000000-0000-4000-8000-000000000000"),
    "organization is a list": changed(org=["x"]),
    "organization is a path": changed(org="../../ledger.sqlite"),
    "session is unknown": changed(sid="00000000-0000-4000-8000-000000000000"),
    "session is empty": changed(sid=""),
    "session is a number": changed(sid=1),
    "payload is a list": lambda _, secret: by_hand({"alg": "HS256"}, b'["access"]', secret),
    "payload is no JSON": lambda _, secret: by_hand({"alg": "HS256"}, b"{", secret),
    "payload is not UTF-8": lambda _, secret: by_hand({"alg": "HS256"}, b'{"sub": "\xff"}', secret),
    "payload is deep": lambda _, secret: by_hand({"alg": "HS256"}, b"[" * 20_000, secret),
    "header is deep": lambda good, _: f"{coded(b'[' * 20_000)}.{coded(good)}.x",
    "header is a list": lambda good, _: f"{coded([])}.{coded(good)}.x",
    "not base64": lambda *_: "!!!.???.***",
    "a key that is none": lambda *_: "sk_live_" + "A" * 43,
    "a key that is too long": lambda *_: "sk_live_" + "A" * 5_000,
    "long": lambda good, _: signed({**good, "pad": "x" * 20_000}, OTHER_SECRET),
}


def claims_of(who: Person) -> dict[str, Any]:
    return dict(jwt.decode(who.token, options={"verify_signature": False}))


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
async def test_a_token_that_is_not_ours_to_the_letter_opens_nothing(
    world: World, ada: Person, surface: str, forgery: Forgery
) -> None:
    token = forgery(claims_of(ada), world.app.accounts.tokens.secret)
    heard = await world.ask(surface, bearer(token))
    assert not heard.admitted
    if surface == "WebSocket":
        assert heard.status == (400 if len(token) > HANDSHAKE_LINE else 1008), heard
    else:
        # 403 is for what we signed, of an organization that its bearer is not in.
        assert heard.status == (403 if surface == "REST" and "org_access_denied" in heard.text else 401), heard
    assert ada.organization_id not in heard.text


async def test_the_token_that_the_forgeries_start_from_opens_everything(
    world: World, ada: Person, surface: str
) -> None:
    claims, secret = claims_of(ada), world.app.accounts.tokens.secret
    assert (await world.ask(surface, bearer(ada.token))).admitted
    assert (await world.ask(surface, bearer(signed(claims, secret)))).admitted
    known = signed(claims, secret, kid="whatever", jku="http://127.0.0.1:1/")
    assert (await world.ask(surface, bearer(known))).admitted, "headers that name keys are not read at all"


async def test_no_bearer_is_admitted_for_nothing(world: World, surface: str) -> None:
    heard = await world.ask(surface)
    assert (heard.admitted, heard.status) == (False, 1008 if surface == "WebSocket" else 401)


async def test_a_refresh_token_is_no_access_token(world: World, ada: Person, surface: str) -> None:
    for headers in (bearer(ada.signed.refresh_token), cookie(ada.signed.refresh_token)):
        assert not (await world.ask(surface, headers)).admitted


async def test_an_access_token_buys_no_new_tokens(world: World, ada: Person, surface: str) -> None:
    answer = await world.post("/api/auth/refresh", {"refresh_token": ada.token})
    assert answer.status_code == 401
    assert (await world.ask(surface, bearer(ada.token))).admitted, "and the mistake costs nobody a session"


async def test_an_organization_that_the_user_is_not_in_is_not_opened_by_a_signed_claim(
    world: World, ada: Person, eve: Person, surface: str
) -> None:
    secret = world.app.accounts.tokens.secret
    foreign = signed({**claims_of(ada), "org": eve.organization_id}, secret)
    without_session = {name: value for name, value in claims_of(ada).items() if name != "sid"}
    for token in (foreign, signed({**without_session, "org": eve.organization_id}, secret)):
        heard = await world.ask(surface, bearer(token))
        assert (heard.admitted, heard.status) == (False, {"REST": 403, "WebSocket": 1008}.get(surface, 401))


async def test_a_foreign_session_carries_nobody(world: World, ada: Person, eve: Person, surface: str) -> None:
    borrowed = {**claims_of(ada), "sid": claims_of(eve)["sid"]}
    heard = await world.ask(surface, bearer(signed(borrowed, world.app.accounts.tokens.secret)))
    assert not heard.admitted


async def test_a_token_without_an_organization_is_forbidden(world: World, ada: Person, surface: str) -> None:
    token = without("org")(claims_of(ada), world.app.accounts.tokens.secret)
    heard = await world.ask(surface, bearer(token))
    assert not heard.admitted
    assert heard.status == {"REST": 403, "MCP": 401, "WebSocket": 1008}[surface]
    assert "no_org_context" in heard.text


async def test_a_role_in_the_token_is_not_believed(world: World, ada: Person, surface: str) -> None:
    viewer = await world.person("viewer", of=ada, role="viewer")
    secret = world.app.accounts.tokens.secret
    boast = {**claims_of(viewer), "org_role": "owner", "scopes": ["api:write", "admin"], "is_admin": True}
    token = signed(boast, secret)
    assert (await world.ask(surface, bearer(token))).admitted
    refused = await world.post("/api/entities", {"name": "n"}, token)
    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")


async def test_a_token_without_a_session_ends_with_membership(world: World, ada: Person, surface: str) -> None:
    bob = await world.person("bob", of=ada, role="member")
    token = without("sid")(claims_of(bob), world.app.accounts.tokens.secret)
    assert (await world.ask(surface, bearer(token))).admitted
    refused = await world.send("GET", "/api/users/me/sessions", token=token)
    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    path = f"/api/orgs/{ada.signed.identity.organization.slug}/members/{bob.user_id}"
    assert (await world.send("DELETE", path, token=ada.token)).status_code == 200
    assert not (await world.ask(surface, bearer(token))).admitted
