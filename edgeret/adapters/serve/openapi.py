"""The table as OpenAPI 3.1, and as a page for people that loads nothing. Knows nothing of connections."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from edgeret import __version__
from edgeret.adapters.serve.kinds import fields, number, text
from edgeret.adapters.serve.table import ACTIONS, REMOVE, Action

_ERROR = fields(
    ("message", text(), "what is wrong, and how to go on", True),
    ("type", text(), "edgeret_serve", True),
    ("code", number(400, 599, whole=True), "the status", True),
    ("path", text(), "the field that is wrong, where one is"),
)
_REFUSED = fields(("error", _ERROR, "why not", True))
_NAME_PARAMETER = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "the tool's name, percent-encoded",
    "schema": {"type": "string"},
}


def document() -> dict[str, Any]:
    """The description of the interface: OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for action in ACTIONS:
        paths.setdefault(action.path, {})[action.method.lower()] = _operation(action)
    paths["/metrics"] = {"get": _plain("Counters and times, as Prometheus reads them.")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "edgeret",
            "version": __version__,
            "summary": "Decides which function an assistant calls next.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {"Refusal": _REFUSED},
            "securitySchemes": {"token": {"type": "apiKey", "in": "header", "name": "x-edgeret-token"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(action: Action) -> dict[str, Any]:
    name = "remove" if action is REMOVE else action.do
    refusal = {"$ref": "#/components/schemas/Refusal"}
    told: dict[str, Any] = {
        "operationId": name,
        "summary": action.told,
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {"schema": action.gives}}},
            "default": {"description": "Refused", "content": {"application/json": {"schema": refusal}}},
        },
    }
    if action is REMOVE:
        told["parameters"] = [_NAME_PARAMETER]
    if action.method == "POST":
        content: dict[str, Any] = {"schema": action.takes}
        if action.example is not None:
            content["example"] = action.example
        told["requestBody"] = {"required": True, "content": {"application/json": content}}
    return told


def _plain(told: str) -> dict[str, Any]:
    answer = {"description": "Text", "content": {"text/plain": {"schema": {"type": "string"}}}}
    return {"operationId": "metrics", "summary": told, "responses": {"200": answer}}


_SCRIPT = """
for (const form of document.forms) form.onsubmit = async event => {
  event.preventDefault();
  const out = form.querySelector("pre");
  try {
    const answer = await fetch(form.dataset.path, {method: form.dataset.method,
      headers: {"content-type": "application/json"}, body: form.elements.body?.value});
    out.textContent = JSON.stringify(await answer.json(), null, 1);
  } catch (error) { out.textContent = error; }
};
"""


def page() -> str:
    """A page that shows each thing to ask for, with a field to try it in."""
    parts = [_section(action) for action in ACTIONS]
    style = files("edgeret").joinpath("look.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>edgeret {__version__}</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<style>{style}</style><body class="page"><h1>edgeret {__version__}</h1>'
        '<p>Decides which function an assistant calls next. For programs: <a href="openapi.json">openapi.json</a>, '
        f'<a href="metrics">metrics</a>.</p>{"".join(parts)}<script>{_SCRIPT}</script></html>'
    )


def _section(action: Action) -> str:
    needed = action.takes.get("required", ())
    rows = "".join(
        f'<tr><td><code>{html.escape(name)}</code><td class="text">{_kind(kind)}'
        f'<td class="text">{html.escape(kind["description"])}{" (needed)" if name in needed else ""}'
        for name, kind in action.takes["properties"].items()
    )
    table = f'<div class="scroll"><table class="words">{rows}</table></div>' if rows else ""
    return (
        f"<h2><code>{action.method} {html.escape(action.path)}</code></h2>"
        f"<p>{html.escape(action.told)}</p>{table}{_form(action)}"
    )


def _form(action: Action) -> str:
    if action is REMOVE:
        return ""
    example = html.escape(json.dumps(action.example or {}, ensure_ascii=False))
    field = f'<textarea name="body" rows="3" aria-label="request">{example}</textarea>' if action.example else ""
    return (
        f'<form data-method="{action.method}" data-path="{action.path[1:]}">{field}'
        "<p><button>Try it</button></p><pre></pre></form>"
    )


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type", "text or object" if "oneOf" in schema else "any")
    inner = schema.get("items")
    return f"{kind} of {_kind(inner)}" if kind == "array" and inner else str(kind)
