"""`/docs`: the description of the routes as a page, without scripts. A stylesheet of its own, so that the page allows
nothing from elsewhere."""

import html
import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from reticent_serve.service import openapi

HEADERS = {
    "content-security-policy": "default-src 'self'; img-src data:",  # an icon that is empty
    "x-content-type-options": "nosniff",
}


def routes(start: str, others: Iterable[Route], shown: Iterable[str]) -> list[Route]:
    """What describes all routes, itself too, made once. It holds nothing of this server's own, so it needs no key."""
    texts: dict[str, tuple[str, str]] = {}

    async def answer(request: Request) -> Response:
        text, media = texts[request.scope["path"]]
        return Response(text, headers=HEADERS, media_type=media)

    own = [Route(path, answer) for path in ("/docs", "/docs.css", "/openapi.json")]
    document = openapi.document(start, [*others, *own], shown)
    texts["/docs"] = page(document), openapi.HTML
    texts["/docs.css"] = (
        resources.files("reticent_serve.service").joinpath("static", "docs.css").read_text(),
        "text/css",
    )
    texts["/openapi.json"] = json.dumps(document), openapi.JSON
    return own


def page(document: dict[str, Any]) -> str:
    info, text = document["info"], html.escape
    routes = [_route(path, *item) for path, methods in document["paths"].items() for item in methods.items()]
    schemas = [_schema(*item) for item in document["components"]["schemas"].items()]
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>reticent: routes</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="docs.css"><main>'
        f"<h1>{text(info['title'])} {text(info['version'])}</h1><p>{text(info['description'])} "
        '<a href="openapi.json">openapi.json</a></p>'
        f"<h2>Routes</h2>{''.join(routes)}<h2>Schemas</h2>{''.join(schemas)}</main></html>"
    )


def _route(path: str, method: str, route: dict[str, Any]) -> str:
    text = html.escape
    roles = f'<p class="roles">Roles: {text(", ".join(route["x-roles"]))}</p>' if "x-roles" in route else ""
    given = route.get("requestBody", {}).get("content", {})
    bodies = "".join(
        f"<p>Body: {text(media)} {_link(about.get('x-line', about['schema']))}</p>{_example(about)}"
        for media, about in given.items()
    )
    rows = "".join(
        f"<tr><th>{status}</th><td>{text(reply['description'])}</td><td>"
        + " ".join(
            _link(kind.get("x-line", kind["schema"])) or text(media) for media, kind in reply.get("content", {}).items()
        )
        + "</td></tr>"
        for status, reply in route["responses"].items()
    )
    return (
        f'<details><summary><b class="{method}">{method.upper()}</b> <code>{text(path)}</code> '
        f"<span>{text(route['summary'])}</span></summary>{roles}{bodies}<table>{rows}</table></details>"
    )


def _schema(name: str, schema: dict[str, Any]) -> str:
    rest = {key: value for key, value in schema.items() if key not in ("title", "description")}
    about = f"<h3>{html.escape(name)}</h3><p>{html.escape(schema['description'])}</p>"
    return f'<section id="{html.escape(name)}">{about}{_code(json.dumps(rest, indent=2))}</section>'


def _content(content: dict[str, Any]) -> str:
    return " ".join(_link(kind.get("x-line", kind["schema"])) or html.escape(media) for media, kind in content.items())


def _link(schema: dict[str, Any]) -> str:
    """To the schemas that it names."""
    names = [part["$ref"].rpartition("/")[2] for part in schema.get("anyOf", [schema]) if "$ref" in part]
    return " or ".join(f'<a href="#{html.escape(name)}">{html.escape(name)}</a>' for name in names)


def _example(about: dict[str, Any]) -> str:
    given = [example["value"] for example in about.get("examples", {}).values()]
    return "".join(_code(one if isinstance(one, str) else json.dumps(one)) for one in given)


def _code(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"
