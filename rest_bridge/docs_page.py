"""`/api/docs`: the operations of the OpenAPI document, without scripts."""

from collections.abc import Mapping
from html import escape
from typing import Any


def render_page(document: Mapping[str, Any]) -> str:
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    rows = "".join(
        f'<tr id="{escape(operation["operationId"])}"><td>{method.upper()}</td><td><code>{escape(path)}</code></td>'
        f"<td>{escape(operation['summary'])}</td></tr>"
        for path, item in document["paths"].items()
        for method, operation in item.items()
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: API</title></head><body>'
        f"<h1>{title}</h1><p>{escape(info['description'])}</p>"
        '<p>Fields, answers and errors are in <a href="/api/openapi.json">/api/openapi.json</a>, which any OpenAPI '
        "viewer can show.</p>"
        f"<table><tr><th>Method</th><th>Path</th><th>Operation</th></tr>{rows}</table></body></html>"
    )
