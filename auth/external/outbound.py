"""HTTP calls to sign-in providers, limited in time and size, without redirects."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread

from auth.external.attempts import Attempt
from stores.errors import BadGateway, Unavailable

if TYPE_CHECKING:
    import ssl

    from authlib.integrations.httpx_client import AsyncOAuth2Client

AuthMethod = Literal["client_secret_basic", "client_secret_post"]

LARGEST_ANSWER = 512 * 1024
STEP_S = 5.0
"""Seconds to connect, to send, or to receive the next bytes."""
DEADLINE_S = 10.0
"""Seconds for all calls of one request together."""
_WORD = re.compile(r"[a-z_]{1,64}")


@cache
def load() -> "ssl.SSLContext":
    """Load the libraries and the trusted certificates, once. Blocks."""
    import httpx2  # noqa: PLC0415 - half a second that only servers with a provider have to spend
    from authlib.integrations import httpx_client  # noqa: F401, PLC0415 - as above
    from authlib.oidc import core  # noqa: F401, PLC0415 - as above

    return httpx2.create_ssl_context()


@asynccontextmanager
async def exchange_with(provider: str, client_id: str, client_secret: str) -> AsyncIterator["Exchange"]:
    """Open an exchange with a provider; `provider` names it in messages.

    Raises:
        Unavailable: It cannot be reached, is too slow, or answers 429 or 5xx.
        BadGateway: Its answer is not valid.
    """
    tls = await anyio.to_thread.run_sync(load)
    import httpx2  # noqa: PLC0415 - loaded above
    from authlib.integrations.httpx_client import AsyncOAuth2Client  # noqa: PLC0415 - loaded above

    from auth.external.bounded import BoundedTransport  # noqa: PLC0415 - it needs httpx2

    try:
        async with AsyncOAuth2Client(
            client_id,
            client_secret,
            code_challenge_method="S256",
            transport=BoundedTransport(tls, LARGEST_ANSWER),
            timeout=STEP_S,
            follow_redirects=False,
            trust_env=False,
            headers={"User-Agent": "Engrain", "Accept-Encoding": "identity"},
        ) as client:
            with anyio.fail_after(DEADLINE_S):
                yield Exchange(provider, client)
    except (httpx2.TimeoutException, TimeoutError):
        raise _down(provider, "did not answer in time") from None
    except httpx2.HTTPStatusError as error:
        status = error.response.status_code
        raise (_down if status >= 500 or status == 429 else _bad)(provider, f"answered {status}") from None
    except (httpx2.DecodingError, httpx2.ProtocolError) as error:
        raise _bad(provider, "broke off, or answered with something that is no HTTP or too much of it") from error
    except (httpx2.RequestError, httpx2.InvalidURL) as error:
        raise _down(provider, f"cannot be reached ({type(error).__name__})") from error


class Exchange:
    def __init__(self, provider: str, client: "AsyncOAuth2Client") -> None:
        self.provider = provider
        self._client = client

    def authorize_url(self, url: str, attempt: Attempt, state: str, **parameters: str) -> str:
        parameters["redirect_uri"] = attempt.callback_url
        found, _ = self._client.create_authorization_url(url, state=state, code_verifier=attempt.verifier, **parameters)
        return str(found)

    async def token(self, url: str, attempt: Attempt, code: str, method: AuthMethod) -> dict[str, Any] | str:
        """Exchange a code for tokens; return the OAuth error code if it is refused."""
        from authlib.integrations.httpx_client import OAuthError  # noqa: PLC0415 - loaded before

        try:
            found = await self._client.fetch_token(
                url,
                auth=self._client.client_auth(method),
                grant_type="authorization_code",
                code=code,
                code_verifier=attempt.verifier,
                redirect_uri=attempt.callback_url,
            )
        except OAuthError as error:
            word = str(error.error)
            return word if _WORD.fullmatch(word) else "no reason given"
        except (ValueError, TypeError, RecursionError) as error:
            raise self.failed("sent a token answer that cannot be read") from error
        return dict(found)

    async def read(self, url: str, what: str, *, token: str | None = None) -> Any:  # noqa: ANN401, RUF100 - JSON
        """Return the JSON at a URL; `what` names it in messages."""
        headers = {"Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        answer = await self._client.request("GET", url, headers=headers, withhold_token=True, auth=None)
        if answer.status_code >= 500 or answer.status_code == 429:
            raise _down(self.provider, f"answered {answer.status_code}")
        if answer.status_code != 200:
            raise self.failed(f"refused its {what} with {answer.status_code}")
        try:
            return answer.json()
        except (ValueError, RecursionError) as error:
            raise self.failed(f"sent its {what} in another form than JSON") from error

    async def read_object(self, url: str, what: str, *, token: str | None = None) -> dict[str, Any]:
        found = await self.read(url, what, token=token)
        if not isinstance(found, dict):
            raise self.failed(f"sent its {what} in another form than a JSON object")
        return found

    def failed(self, happened: str) -> BadGateway:
        return _bad(self.provider, happened)


def bearer_of(tokens: Mapping[str, Any]) -> str | None:
    token = tokens.get("access_token")
    return token if isinstance(token, str) and token.isascii() and token.isprintable() else None


def _down(provider: str, happened: str) -> Unavailable:
    return Unavailable(
        f"The sign-in provider {provider} {happened}.",
        code="provider_unavailable",
        remediation="Try again in a minute; if it persists, ask the operator whether the provider works.",
    )


def _bad(provider: str, happened: str) -> BadGateway:
    return BadGateway(
        f"The sign-in provider {provider} {happened}.",
        code="provider_answer_invalid",
        remediation="Ask the operator to compare the settings with the provider's documentation.",
    )
