"""REST endpoints of catalogue entries, and their rate limits."""

import asyncio
import ipaddress
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute
from starlette.types import Receive, Scope, Send

from auth.origin import client_of, origin_of
from auth.principal import Principal
from rest_bridge.authentication import (
    CREDENTIAL,
    PRINCIPAL,
    Credential,
    clear_session,
    require_principal,
    require_same_origin,
    session_cookie,
    session_cookies,
    set_cookies,
)
from rest_bridge.bodies import Coercion, is_form, parse_object, read_body, read_pairs, read_query, receive_body
from rest_bridge.envelope import CLEAR_COOKIES, REFUSE
from rest_bridge.mcp_discovery import base_url, public_path
from rest_bridge.pages.layout import LOGIN_PATH, error_page, wants_page
from stores.errors import EngrainError, InvalidRequest, RateLimited, ValidationFailed
from stores.records import JsonObject
from tools.app import App
from tools.frame.execute import execute
from tools.frame.operation import REFRESH_COOKIE, Call, Download, Operation, Outcome, Redirect, Request, Route
from tools.frame.parsing import parse_json, refusal, refuse_unstorable
from tools.frame.threads import in_thread

_SECONDS = {"minute": 60, "hour": 3600}


class FixedWindow:
    """Rate limit in fixed windows, per caller and process; forgets all callers when a window ends."""

    def __init__(self, rate: str, clock: Callable[[], float] = time.monotonic) -> None:
        tries, _, unit = rate.partition("/")
        self.tries, self.seconds = int(tries), _SECONDS[unit]
        self.clock = clock
        self.window = -1
        self.counts: dict[str, int] = {}

    def take(self, caller: str) -> None:
        now = self.clock()
        window = int(now // self.seconds)
        if window != self.window:
            self.window, self.counts = window, {}
        caller = one_caller(caller)
        count = self.counts[caller] = self.counts.get(caller, 0) + 1
        if count > self.tries:
            left = max(1, int((window + 1) * self.seconds - now) + 1)
            raise RateLimited(f"More than {self.tries} tries in {self.seconds} seconds.", retry_after_s=left)


def one_caller(name: str) -> str:
    """Return the address to count: for IPv6 the /64, all of which one machine has."""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name
    if isinstance(address, ipaddress.IPv4Address):
        return name
    return str(address.ipv4_mapped or ipaddress.ip_network((int(address), 64), strict=False))


PATH_FIELD = re.compile(r"\{(\w+)\}")
LARGE_BODY = 64 * 1024
COMMON_LIMIT = 8 * 1024 * 1024
IGNORED = "engrain.ignored"
"""Names of unknown filters, which a list tells its caller."""
_KEY = re.compile(r"[\x21-\x7e]{1,255}")
_TAG = re.compile(r'(?:W/)?("?)([1-9][0-9]{0,17})\1')


@dataclass(frozen=True, slots=True)
class Placement:
    """The places of a request's fields: path, query, body."""

    path: frozenset[str]
    query: frozenset[str]
    body: frozenset[str]

    @classmethod
    def of(cls, operation: Operation, route: Route) -> "Placement":
        fields = frozenset(operation.request.model_fields)
        path = frozenset(PATH_FIELD.findall(route.path))
        bodiless = route.method in ("GET", "DELETE")
        query = fields - path if bodiless else route.query
        return cls(path, query, fields - path - query)

    def relocate(self, error: EngrainError) -> None:
        """Turn the field `body.page` of an error into `query.page` if it stands there."""
        named = error.details.get("errors", ())
        for details in (error.details, *(named if isinstance(named, list) else ())):
            place, _, rest = (was := str(details.get("field", ""))).partition(".")
            name = rest.partition(".")[0]
            if place == "body" and (name in self.path | self.query or not self.body):
                details["field"] = f"{'path' if name in self.path else 'query'}.{rest}"
                error.message = error.message.replace(was, details["field"])


class Endpoint:
    def __init__(self, app: App, operation: Operation, route: Route) -> None:
        self.app = app
        self.operation = operation
        self.route = route
        self.trusted_origins = app.settings.cors_origins
        self.placement = Placement.of(operation, route)
        self.coercion = Coercion(operation.request)
        self.redirects = issubclass(operation.result, Redirect)
        pages = operation.name.startswith("list_") or "limit" in operation.request.model_fields
        self.names_ignored = pages and operation.scope == "read"
        self.forbids = operation.request.model_config.get("extra") == "forbid"
        self.large = asyncio.Lock()
        self.limit = FixedWindow(route.rate) if route.rate and app.settings.rate_limit_enabled else None

    @asynccontextmanager
    async def body(self, scope: Scope, receive: Receive) -> AsyncIterator[list[bytes]]:
        """Receive the body. Of those that are larger than other routes take, one at a time is in memory."""
        if self.route.body_limit <= COMMON_LIMIT:
            yield [await read_body(scope, receive, self.route.body_limit) if self.placement.body else b""]
            return
        with SpooledTemporaryFile(COMMON_LIMIT) as received:
            size = await receive_body(scope, receive, self.route.body_limit, received)
            async with self.large if size > COMMON_LIMIT else nullcontext():
                received.seek(0)
                yield [received.read()]

    async def answer(self, scope: Scope, receive: Receive) -> Response:
        self.take_turn(scope)
        principal = self.caller(scope)
        key = self.idempotency_key(scope)
        async with self.body(scope, receive) as held:
            if len(held[0]) > LARGE_BODY:
                # Parsing takes long enough for other callers to notice.
                request = await in_thread(self.request_of, scope, held)
            else:
                request = self.request_of(scope, held)
            if key is None and self.operation.mutates:
                # As an argument of the tool; the header goes first.
                key = getattr(request, "idempotency_key", None)
            call, keyed = self.call_of(scope, principal), {"idempotency_key": key, "key_path": scope["path"]}
            try:
                return self.respond(scope, await execute(self.app, self.operation, call, request, **keyed))
            except EngrainError as error:
                self.placement.relocate(error)
                raise

    async def call(self, scope: Scope, fields: JsonObject) -> Outcome:
        """Run the operation for a page, with the limits and rights of its route."""
        self.take_turn(scope)
        return await execute(self.app, self.operation, self.call_of(scope, self.caller(scope)), self.validate(fields))

    def take_turn(self, scope: Scope) -> None:
        principal: Principal | None = scope.get(PRINCIPAL)
        if self.limit is not None:
            # Being signed in buys no further guesses at a public route.
            caller = None if self.operation.roles is None else principal
            self.limit.take(client_of(scope) if caller is None else caller.user_id)

    def call_of(self, scope: Scope, principal: Principal | None) -> Call:
        return Call(
            principal,
            origin=origin_of(scope),
            server=partial(base_url, scope, self.app.settings),
            cookies=HttpRequest(scope).cookies if self.redirects else {},
        )

    def caller(self, scope: Scope) -> Principal | None:
        if self.operation.roles is not None:
            return require_principal(scope, self.trusted_origins)
        credential: Credential | None = scope.get(CREDENTIAL)
        if self.route.cookies == "set" or (credential is not None and credential.source == "cookie"):
            require_same_origin(scope, self.trusted_origins)
        principal: Principal | None = scope.get(PRINCIPAL)
        return principal

    def idempotency_key(self, scope: Scope) -> str | None:
        key = Headers(scope=scope).get("idempotency-key")
        if key is None or not self.operation.mutates:
            return None
        if not _KEY.fullmatch(key):
            raise InvalidRequest(
                "An Idempotency-Key is 1 to 255 visible ASCII characters.",
                remediation="Send a fresh UUID for each write, and the same one when you repeat it.",
                details={"field": "header.Idempotency-Key", "expected": "1 to 255 visible ASCII characters"},
            )
        return key

    def request_of(self, scope: Scope, held: list[bytes]) -> Request:
        # Taken from its holder, to free a large body before its parsed form is validated.
        return self.validate(self.fields_of(scope, held.pop()))

    def fields_of(self, scope: Scope, body: bytes) -> JsonObject:
        """Collect the fields from path, query, headers and body; leave out unknown names, unless they are refused."""
        headers = Headers(scope=scope)
        given = self.body_of(body, headers.get("content-type"))
        data = given if self.forbids else {name: given[name] for name in self.placement.body & given.keys()}
        asked = read_query(scope) if self.placement.query or self.names_ignored else {}
        data |= self.coercion.fields(self.placement.query, asked, "query")
        if self.names_ignored:
            scope[IGNORED] = sorted((given.keys() | asked.keys()) - self.operation.request.model_fields.keys())
            data |= dict.fromkeys(scope[IGNORED] if self.forbids else ())
        for header, name in self.route.headers.items():
            if header in headers:
                # Read even where the field itself is there, and wins: a malformed one is a mistake all the same.
                data = named_revision(name, header.title(), ", ".join(headers.getlist(header))) | data
        for name in self.placement.path:
            data[name] = self.coercion.one(name, scope["path_params"][name])
        if self.route.cookies:
            self.read_refresh_cookie(scope, headers, data)
        return data

    def body_of(self, body: bytes, content_type: str | None) -> JsonObject:
        if self.route.takes_form and is_form(content_type):
            return self.coercion.fields(self.placement.body, read_pairs(body, "body"), "body")
        return parse_object(body, content_type)

    def read_refresh_cookie(self, scope: Scope, headers: Headers, data: JsonObject) -> None:
        """Read the refresh token from the cookie if the body has none."""
        if "refresh_token" not in self.placement.body or data.get("refresh_token") is not None:
            return
        scope[CLEAR_COOKIES] = True
        token = session_cookie(headers, REFRESH_COOKIE)
        if token:
            require_same_origin(scope, self.trusted_origins)
            data["refresh_token"] = token

    def validate(self, data: JsonObject) -> Request:
        """Validate the fields as JSON, in which "5" is no integer."""
        model, sent = self.operation.request, [*data]
        try:
            refuse_unstorable(data, "body")
            return parse_json(model, data)
        except ValidationError as error:
            refused = refusal(error.errors(include_url=False), model, "body", sent=sent)
        except ValidationFailed as error:
            refused = error
        self.placement.relocate(refused)
        raise refused from None

    def respond(self, scope: Scope, outcome: Outcome) -> Response:
        if isinstance(outcome.result, Redirect):
            return self.redirect(scope, outcome.result)
        headers = {"Cache-Control": "no-store"}
        found = outcome.result
        if isinstance(found, Download):
            headers["Content-Disposition"] = f'attachment; filename="{found.file_name}"'
            return Response(found.content, outcome.status, headers, found.media_type)
        if outcome.replayed:
            headers["Idempotency-Replayed"] = "true"
        status = (found and found.http_status) or outcome.status
        content = None if status == 204 else outcome.content()
        if ignored := scope.get(IGNORED):
            body = outcome.body()
            filters = body.get("filters")
            content = to_json(
                body | {"filters": {**(filters if isinstance(filters, dict) else {}), "ignored": ignored}}
            )
        response = Response(content, status, headers, None if content is None else "application/json")
        if self.route.cookies == "set":
            self.keep_session(response, scope, outcome)
        elif self.route.cookies == "clear":
            clear_session(response)
        return response

    def keep_session(self, response: Response, scope: Scope, outcome: Outcome) -> None:
        held = session_cookies(outcome.body(), self.app.accounts.tokens.seconds_left)
        set_cookies(response, held, secure=self.is_secure(scope))

    def redirect(self, scope: Scope, result: Redirect) -> Response:
        """Redirect a browser without a referrer, because this address may hold a code."""
        headers = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Location": result.location}
        response = Response(None, self.route.status, headers)
        set_cookies(response, result.cookies, secure=self.is_secure(scope))
        return response

    def is_secure(self, scope: Scope) -> bool:
        settings = self.app.settings
        return scope.get("scheme") == "https" or settings.environment == "production" or settings.is_https


class PathEndpoint:
    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self.endpoints = endpoints

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        endpoint = self.endpoints[method]
        if endpoint.redirects and wants_page(scope):
            back = (public_path(scope, LOGIN_PATH), "Back to signing in")
            scope[REFUSE] = partial(error_page, title="Signing in did not work", elsewhere=back)
        response = await endpoint.answer(scope, receive)
        await response(scope, receive, send)


def named_revision(field: str, header: str, tag: str) -> JsonObject:
    """Read the revision of a precondition; `*` means any (RFC 9110, section 13.1.1)."""
    if tag.strip() == "*":
        return {}
    if (found := _TAG.fullmatch(tag.strip())) is None:
        raise ValidationFailed(
            f"{header} names no revision.",
            remediation=f'Send the revision that you read, as in `{header}: "3"`, or `*` for any.',
            details={"field": f"header.{header}", "expected": "one revision, or *"},
        )
    return {field: int(found[2])}


def build_routes(endpoints: Iterable[Endpoint]) -> list[StarletteRoute]:
    """Make one route per path; fixed paths come before those with fields."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.route.path, {})[endpoint.route.method] = endpoint
    paths = sorted(by_path, key=lambda path: [("{" in segment, segment) for segment in path.split("/")])
    return [StarletteRoute(path, PathEndpoint(by_path[path]), methods=list(by_path[path])) for path in paths]
