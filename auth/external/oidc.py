"""OpenID Connect client: discovery, code exchange and verified claims."""

import hmac
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from anyio.to_thread import run_sync

from auth.external.addresses import is_safe_to_call
from auth.external.attempts import Attempt
from auth.external.outbound import AuthMethod, Exchange, bearer_of, exchange_with
from auth.external.provider import OidcProvider
from stores.errors import AuthenticationRequired, EngrainError

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
"""Asymmetric only: otherwise our secret or a public key could sign."""
_KINDS = ("RSA", "EC")
LEEWAY_S = 60
"""Accepted clock difference in seconds."""


def key_set(document: Mapping[str, Any]) -> "KeySet":
    """Read the signature keys of a JWKS document."""
    from joserfc.errors import JoseError  # noqa: PLC0415 - half a second that only servers with a provider need
    from joserfc.jwk import JWKRegistry, KeySet  # noqa: PLC0415 - as above

    listed, keys = document.get("keys"), []
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("kty") in _KINDS and each.get("use", "sig") == "sig":
            try:
                keys.append(JWKRegistry.import_key(each))
            except (JoseError, ValueError, TypeError, KeyError):
                continue  # An unreadable key must not hide the others.
    if not keys:
        raise AuthenticationRequired(
            "The provider publishes no keys that its ID tokens could be checked with.",
            word="oidc_jwks_missing",
            remediation="Ask the operator to compare jwks_uri with the provider's documentation.",
        )
    return KeySet(keys)


def verified(
    token: str, keys: Mapping[str, Any], issuer: str, asked: Mapping[str, str | None], now: float
) -> dict[str, Any]:
    """Return the claims of an ID token (OpenID Connect Core, section 3.1.3.7).

    `keys` is a JWKS document, `asked` holds client_id, nonce and access_token, `now` seconds since 1970.
    """
    from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - as above
    from joserfc import errors, jwt  # noqa: PLC0415 - as above

    known = key_set(keys)
    try:
        decoded = jwt.decode(token, known, algorithms=ALGORITHMS)
        options = {
            "iss": {"essential": True, "value": issuer},
            "aud": {"essential": True, "value": asked["client_id"]},
            "nonce": {"essential": True, "value": asked["nonce"]},
        }
        claims = CodeIDToken(decoded.claims, decoded.header, options, asked)
        claims.validate(int(now), LEEWAY_S)
    except (errors.InvalidKeyIdError, errors.BadSignatureError, errors.InvalidKeyTypeError) as error:
        raise refused("it is signed by none of the keys that the provider publishes") from error
    except (errors.JoseError, ValueError, TypeError, KeyError) as error:
        raise refused(str(getattr(error, "error", "")) or "malformed") from error
    return dict(claims)


def refused(why: str) -> AuthenticationRequired:
    return AuthenticationRequired(
        f"The provider's ID token does not hold: {why}.",
        word="oidc_id_token_invalid",
        remediation="Sign in again; if it persists, ask the operator to check issuer, client and clock.",
    )


DISCOVERY_PATH = "/.well-known/openid-configuration"


class OidcClient:
    def __init__(self, provider: OidcProvider, clock: Callable[[], datetime]) -> None:
        self.provider = provider
        self._clock = clock

    async def sign_in_url(self, attempt: Attempt, state: str) -> str:
        """Return the sign-in URL, with `prompt=none` for a silent refresh."""
        async with self._exchange() as exchange:
            published = await self._discover(exchange)
            silent = {"prompt": "none"} if attempt.session_id is not None else {}
            return exchange.authorize_url(
                published["authorization_endpoint"],
                attempt,
                state,
                nonce=attempt.nonce,
                scope=" ".join(self.provider.scopes),
                **silent,
            )

    async def claims(self, attempt: Attempt, code: str, wanted: frozenset[str]) -> dict[str, Any]:
        """Exchange a code for verified claims; ask userinfo for missing ones."""
        async with self._exchange() as exchange:
            published = await self._discover(exchange)
            methods = published.get("token_endpoint_auth_methods_supported")
            post = (
                isinstance(methods, list) and "client_secret_basic" not in methods and "client_secret_post" in methods
            )
            proof: AuthMethod = "client_secret_post" if post else "client_secret_basic"
            tokens = await exchange.token(published["token_endpoint"], attempt, code, proof)
            if isinstance(tokens, str):
                raise not_signed_in(tokens)
            id_token, access_token = tokens.get("id_token"), bearer_of(tokens)
            if not isinstance(id_token, str):
                raise AuthenticationRequired(
                    "The provider answered without an ID token.",
                    word="oidc_claims_missing",
                    remediation="Ask the operator to let the provider issue ID tokens to this client.",
                )
            asked = {"client_id": self.provider.client_id, "nonce": attempt.nonce, "access_token": access_token}
            keys_url, more_url = published.get("jwks_uri"), published.get("userinfo_endpoint")
            keys = await exchange.read_object(keys_url, "keys") if keys_url else {}
            # In a thread: a set may hold many keys.
            now = self._clock().timestamp()
            claims = await run_sync(verified, id_token, keys, self.provider.issuer, asked, now)
            if wanted - claims.keys() and more_url and access_token:
                return await _completed(exchange, more_url, access_token, claims)
            return claims

    async def require_sender(self, issuer: str | None) -> None:
        """Refuse an answer of another provider (RFC 9207)."""
        if issuer is None:
            async with self._exchange() as exchange:
                published = await self._discover(exchange)
            if published.get("authorization_response_iss_parameter_supported") is not True:
                return
        if issuer is None or not hmac.compare_digest(issuer.encode(), self.provider.issuer.encode()):
            raise AuthenticationRequired(
                "The answer does not come from the provider that was asked.",
                word="oidc_issuer_mismatch",
                remediation="Begin the sign-in again.",
                details={"field": "query.iss"},
            )

    def _exchange(self) -> AbstractAsyncContextManager[Exchange]:
        if not self.provider.client_secret:
            raise EngrainError(
                f"The secret of the sign-in provider {self.provider.name} is not set.",
                word="oidc_client_secret_missing",
                remediation="Ask the operator to set the variable that client_secret_env names.",
            )
        return exchange_with(self.provider.name, self.provider.client_id, self.provider.client_secret)

    async def _discover(self, exchange: Exchange) -> dict[str, Any]:
        document = await exchange.read_object(self.provider.issuer.rstrip("/") + DISCOVERY_PATH, "configuration")
        if document.get("issuer") != self.provider.issuer:
            raise exchange.failed("publishes another issuer than the one that is configured")
        optional = [url for url in map(document.get, ("jwks_uri", "userinfo_endpoint")) if url is not None]
        needed = map(document.get, ("authorization_endpoint", "token_endpoint"))
        if not all(map(is_safe_to_call, (*needed, *optional))):
            raise exchange.failed("publishes endpoints that are missing or not https")
        return document


async def _completed(exchange: Exchange, url: str, access_token: str, claims: dict[str, Any]) -> dict[str, Any]:
    more = await exchange.read_object(url, "user information", token=access_token)
    if more.get("sub") != claims["sub"]:
        raise exchange.failed("answered with information about another user")
    merged = {**more, **claims}
    if "email" not in claims:
        # Address and verification must come from the same source.
        merged["email_verified"] = more.get("email_verified")
    return merged


def not_signed_in(why: str) -> AuthenticationRequired:
    return AuthenticationRequired(
        f"The provider did not sign you in: {why}.", word="oidc_sign_in_refused", remediation="Begin the sign-in again."
    )
