"""ID tokens, signed as they should be, and in every way that must not be believed."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

Claims = dict[str, Any]


def new_key(name: str, kind: str = "RSA") -> Any:
    parameters: Any = {"kid": name, "use": "sig"}
    return RSAKey.generate_key(2048, parameters) if kind == "RSA" else ECKey.generate_key("P-256", parameters)


def signed(claims: Claims, key: Any, way: str | None, secret: str) -> str:
    return (WAYS | FLAWS)[way or "usual"](claims, key, secret)


def _header(key: Any) -> Claims:
    return {"alg": "RS256" if key.key_type == "RSA" else "ES256", "kid": key.kid}


def _right(claims: Claims, key: Any, _secret: str) -> str:
    return jwt.encode(_header(key), claims, key)


def _unnamed(claims: Claims, key: Any, _secret: str) -> str:
    return jwt.encode({"alg": _header(key)["alg"]}, claims, key)


def _unsigned(claims: Claims, _key: Any, _secret: str) -> str:
    return f"{_part({'alg': 'none', 'typ': 'JWT'})}.{_part(claims)}."


def _by_secret(claims: Claims, _key: Any, secret: str) -> str:
    return _shared({"alg": "HS256"}, claims, secret.encode())


def _by_public_key(claims: Claims, key: Any, _secret: str) -> str:
    return _shared({"alg": "HS256", "kid": key.kid}, claims, key.as_pem(private=False))


def _by_key_inside(claims: Claims, _key: Any, _secret: str) -> str:
    own = new_key("own")
    return jwt.encode({"alg": "RS256", "kid": "own", "jwk": own.as_dict(private=False)}, claims, own)


def _unknown_key(claims: Claims, _key: Any, _secret: str) -> str:
    return jwt.encode({"alg": "RS256", "kid": "nobody"}, claims, new_key("nobody"))


def _other_key(claims: Claims, key: Any, _secret: str) -> str:
    return jwt.encode(_header(key), claims, new_key("other", key.key_type))


def _tampered(claims: Claims, key: Any, secret: str) -> str:
    head, _, signature = _right(claims, key, secret).split(".")
    return f"{head}.{_part({**claims, 'roles': ['owner']})}.{signature}"


WAYS: dict[str, Callable[[Claims, Any, str], str]] = {"usual": _right, "without the key's name": _unnamed}
FLAWS: dict[str, Callable[[Claims, Any, str], str]] = {
    "none": _unsigned, "the client's secret": _by_secret, "the public key as a secret": _by_public_key,
    "a key inside the token": _by_key_inside, "an unknown key": _unknown_key, "another key of that name": _other_key,
    "tampered": _tampered, "no token at all": lambda *_: "nonsense",
}  # fmt: skip


def _shared(header: Claims, claims: Claims, secret: bytes) -> str:
    signing = f"{_part(header)}.{_part(claims)}"
    return f"{signing}.{_encoded(hmac.new(secret, signing.encode(), hashlib.sha256).digest())}"


def _part(document: Claims) -> str:
    return _encoded(json.dumps(document).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
