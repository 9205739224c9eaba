"""What an operation is: one entry from which the MCP tool, the REST route, OpenAPI and the reference come."""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict

from auth.origin import Origin
from auth.principal import Principal
from stores.errors import AuthenticationRequired
from stores.records import JsonObject, Role

if TYPE_CHECKING:
    from stores.ledger import Claim
    from tools.app import App

Method = Literal["GET", "POST", "PATCH", "DELETE"]

READERS: frozenset[Role] = frozenset({"owner", "admin", "member", "viewer"})
WRITERS: frozenset[Role] = frozenset({"owner", "admin", "member"})
OWNERS: frozenset[Role] = frozenset({"owner"})


class Request(BaseModel):
    """Every request model's root: unknown fields are ignored over REST and named as errors over MCP."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=False, regex_engine="python-re")


class Result(BaseModel):
    """Every result model's root."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())


class Nothing(Result):
    """An answer without a body (204)."""


ACCESS_COOKIE = "engrain_access_token"
REFRESH_COOKIE = "engrain_refresh_token"


class Cookie(Result):
    """A cookie for a browser: HttpOnly, SameSite=Lax, for every path; Secure where the way is."""

    name: str
    value: str
    lifetime_s: int
    """Seconds; 0 takes the cookie away."""


class Redirect(Result):
    """An answer for a browser that has no body (302): where to go, and which cookies to keep."""

    location: str
    """An absolute URL, or a path of this server; ASCII."""
    cookies: tuple[Cookie, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operation: who asks, and what must survive a retry."""

    principal: Principal | None
    """None for a public operation."""
    claim: "Claim | None" = None
    """The idempotency key's claim; the ledger marks it applied in the same transaction as the write."""
    idempotency_key: str | None = None
    request_id: str = ""
    client: str = ""
    """The peer's address, for limits and audit."""
    user_agent: str = ""
    """The User-Agent header, for the list of sign-ins and audit."""
    server: Callable[[], str] = str
    """Tells the address under which the caller reaches this server, without a slash at its end; few ask."""
    cookies: Mapping[str, str] = field(default_factory=dict)
    """The browser's cookies by name; only for operations that answer with a `Redirect`."""

    @property
    def caller(self) -> Principal:
        """The principal of an operation that is not public."""
        if self.principal is None:
            raise AuthenticationRequired("Authentication is required.")
        return self.principal

    @property
    def origin(self) -> Origin:
        """Where the call came from."""
        return Origin(self.request_id, self.client, self.user_agent)


@dataclass(frozen=True, slots=True)
class Route:
    """Where an operation stands in REST. Fields in the path come from it, then `query`, the rest from the body."""

    method: Method
    path: str
    """With `{field}` for path fields: `/api/entities/{entity_id}`."""
    status: int = 200
    query: frozenset[str] = frozenset()
    """Fields of a request with a body that come from the query string; all of them for GET and DELETE."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Revisions that may also come from a precondition: `{"if-match": "expected_revision"}`; `*` there sets nothing."""
    tag: str = "entities"
    cookies: Literal["set", "clear"] | None = None
    """Whether the answer sets the session cookies (from `access_token`, `refresh_token`) or clears them."""
    body_limit: int = 8 * 1024 * 1024
    errors: frozenset[int] = frozenset()
    """Statuses beyond 401, 403, 422 and 500 that this route can answer, for OpenAPI."""
    rate: str | None = None
    """`5/minute` and so on, per caller or address; None for no limit."""
    takes_form: bool = False
    """Whether the body may be a form as well, as OAuth clients send it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """How an operation shows to agents."""

    title: str
    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    listed: bool = True
    """Listing is for the agent's attention, never for security: rights are checked on every call."""
    omit: frozenset[str] = frozenset()
    """Request fields that exist over REST only."""
    omit_values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By field: words that it takes over REST only."""
    omit_result: frozenset[str] = frozenset()
    """Fields of the answer whose shape no agent needs to know: they are not described."""
    render: Callable[[Any], str] | None = None
    """A terse text that stands alone; without one, compact JSON."""


Run = Callable[["App", Call, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that Engrain can do. Nothing outside this entry knows its name."""

    name: str
    request: type[Request]
    result: type[Result]
    run: Run
    roles: frozenset[Role] | None = READERS
    """Organization roles that may call it; None for a public operation."""
    scope: Literal["read", "write"] = "read"
    """The right that an API key or narrowed token needs."""
    route: Route | None = None
    tool: Tool | None = None
    mutates: bool = False
    """Takes an Idempotency-Key: whatever writes does, except where a repetition does no second deed."""
    secret: bool = False
    """The answer holds a credential, shown once: a repetition with the same key is refused, not answered again."""
    events: tuple[str, ...] = field(default=())
    role_refusal: str = ""
    """The code, and the message, of a refusal for the role; empty for `forbidden` with a sentence."""

    @property
    def description(self) -> str:
        """The first paragraph of the function's docstring: what agents and the reference read."""
        text = inspect.getdoc(self.run) or ""
        return " ".join(text.split("\n\n")[0].split())


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an execution produced: the answer as a model, or as the JSON stored by the call that it replays."""

    status: int
    result: Result | None = None
    stored: bytes | None = None
    replayed: bool = False

    def content(self) -> bytes:
        """The answer as JSON bytes; empty for 204."""
        if self.stored is not None:
            return self.stored
        return b"" if self.result is None else self.result.model_dump_json().encode()

    def body(self) -> JsonObject:
        """The answer as a plain object."""
        if self.stored is not None:
            return dict(json.loads(self.stored)) if self.stored else {}
        return {} if self.result is None else self.result.model_dump(mode="json")
