"""Verification of ID tokens: signature, issuer, audience, nonce and age."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stores.errors import AuthenticationRequired

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Asymmetric only: otherwise our secret or a public key could sign."""
_KINDS = ("RSA", "EC")
LEEWAY_S = 60
"""Accepted clock difference in seconds."""


class UnknownKey(Exception):
    """No key of the set signed the token."""


@dataclass(frozen=True, slots=True)
class Expected:
    issuer: str
    client_id: str
    nonce: str
    access_token: str | None
    now: float
    """Seconds since 1970."""


def key_set(document: Mapping[str, Any]) -> "KeySet | None":
    """Read the signature keys of a JWKS document; None if there are none."""
    from joserfc.errors import JoseError  # noqa: PLC0415 - half a second that only servers with a provider need
    from joserfc.jwk import JWKRegistry, KeySet  # noqa: PLC0415 - as above

    listed, keys = document.get("keys"), []
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("kty") in _KINDS and each.get("use", "sig") == "sig":
            try:
                keys.append(JWKRegistry.import_key(each))
            except (JoseError, ValueError, TypeError, KeyError):
                continue  # An unreadable key must not hide the others.
    return KeySet(keys) if keys else None


def verified(token: str, keys: "KeySet", expected: Expected) -> dict[str, Any]:
    """Return the claims of an ID token (OpenID Connect Core, section 3.1.3.7).

    Raises:
        UnknownKey: None of the keys signed it.
    """
    from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - as above
    from joserfc import errors, jwt  # noqa: PLC0415 - as above

    try:
        decoded = jwt.decode(token, keys, algorithms=ALGORITHMS)
        options = {
            "iss": {"essential": True, "value": expected.issuer},
            "aud": {"essential": True, "value": expected.client_id},
            "nonce": {"essential": True, "value": expected.nonce},
        }
        asked = {"client_id": expected.client_id, "nonce": expected.nonce, "access_token": expected.access_token}
        claims = CodeIDToken(decoded.claims, decoded.header, options, asked)
        claims.validate(int(expected.now), LEEWAY_S)
    except (errors.InvalidKeyIdError, errors.BadSignatureError, errors.InvalidKeyTypeError) as error:
        raise UnknownKey from error
    except (errors.JoseError, ValueError, TypeError, KeyError) as error:
        raise refused(str(getattr(error, "error", "")) or "malformed") from error
    return dict(claims)


def refused(why: str) -> AuthenticationRequired:
    return AuthenticationRequired(
        f"The provider's ID token does not hold: {why}.",
        code="oidc_id_token_invalid",
        remediation="Sign in again; if it persists, ask the operator to check issuer, client and clock.",
    )
