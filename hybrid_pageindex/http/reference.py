"""Render the OpenAPI description as the HTML page ``/docs``. It has no script and loads nothing from other hosts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from hybrid_pageindex.http.identity import DOCS
from hybrid_pageindex.http.replies import with_tag
from hybrid_pageindex.http.server import AnyCaller

router = APIRouter(include_in_schema=False)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}
_METHODS = ("get", "post", "put", "patch", "delete")
_CODE = re.compile(r"`{1,2}([^`\n]+)`{1,2}")
_LIMITS = {
    "minLength": "at least {} characters", "maxLength": "at most {} characters", "minItems": "at least {} entries",
    "maxItems": "at most {} entries", "minimum": "≥ {}", "exclusiveMinimum": "> {}", "maximum": "≤ {}",
    "exclusiveMaximum": "< {}", "pattern": "pattern {}",
}  # fmt: skip
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="/web/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/web/docs.css">
</head>
<body>
"""


@router.get(DOCS)
async def docs(request: Request, _: AnyCaller) -> Response:
    if not hasattr(request.app.state, "reference"):
        request.app.state.reference = render_reference(request.app.openapi())
    return with_tag(request, HTMLResponse(request.app.state.reference, headers=_HEADERS))


def render_reference(api: Mapping[str, Any]) -> str:
    """Return an OpenAPI document as an HTML page: operations by tag, then the schemas that they use."""
    about = {tag["name"]: tag.get("description", "") for tag in api.get("tags", ())}
    groups: dict[str, list[str]] = {name: [] for name in about}
    for path, operations in api["paths"].items():
        for method in (name for name in _METHODS if name in operations):
            tag = (operations[method].get("tags") or ["other"])[0]
            groups.setdefault(tag, []).append(_render_operation(method, path, operations[method]))
    title = f"{api['info']['title']} {api['info']['version']}: HTTP API"
    links = "".join(f'<li><a href="#tag-{escape(tag)}">{escape(tag)}</a> {len(groups[tag])}</li>' for tag in groups)
    parts = [
        _HEAD.format(title=escape(title)),
        f'<nav aria-label="Contents"><ul>{links}<li><a href="#schemas">schemas</a></li></ul></nav>\n<main>',
        f"<h1>{escape(title)}</h1>\n<p>Every request but those marked open needs the header "
        "<code>Authorization: Bearer TOKEN</code>. What is refused is answered with a problem document, below /v1 in "
        "OpenAI's form. Programs read the same description at "
        '<a href="/api/v1/openapi.json">/api/v1/openapi.json</a>. <a href="/">To the web page</a></p>',
    ]
    for tag, operations in groups.items():
        head = f'<h2 id="tag-{escape(tag)}">{escape(tag.capitalize())}</h2><p>{_prose(about.get(tag, ""))}</p>'
        parts += [f"<section>{head}", *operations, "</section>"]
    schemas = api.get("components", {}).get("schemas", {})
    parts += ['<section><h2 id="schemas">Schemas</h2>', *(_render_schema(name, schemas[name]) for name in schemas)]
    return "\n".join([*parts, "</section></main></body></html>\n"])


