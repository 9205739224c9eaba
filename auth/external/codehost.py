"""Sign-in by a code host (OAuth 2 with PKCE)."""

from dataclasses import dataclass, field
from typing import Any

from auth.external.attempts import Attempt
from auth.external.outbound import Exchange, bearer_of, exchange_with
from auth.external.vouched import Vouched, address_of, avatar_of, name_of
from stores.errors import AuthenticationRequired, Forbidden
from stores.ledger import CODEHOST

SCOPES = "read:user user:email"
_LARGEST_ID = 2**63 - 1


@dataclass(frozen=True, slots=True)
class CodeHost:
    client_id: str
    client_secret: str = field(repr=False)
    authorize_url: str
    token_url: str
    api_url: str

    async def sign_in_url(self, attempt: Attempt, state: str) -> str:
        async with exchange_with(CODEHOST, self.client_id, self.client_secret) as exchange:
            return exchange.authorize_url(self.authorize_url, attempt, state, scope=SCOPES)

    async def account(self, attempt: Attempt, code: str) -> Vouched:
        async with exchange_with(CODEHOST, self.client_id, self.client_secret) as exchange:
            tokens = await exchange.token(self.token_url, attempt, code, "client_secret_post")
            if isinstance(tokens, str):
                raise codehost_refused(tokens)
            if (token := bearer_of(tokens)) is None:
                raise exchange.failed("answered without an access token")
            api = self.api_url.rstrip("/")
            user = await exchange.read_object(f"{api}/user", "user", token=token)
            number = user.get("id")
            if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= _LARGEST_ID:
                raise exchange.failed("answered with a user that has no number")
            email = _primary(exchange, await exchange.read(f"{api}/user/emails", "addresses", token=token))
        name = name_of(user.get("name"), user.get("login"))
        return Vouched(CODEHOST, str(number), email, True, name, avatar_of(user.get("avatar_url")), number)


def codehost_refused(why: str) -> AuthenticationRequired:
    return AuthenticationRequired(
        f"The code host did not sign you in: {why}.",
        code="codehost_sign_in_refused",
        remediation="Begin the sign-in again.",
    )


def _primary(exchange: Exchange, addresses: Any) -> str:  # noqa: ANN401, RUF100 - JSON
    if not isinstance(addresses, list):
        raise exchange.failed("sent its addresses in another form than a JSON list")
    for each in addresses:
        if not isinstance(each, dict) or each.get("primary") is not True or each.get("verified") is not True:
            continue
        if (email := address_of(each.get("email"))) is not None:
            return email
    raise Forbidden(
        "Your account at the code host has no verified primary e-mail address.",
        code="codehost_email_unverified",
        remediation="Verify the primary address there, then sign in again.",
    )
