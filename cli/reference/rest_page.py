"""The reference of REST routes."""

from itertools import groupby

from cli.reference.markdown import code, fields_table, model_link, spoken, without_null
from rest_bridge.health import PATHS
from rest_bridge.openapi import build_document
from rest_bridge.routes import Placement
from rest_bridge.schemas import without_titles
from tools.catalogue import OPERATIONS
from tools.operation import Operation, Redirect, Route
from tools.version import VERSION

INTRO = """\
# REST routes

Requests and answers are JSON. Authenticate with `Authorization: Bearer <access token>`, or with the cookie that signing
in sets. Unknown fields are ignored. Every answer carries `X-Request-ID` and `X-Engrain-Version`; every refusal has the
[error envelope](errors.md). The same as OpenAPI 3.1 is served at `/api/openapi.json`, and as a page at `/api/docs`.

A route marked *repeatable* takes an `Idempotency-Key` of 1 to 255 visible ASCII characters: the same key with the same
request gives the stored answer again for 24 hours (with `Idempotency-Replayed: true`, and `replayed` in its
`mutation_receipt`); with another request, or while the first is still running, it is a 409. An answer that holds a
secret (a new API key, an invitation, the tokens of a new organization) is stored nowhere, and deleting a record erases
the stored answers that repeat it: sending such a request again with the same key is a 409 that says so, and nothing is
done twice. All other routes ignore the header: those that read, and those that sign in, switch or end the session, set
a password or decide about a device, where the second time is refused, or as good as the first.

Where `expected_revision` may come from `If-Match`, that header holds one revision, `"3"` or plain `3`, or `*` for any.
A refusal names a faulty value by where it stands, in `details.field`: `body.name`, `query.page`, `path.entity_id`,
`header.If-Match`."""

OTHERS = """\
## Beyond the catalogue

| Path | What it serves |
| --- | --- |
| `GET /api/` | What this server is. |
| `GET /api/health` | 200 while the process answers, with `version` and the `commit` of its code (`runtime`). |
| `GET /api/health/ready` | 200 or 503; each store, and each index with `state`, `pending` and `watermark`. |
| `GET /api/openapi.json`, `GET /api/docs` | This reference, for programs and for people. |
| `GET /metrics` | Prometheus text; to loopback in development, else with the scrape token. |
| `GET /api/ws` | The event socket: [Events](events.md). |
| `/mcp` | The MCP endpoint: [MCP tools](tools.md). |
| `GET /.well-known/oauth-protected-resource/mcp` | What `/mcp` accepts as credentials (RFC 9728). |"""


def page() -> str:
    """Describe every route by tag, then the paths outside the catalogue."""
    routed = [(operation, operation.route) for operation in OPERATIONS if operation.route is not None]
    parts = [INTRO]
    for tag, group in groupby(sorted(routed, key=lambda pair: pair[1].tag), key=lambda pair: pair[1].tag):
        parts += [f"## {tag.capitalize()}", *[_section(operation, route) for operation, route in group]]
    return "\n\n".join([*parts, OTHERS]) + "\n"


def _section(operation: Operation, route: Route) -> str:
    placement = Placement.of(operation, route)
    schema = without_titles(operation.request.model_json_schema())
    parts = [f"### {route.method} {route.path}", operation.description, _facts(operation, route)]
    if schema.get("properties"):
        parts.append(fields_table(without_null(schema), places=_places(placement)))
    return "\n\n".join(parts)


def _places(placement: Placement) -> dict[str, str]:
    by_header = {field: header for header, field in placement.headers.items()}
    places = dict.fromkeys(placement.body, "body") | dict.fromkeys(placement.query, "query")
    places |= dict.fromkeys(placement.path, "path")
    return {
        name: f"{place} or {by_header[name].title()}" if name in by_header else place for name, place in places.items()
    }


def _facts(operation: Operation, route: Route) -> str:
    answer = model_link(operation.result.__name__) if operation.result.model_fields else "nothing"
    if issubclass(operation.result, Redirect):
        answer = "a redirect for a browser"
    facts = [f"Answers {route.status} with {answer}."]
    roles = sorted(operation.roles or (), key=("owner", "admin", "member", "viewer").index)
    facts.append(f"For {spoken([role.capitalize() for role in roles])}." if roles else "Needs no authentication.")
    if route.takes_form:
        facts.append("Takes a form as well as JSON.")
    if operation.mutates:
        facts.append("Repeatable.")
    if route.rate:
        facts.append(f"At most {route.rate.replace('/', ' tries per ')} and caller.")
    if operation.events:
        facts.append(f"Causes {spoken([code(event) for event in operation.events], 'and')}.")
    document = build_document([operation], version=VERSION, server=None, extra={})
    responses = document["paths"][route.path][route.method.lower()]["responses"]
    refusals = [code(status) for status in responses if status != str(route.status)]
    return " ".join([*facts, f"Can be refused with {spoken(refusals)}."])


def paths() -> list[str]:
    """Every documented path."""
    routed = {operation.route.path for operation in OPERATIONS if operation.route is not None}
    return sorted(routed | PATHS.keys())