def describe_type(schema: Mapping[str, Any], link: Callable[[str], str], quote: Callable[[str], str]) -> str:
    """Return the type of a schema in words. ``link`` formats the name of a schema, ``quote`` a value of a choice."""
    if "$ref" in schema:
        return link(schema["$ref"].rsplit("/", 1)[1])
    if "enum" in schema or "const" in schema:
        return " or ".join(quote(str(value) or '""') for value in schema.get("enum", [schema.get("const")]))
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(describe_type(choice, link, quote) for choice in schema[several]))
    if schema.get("type") == "array":
        return f"list of {describe_type(schema.get('items', {}), link, quote)}"
    kind = schema.get("type") or schema.get("format", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _render_operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    text = operation.get("description") or operation.get("summary") or ""
    first, _, rest = text.strip().partition("\n\n")
    state = " <small>open</small>" if operation.get("security") == [] else ""
    lines = [
        f'<details><summary><b class="{method}">{method.upper()}</b> <code>{escape(path)}</code> '
        f'<span>{_prose(first)}</span>{state}</summary><div id="{escape(operation["operationId"])}">',
        f"<p>{_prose(rest)}</p>" if rest else "",
        f"<p>Operation <code>{escape(operation['operationId'])}</code></p>",
    ]
    parameters = [
        (f"<code>{escape(item['name'])}</code>", item["in"], _limited(item.get("schema", {})),
         "required" if item.get("required") else "", _prose(item.get("description", "")))
        for item in operation.get("parameters", ())
    ]  # fmt: skip
    lines += [*_table("Parameters", ("name", "in", "type", "", ""), parameters)]
    body = operation.get("requestBody", {}).get("content", {})
    bodies = [(f"<code>{escape(kind)}</code>", _limited(content.get("schema", {}))) for kind, content in body.items()]
    lines += [*_table("Body", ("media type", "type"), bodies)]
    lines.append(f"<pre>{escape(_example(method, path, body))}</pre>")
    replies = [
        (escape(status), _prose(answer.get("description", "")),
         ", ".join(f"{escape(kind)}: {_limited(content.get('schema', {}))}"
                   for kind, content in answer.get("content", {}).items()))
        for status, answer in operation["responses"].items()
        if not status.endswith("XX")
    ]  # fmt: skip
    return "".join([*lines, *_table("Replies", ("status", "meaning", "body"), replies), "</div></details>"])


def _render_schema(name: str, schema: Mapping[str, Any]) -> str:
    needed = schema.get("required", ())
    rows = [
        (f"<code>{escape(field)}</code>", _limited(value), "required" if field in needed else "",
         _prose(value.get("description", "")))
        for field, value in schema.get("properties", {}).items()
    ]  # fmt: skip
    about = f"<p>{_prose(schema.get('description', ''))}</p>" + ("" if rows else f"<p>{_limited(schema)}</p>")
    table = "".join(_table("Fields", ("name", "type", "", ""), rows))
    head = f"<summary><code>{escape(name)}</code></summary>"
    return f'<details>{head}<div id="schema-{escape(name)}">{about}{table}</div></details>'


def _table(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a table as HTML, or nothing without rows. The cells must be HTML already."""
    if rows:
        columns = "".join(f'<th scope="col">{head}</th>' for head in heads)
        yield f"<table><caption>{title}</caption><thead><tr>{columns}</tr></thead><tbody>"
        yield from ("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
        yield "</tbody></table>"


def _limited(schema: Mapping[str, Any]) -> str:
    """Return the type of a schema as HTML, with its limits and default."""
    notes = [text.format(schema[key]) for key, text in _LIMITS.items() if key in schema]
    if schema.get("default") not in (None, "", [], {}):
        notes.append(f"default {json.dumps(schema['default'], ensure_ascii=False)}")
    return describe_type(schema, _link, _quote) + "".join(f", {escape(note)}" for note in notes)


def _link(name: str) -> str:
    return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'


def _quote(value: str) -> str:
    return f"<code>{escape(value)}</code>"


def _prose(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(" ".join(text.split()), quote=False))


def _example(method: str, path: str, body: Mapping[str, Any]) -> str:
    """Return a curl command that sends a request with the example of its body."""
    lines = ['curl -H "Authorization: Bearer $TOKEN"']
    if method != "get":
        lines[0] += f" -X {method.upper()}"
    if "application/json" in body:
        example = json.dumps(body["application/json"].get("example", {}), ensure_ascii=False).replace("'", r"'\''")
        lines += [f" -H 'Content-Type: application/json' -d '{example}'"]
    elif "multipart/form-data" in body:
        lines += [" -F file=@report.pdf"]
    elif body:
        lines += [f" -H 'Content-Type: {next(iter(body))}' --data-binary @FILE"]
    return " \\\n ".join([*lines, f' "$SERVER{path}"'])
