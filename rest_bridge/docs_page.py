"""The reference page at `/api/docs`: one HTML file made from the OpenAPI document, with nothing to fetch."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

Schema = Mapping[str, Any]

_PREFIX = "#/components/schemas/"
_METHODS = ("get", "post", "patch", "delete")

_STYLE = """
:root{color-scheme:light dark;--line:#8884;--soft:#8881;--link:#0a58ca}
@media(prefers-color-scheme:dark){:root{--link:#7ab2ff}}
*{box-sizing:border-box}
body{margin:0;font:15px/1.5 system-ui,sans-serif;display:grid;grid-template-columns:18rem minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;border-right:1px solid var(--line);font-size:13px}
nav input{width:100%;padding:.4rem;margin-bottom:.5rem;font:inherit}
nav h2{font-size:12px;text-transform:uppercase;letter-spacing:.06em;margin:1rem 0 .25rem}
nav a{display:block;padding:1px 0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;text-decoration:none}
main{padding:1.5rem 2rem;max-width:70rem}
a{color:var(--link)}
code,pre{font:13px/1.45 ui-monospace,monospace}
article{border:1px solid var(--line);border-radius:8px;padding:.25rem 1rem 1rem;margin:1rem 0}
article h3{display:flex;gap:.6rem;align-items:baseline;flex-wrap:wrap;margin:.75rem 0 .25rem}
h4{margin:1rem 0 .25rem;font-size:13px}
.method{font:700 12px ui-monospace,monospace;padding:2px 8px;border-radius:4px;color:#fff;background:#555}
.get{background:#1769aa}.post{background:#1b7f3b}.patch{background:#9a6700}.delete{background:#b3261e}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-top:1px solid var(--line)}
th{font-size:12px;font-weight:600}
.need{font-size:11px;font-weight:600;color:#b3261e}
@media(prefers-color-scheme:dark){.need{color:#ff8a80}}
.scroll{overflow-x:auto}
pre{background:var(--soft);padding:.75rem;border-radius:6px;overflow-x:auto}
@media(max-width:50rem){body{display:block}nav{position:static;height:auto;border:0}main{padding:1rem}}
"""

_SCRIPT = """
const box=document.getElementById('filter');
box.addEventListener('input',()=>{const words=box.value.toLowerCase().split(/\\s+/);
for(const item of document.querySelectorAll('[data-find]')){
item.hidden=!words.every(word=>item.dataset.find.includes(word));}});
"""


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"


POLICY = {
    "Content-Security-Policy": (
        f"default-src 'none'; style-src {_hash(_STYLE)}; script-src {_hash(_SCRIPT)}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}
"""The page may run its own style and its own script, by hash, and load nothing."""


def render_page(document: Schema) -> str:
    """Write the page for an OpenAPI document."""
    info = document["info"]
    groups = _groups(document)
    menu = "".join(f"<h2>{escape(tag)}</h2>{''.join(map(_link, entries))}" for tag, entries in groups)
    operations = "".join(
        f"<section><h2>{escape(tag)}</h2>{''.join(map(_operation, entries))}</section>" for tag, entries in groups
    )
    schemas = "".join(_component(name, schema) for name, schema in document["components"]["schemas"].items())
    title = escape(f"{info['title']} {info['version']}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}: API reference</title><style>{_STYLE}</style></head><body>"
        '<nav aria-label="Operations"><input id="filter" type="search" placeholder="Filter" aria-label="Filter">'
        f"{menu}<h2>Schemas</h2>{''.join(map(_schema_link, document['components']['schemas']))}</nav>"
        f"<main><h1>{title}</h1><p>{escape(info['description'])}</p>{_introduction()}"
        f"{operations}<section><h2>Schemas</h2>{schemas}</section></main>"
        f"<script>{_SCRIPT}</script></body></html>"
    )


def _introduction() -> str:
    return (
        '<p>The machine-readable document is <a href="/api/openapi.json">/api/openapi.json</a>. Sign in with '
        '<a href="#log_in"><code>POST /api/auth/local/login</code></a> and send the access token as '
        "<code>Authorization: Bearer &lt;token&gt;</code>. Writes that take an <code>Idempotency-Key</code> are safe "
        'to repeat. Every refusal has the shape of <a href="#schema-Error">Error</a>. Events come over the WebSocket '
        "<code>/api/ws</code>; agents speak MCP at <code>/mcp</code>.</p>"
    )


Entry = tuple[str, str, Schema]


def _groups(document: Schema) -> list[tuple[str, list[Entry]]]:
    groups: dict[str, list[Entry]] = {}
    for path, item in document["paths"].items():
        for method in (method for method in _METHODS if method in item):
            groups.setdefault(item[method]["tags"][0], []).append((method, path, item[method]))
    return sorted(groups.items())


def _link(entry: Entry) -> str:
    method, path, operation = entry
    name = escape(operation["operationId"])
    return f'<a href="#{name}" data-find="{_find(entry)}">{method.upper()} {escape(path)}</a>'


def _schema_link(name: str) -> str:
    return f'<a href="#schema-{escape(name)}" data-find="{escape(name.lower())}">{escape(name)}</a>'


def _find(entry: Entry) -> str:
    method, path, operation = entry
    return escape(f"{method} {path} {operation['operationId']} {operation['summary']}".lower())


def _operation(entry: Entry) -> str:
    method, path, operation = entry
    name = escape(operation["operationId"])
    parts = [
        f'<article id="{name}" data-find="{_find(entry)}"><h3><span class="method {method}">{method.upper()}</span>'
        f"<code>{escape(path)}</code></h3><p>{escape(operation['description'])}</p>",
        f"<p><small>{_access(operation)} Operation <code>{name}</code>.</small></p>",
    ]
    if parameters := operation["parameters"]:
        parts.append(_table("Parameters", ("Name", "In", "Type", "Meaning"), map(_parameter, parameters)))
    if body := operation.get("requestBody"):
        parts.append(f"<h4>Body</h4><p>{_type(body['content']['application/json']['schema'])}</p>")
    parts.append(_table("Answers", ("Status", "Body", "Meaning"), map(_answer, operation["responses"].items())))
    return "".join(parts) + "</article>"


def _access(operation: Schema) -> str:
    return "Needs a bearer token or the session cookie." if operation["security"] else "Open to everybody."


def _table(title: str, columns: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{column}</th>" for column in columns)
    return f'<h4>{title}</h4><div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _parameter(parameter: Schema) -> str:
    name = _name(parameter["name"], required=parameter.get("required", False))
    meaning = escape(parameter.get("description", ""))
    return f"<tr><td>{name}</td><td>{parameter['in']}</td><td>{_type(parameter['schema'])}</td><td>{meaning}</td></tr>"


def _answer(answer: tuple[str, Schema]) -> str:
    status, response = answer
    content = response.get("content", {}).get("application/json")
    body = _type(content["schema"]) if content else "none"
    return f"<tr><td>{status}</td><td>{body}</td><td>{escape(response['description'])}</td></tr>"


def _component(name: str, schema: Schema) -> str:
    about = f"<p>{escape(schema['description'])}</p>" if "description" in schema else ""
    required = schema.get("required", ())
    rows = [
        f"<tr><td>{_name(field, required=field in required)}</td><td>{_type(about_field)}</td>"
        f"<td>{escape(about_field.get('description', ''))}</td></tr>"
        for field, about_field in schema.get("properties", {}).items()
    ]
    body = _table("Fields", ("Name", "Type", "Meaning"), rows) if rows else f"<p>{_type(schema)}</p>"
    return (
        f'<article id="schema-{escape(name)}" data-find="{escape(name.lower())}"><h3><code>{escape(name)}</code></h3>'
        f"{about}{body}</article>"
    )


def _name(name: str, *, required: bool) -> str:
    mark = ' <span class="need">required</span>' if required else ""
    return f"<code>{escape(name)}</code>{mark}"


_BOUNDS = {
    "minimum": "≥ {}",
    "maximum": "≤ {}",
    "exclusiveMinimum": "&gt; {}",
    "exclusiveMaximum": "&lt; {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
}


def _type(schema: Schema) -> str:
    """Write a type for people: names are links, bounds and defaults follow."""
    bounds = [text.format(schema[key]) for key, text in _BOUNDS.items() if key in schema]
    if schema.get("default") is not None:
        bounds.append(f"default <code>{escape(json.dumps(schema['default'], ensure_ascii=False))}</code>")
    return ", ".join([_kind(schema), *bounds])


def _kind(schema: Schema) -> str:
    if "$ref" in schema:
        name = escape(schema["$ref"].removeprefix(_PREFIX))
        return f'<a href="#schema-{name}">{name}</a>'
    if options := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return " or ".join(map(_type, options))
    if "const" in schema or "enum" in schema:
        values = schema.get("enum") or [schema["const"]]
        return " | ".join(f"<code>{escape(json.dumps(value))}</code>" for value in values)
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items', {}))}"
    kind = schema.get("type", "any")
    text = kind if isinstance(kind, str) else " or ".join(kind)
    return escape(f"{text} ({schema['format']})" if "format" in schema else text)
