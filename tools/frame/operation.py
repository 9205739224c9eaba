"""Operations, from which MCP tools, REST routes and the reference are made."""

import inspect
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from auth.origin import NOWHERE, Origin
from auth.principal import Principal
from stores.errors import AuthenticationRequired
from stores.records import JsonObject, Role
from tools.frame.threads import in_thread

if TYPE_CHECKING:
    from stores.ledger import Claim
    from tools.app import App

Method = Literal["GET", "POST", "PATCH", "DELETE"]

READERS: frozenset[Role] = frozenset({"owner", "admin", "member", "viewer"})
WRITERS: frozenset[Role] = frozenset({"owner", "admin", "member"})
OWNERS: frozenset[Role] = frozenset({"owner"})
SYNCED = frozenset({"sync"})
IF_MATCH = {"if-match": "expected_revision"}


class Request(BaseModel):
    """Base of all requests. Unknown fields are ignored over REST and refused over MCP."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=False, regex_engine="python-re")

    @classmethod
    def filters(cls) -> frozenset[str]:
        """Return the fields in which an empty text counts as left out."""
        return frozenset({"category"} & cls.model_fields.keys())

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        found = handler(schema)
        properties = handler.resolve_ref_schema(found).get("properties", {})
        for option in (each for name in cls.filters() for each in properties[name].get("anyOf", ())):
            option.pop("minLength", None)
            if "" not in option.get("enum", ("",)):
                option["enum"] = [*option["enum"], ""]
        return found


class Filters(Request):
    """Base of requests that only read: their optional texts are filters."""

    @classmethod
    def filters(cls) -> frozenset[str]:
        return frozenset(name for name, field in cls.model_fields.items() if field.default is None)


class Result(BaseModel):
    """Base of all results."""

    model_config = ConfigDict(frozen=True, protected_namespaces=())
    http_status: ClassVar[int | None] = None
    """Status of the answer if it is not that of the route."""

    @classmethod
    def of(cls, record: object, **more: Any) -> Self:
        """Copy the fields that the record has under the same names, and add `more`."""
        names = [name for name in cls.model_fields if name not in more and hasattr(record, name)]
        return cls(**{name: getattr(record, name) for name in names}, **more)


class Nothing(Result):
    """An answer without a body (204)."""


class DoneView(Result):
    """It is done."""

    success: Literal[True] = True


ACCESS_COOKIE = "engrain_access_token"
REFRESH_COOKIE = "engrain_refresh_token"


class Cookie(Result):
    """A browser cookie: HttpOnly, SameSite=Lax, path `/`, and Secure over HTTPS."""

    name: str
    value: str
    lifetime_s: int
    """Seconds; 0 deletes the cookie."""


class Redirect(Result):
    """An answer for a browser that has no body (302): where to go, and which cookies to keep."""

    location: str
    """An absolute URL, or a path of this server; ASCII."""
    cookies: tuple[Cookie, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    principal: Principal | None
    """None for a public operation."""
    claim: "Claim | None" = None
    """The idempotency key's claim, applied in the transaction of the write."""
    idempotency_key: str | None = None
    origin: Origin = NOWHERE
    server: Callable[[], str] = str
    """Returns this server's URL for the caller, without a trailing slash."""
    cookies: Mapping[str, str] = field(default_factory=dict)
    """The browser's cookies, only for operations that answer a `Redirect`."""
    followups: list[Callable[[], Awaitable[Mapping[str, Any] | None]]] = field(default_factory=list)

    def then(self, function: Callable[..., Awaitable[Mapping[str, Any] | None]], *args: object) -> None:
        """Await a coroutine function once the result is made; a mapping that it returns changes fields of it."""
        self.followups.append(partial(function, *args))

    async def settled(self, result: Any) -> Any:  # noqa: ANN401, RUF100  (of any operation)
        while self.followups:
            if changed := await self.followups.pop(0)():
                result = result.model_copy(update=changed)
        return result

    @property
    def caller(self) -> Principal:
        """The principal of an operation that is not public."""
        if self.principal is None:
            raise AuthenticationRequired("Authentication is required.")
        return self.principal


@dataclass(frozen=True, slots=True)
class Route:
    """A REST route. Fields come from the path, then `query`, else from the body."""

    method: Method
    path: str
    """With `{field}` for path fields: `/api/entities/{entity_id}`."""
    status: int = 200
    query: frozenset[str] = frozenset()
    """Fields from the query string; all of them for GET and DELETE."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Revisions from preconditions: `{"if-match": "expected_revision"}`."""
    tag: str = "entities"
    cookies: Literal["set", "clear"] | None = None
    """Set the session cookies from `access_token` and `refresh_token`, or clear them."""
    body_limit: int = 8 * 1024 * 1024
    errors: Collection[int] = ()
    """Statuses beyond 401, 403, 422 and 500 that this route can answer, for OpenAPI."""
    also: Collection[int] = ()
    """Further statuses with the same body."""
    rate: str | None = None
    """Rate limit per caller or address, such as `5/minute`."""
    takes_form: bool = False
    """Accept a form as well as JSON, as OAuth clients send it."""


