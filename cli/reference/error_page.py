"""Reference of error codes, from the error classes and the calls that pass a code."""

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import auth
import rest_bridge
import rest_bridge.application  # its classes have to be there, whatever else was imported
import stores
import tools
from rest_bridge.envelope import STATUSES, status_of
from stores.errors import EngrainError, InvalidSetting
from stores.folder import FolderInUse

INTRO = """\
# Error codes

Every refusal, on every path, has one shape. `error` is a stable code for programs, `message` names the thing that is
wrong, `remediation` the way out; `details` is there for some, with `field` and `expected` for a validation error. Quote
`request_id`, which is also the `X-Request-ID` header, to whoever operates the server.

```json
{"error": "validation_error", "message": "limit: Input should be less than or equal to 50.",
 "request_id": "req_0a1b2c3d4e5f", "remediation": "Correct the named field and send the request again.",
 "details": {"field": "body.limit", "expected": "less_than_equal"}}
```

Over MCP a refusal is a tool result with `isError` whose text begins with the code.

Some refusals have a general code and a more specific word, with which their `message` begins. These words have sections
here too."""


@dataclass(frozen=True, slots=True)
class Described:
    code: str
    status: int | None
    """None if it stops a command rather than answers a request."""
    meaning: str
    remediation: str
    general: str = ""
    """The `error` of an answer whose message begins with the code."""


def page() -> str:
    sections = [_section(each) for each in described()]
    return "\n\n".join([INTRO, *sections]) + "\n"


def _section(each: Described) -> str:
    beginning = f", at the beginning of `message`; `error` is `{each.general}`" if each.general else ""
    where = f"HTTP {each.status}{beginning}." if each.status else "Stops a command; no request is answered with it."
    return f"## {each.code}\n\n{where} {MEANINGS.get(each.code, each.meaning)}\n\nWay out: {each.remediation}"


def described() -> list[Described]:
    found: dict[str, Described] = {}
    for kind in _classes():
        offline = issubclass(kind, InvalidSetting | FolderInUse)
        meaning = inspect.getdoc(kind) or ""
        found[kind.code] = Described(
            kind.code,
            None if offline else status_of(kind("")),
            _sentence(meaning.partition(": ")[2] or meaning),
            "The message says what to do." if offline else kind.default_remediation,
        )
    for each in _given():
        found.setdefault(each.code, each)
    return sorted(found.values(), key=lambda each: (each.status or 1000, each.code))


MEANINGS = {
    "internal_error": "Something went wrong on our side; it is logged under the request id.",
    "api_error": "The request is for a host that this server is not; with another status, the HTTP layer refused it.",
    "cross_origin_refused": "The request comes from the page of another site.",
    "invalid_token": "`/mcp` needs a token that holds; `error_description` repeats the message for OAuth clients.",
    "missing_scope_key": "The scope needs a key that says which project, team or space is meant.",
    "invalid_api_key_project_scope": "An API key can be narrowed to projects that its maker can read.",
    "invalid_api_key_memory_space_scope": "An API key can be narrowed to memory spaces that its maker belongs to.",
    "invalid_memory_space_id": "A memory space is named by something that is no id of one.",
    "private_scope_key_mismatch": "A private scope is the caller's own.",
    "insufficient_org_role": "Managing memory needs the role Owner or Admin in the organization.",
    "local_auth_disabled": "Signing in with e-mail and password is switched off (`ENGRAIN_LOCAL_AUTH_ENABLED`).",
    "provider_unavailable": "A sign-in provider is down, slow or overloaded.",
    "provider_answer_invalid": "A sign-in provider answered with something that makes no sense or may not be.",
    "oidc_id_token_invalid": "The provider's ID token is not signed by it, not for this sign-in, or out of date.",
    "oidc_sign_in_refused": "The provider answered with an error, or does not accept the code.",
    "codehost_sign_in_refused": "The code host answered with an error, or does not accept the code.",
    "oidc_subject_incomplete": "The provider's claims do not say which account there it is.",
    "oidc_missing_role": "The provider's role claim gives no role in its organization.",
    "oidc_client_secret_missing": "The environment variable that `client_secret_env` names is not set.",
    "oidc_organization_missing": "The organization that the provider signs in to does not exist.",
    "oidc_silent_refresh_disabled": "The provider does not refresh sessions silently.",
    "signup_disabled": "Signing up is switched off (`ENGRAIN_SIGNUP_ENABLED`).",
}
"""Descriptions missing where these are raised."""


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def _classes() -> list[type[EngrainError]]:
    found: dict[type[EngrainError], None] = dict.fromkeys(kind for kind in STATUSES)
    pending = [EngrainError]
    while pending:
        kind = pending.pop()
        if kind.__module__.partition(".")[0] in ("stores", "auth", "tools", "rest_bridge"):
            found.setdefault(kind)
            pending += kind.__subclasses__()
    own = {kind for kind in found if "code" in vars(kind)}
    return sorted(own, key=lambda kind: kind.__name__)


def _given() -> Iterator[Described]:
    names = {kind.__name__: kind for kind in _classes()}
    for room in (stores, auth, tools, rest_bridge):
        for path in sorted(Path(str(room.__file__)).parent.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                    yield from _from_call(node, names[node.func.id])


def _from_call(node: ast.Call, kind: type[EngrainError]) -> Iterator[Described]:
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    named = given.get("code") or given.get("word")
    if not isinstance(named, ast.Constant):
        return
    meaning = _text(node.args[0]) if node.args else ""
    if meaning == named.value or not meaning:
        meaning = _sentence((inspect.getdoc(kind) or "").partition(": ")[2])
    yield Described(
        str(named.value),
        status_of(kind("")),
        meaning,
        _text(given.get("remediation")) or kind.default_remediation,
        kind.code if "word" in given else "",
    )


def _text(node: ast.AST | None) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    return ""


def codes() -> list[str]:
    return [each.code for each in described()]