@dataclass(frozen=True, slots=True)
class Tool:
    title: str
    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    toolset: str = "core"
    """Tools beyond the core are listed to clients that ask for their set; not for security."""
    omit: frozenset[str] = frozenset()
    """Request fields that exist over REST only."""
    omit_values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Values by field that exist over REST only."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values of arguments that are left out, where they differ from those of REST."""
    omit_result: frozenset[str] = frozenset()
    """Result fields that the answer leaves out, at any depth."""
    answer: Callable[[Any], BaseModel | Mapping[str, Any]] | None = None
    """Select the result fields for agents; by default, all that are not empty."""


class Download(Result):
    """An answer that is a file."""

    content: bytes
    media_type: str
    file_name: str


Run = Callable[["App", Call, Any], Any]
"""A coroutine function, or one that blocks, which runs in a worker thread."""


def begun(run: Run, app: "App", call: Call, request: Request) -> Awaitable[Any]:
    return run(app, call, request) if inspect.iscoroutinefunction(run) else in_thread(run, app, call, request)


@dataclass(frozen=True, slots=True)
class Operation:
    """One entry of the catalogue; by default the function names and types it."""

    run: Run
    name: str = ""
    request: type[Request] = Request
    result: type[Result] = Result
    roles: frozenset[Role] | None = READERS
    """Organization roles that may call it; None for a public operation."""
    scope: Literal["read", "write"] = "read"
    """The scope that an API key or narrowed token needs."""
    route: Route | None = None
    tool: Tool | None = None
    mutates: bool = False
    """Accept an Idempotency-Key: all writes that a repetition would apply twice."""
    secret: bool = False
    """The answer holds a credential: a repetition is refused, not replayed."""
    events: tuple[str, ...] = ()
    unscreened: frozenset[str] = frozenset()
    """Fields that the function looks through for credentials itself."""
    role_refusal: str = ""
    """Code and message of the refusal of a role; default `forbidden`."""

    def __post_init__(self) -> None:
        hints = get_type_hints(self.run)
        found = {"name": self.run.__name__, "request": list(hints.values())[2], "result": hints["return"]}
        for name, value in found.items():
            if getattr(self, name) in ("", Request, Result):
                object.__setattr__(self, name, value)

    @property
    def description(self) -> str:
        """The first paragraph of the function's docstring, for agents and the reference."""
        text = inspect.getdoc(self.run) or ""
        return " ".join(text.split("\n\n")[0].split())


ENTRIES: defaultdict[str, list[Operation]] = defaultdict(list)
"""Operations by the module of their verbs, in the order of its text."""
Verb = TypeVar("Verb", bound=Run)


def entry(route: Route | None = None, **more: Any) -> Callable[[Verb], Verb]:
    """Enter the verb below in the catalogue; `more` are further fields of its operation."""

    def enter(run: Verb) -> Verb:
        ENTRIES[run.__module__].append(Operation(run, route=route, **more))
        return run

    return enter


def mutation(route: Route | None = None, **more: Any) -> Callable[[Verb], Verb]:
    """Enter a write that accepts an Idempotency-Key."""
    return entry(route, scope="write", mutates=True, **more)


def writing(route: Route | None = None, *events: str, **more: Any) -> Callable[[Verb], Verb]:
    """Enter a write for members and above that sends events."""
    return mutation(route, roles=WRITERS, events=events, **more)


def move(route: Route, *events: str) -> Callable[[Verb], Verb]:
    """Enter a write that moves the caller's session to another organization."""
    return mutation(replace(route, tag="organizations", cookies="set"), events=events, secret=True)


def public(path: str, *errors: int, rate: str | None = "5/minute", **more: Any) -> Callable[[Verb], Verb]:
    """Enter a POST about accounts without authentication; `more` are fields of its route."""
    return entry(Route("POST", path, tag="account", rate=rate, errors=errors, **more), roles=None, scope="write")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer of an operation: a model, or the stored JSON of a replay."""

    status: int
    result: Result | None = None
    stored: bytes | None = None
    replayed: bool = False
    warnings: Sequence[str] = ()
    """Sentences about the request, in the answer."""

    def content(self) -> bytes:
        """Return the answer as JSON; empty for 204."""
        if self.stored is not None:
            return self.stored
        if self.warnings and self.result is not None:
            return json.dumps(self.body(), ensure_ascii=False).encode()
        return b"" if self.result is None else self.result.model_dump_json().encode()

    def body(self) -> JsonObject:
        if self.stored is not None:
            return dict(json.loads(self.stored)) if self.stored else {}
        found = {} if self.result is None else self.result.model_dump(mode="json")
        return found | {"warnings": [*self.warnings]} if self.warnings else found
