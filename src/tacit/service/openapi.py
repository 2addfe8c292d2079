"""The description of all routes, `/openapi.json`: made from the structs that decode and the tables that answer."""

import importlib.metadata
import inspect
from collections.abc import Iterable
from typing import Any

import msgspec

from tacit.privacy.certificate import Certificate
from tacit.service import bodies, hot
from tacit.service.errors import AGAIN
from tacit.service.keys import MAY

JSON, LINES, TEXT, HTML = hot.JSON.decode(), hot.LINES.decode(), "text/plain", "text/html"
STATUSES = {
    400: "A body that ends too early.",
    401: "No key, or one that nobody knows.",
    403: "A key of another role.",
    404: "An unknown bandit, or an id that this bandit never gave out.",
    405: "Another method than POST.",
    408: "A body that comes too slowly.",
    409: "A request whose answer has expired, a person beyond the limit, or a state that does not allow it.",
    410: "A bandit whose rounds are used up.",
    413: "A body that is too long.",
    415: "A body that does not say that it is JSON.",
    422: "A broken rule; the text says which, never with what.",
    429: "The key's rate: come again after Retry-After seconds. Nothing was acknowledged.",
    500: "An error that nobody expected. Nothing was acknowledged.",
    503: "Too many wait, or no database: come again after Retry-After seconds. Nothing was acknowledged.",
}
READING = (401, 403, 404, 409, 429, 500, 503)
ASKED: dict[str, tuple[str, type[Any], type[Any], Any]] = {  # what is posted: summary, request, reply, example
    "choose": (
        "An arm for one person; on disk when it is answered.",
        bodies.ChooseBody,
        bodies.Chosen,
        {"request": "visit-17", "arms": {"hello": [1.0, 0.0, 0.0], "welcome": [0.0, 1.0, 0.0]}, "propensity": True},
    ),
    "reward": (
        "What came of a choice; on disk when it is acknowledged, and counted once.",
        bodies.RewardBody,
        bodies.Acknowledged,
        {"id": "the id of a choice", "reward": 1.0},
    ),
    "activate": (
        "A choice that was asked for as deferred has been shown; from now on it is learnt from.",
        bodies.ActivateBody,
        bodies.Acknowledged,
        {"id": "the id of a choice"},
    ),
}
SHOWN: dict[str, tuple[str, type[Any]]] = {  # what is shown of a bandit: summary, reply
    "certificate": ("What is guaranteed, recomputed from the noise in use.", Certificate),
    "status": ("Choices so far, releases, budget, population and events: nothing raw.", dict[str, Any]),
    "estimate": ("What choices are made by: functions of what was released.", dict[str, Any]),
    "history": ("The estimate and its intervals, release by release.", dict[str, Any]),
}
PAGES = {  # path: summary, media type, statuses other than 200, what a key must allow
    "/healthz": ("The process is alive.", TEXT, (), None),
    "/readyz": ("Every bandit serves by its last release.", TEXT, (503,), None),
    "/metrics": ("For Prometheus: public counts and releases.", TEXT, (401, 403, 429, 500), "metrics"),
    "/openapi.json": ("This description.", JSON, (), None),
    "/docs": ("This description, to read.", HTML, (), None),
    "/docs.css": ("What /docs looks like.", "text/css", (), None),
}


def document(start: str) -> dict[str, Any]:
    """start: of the paths of bandits."""
    kinds = [kind for _, *both, _ in ASKED.values() for kind in both] + [kind for _, kind in SHOWN.values()]
    listed, components = msgspec.json.schema_components(
        [*kinds, bodies.Refused], ref_template="#/components/schemas/{name}"
    )
    for schema in components.values():
        schema["description"] = inspect.cleandoc(schema.get("description", ""))
    schemas = dict(zip(map(str, [*kinds, bodies.Refused]), listed, strict=True))
    refused = schemas[str(bodies.Refused)]
    paths: dict[str, Any] = {}
    for route in hot.ROUTES:
        what, _, batch = route.partition(":")
        summary, given, reply, example = ASKED[what]
        paths[f"{start}{{bandit}}/{route}"] = {
            "post": {
                "operationId": route.replace(":", "_"),
                "summary": summary + (" One line each, in order; a bad line is refused alone." if batch else ""),
                **_allowed(what),
                "parameters": [BANDIT],
                "requestBody": {"required": True, "content": _content(schemas[str(given)], batch, example)},
                "responses": _responses(_content(schemas[str(reply)], batch, None, refused), STATUSES, refused),
            }
        }
    for what, (summary, kind) in SHOWN.items():
        paths[f"{start}{{bandit}}/{what}"] = {
            "get": {
                "operationId": what,
                "summary": summary,
                **_allowed(what),
                "parameters": [BANDIT],
                "responses": _responses({JSON: {"schema": schemas[str(kind)]}}, READING, refused),
            }
        }
    paths |= {path: {"get": _page(refused, *about)} for path, about in PAGES.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tacit",
            "version": importlib.metadata.version("tacit"),
            "description": ABOUT,
            "license": {"name": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


ABOUT = "Private contextual bandits. A server whose configuration has no keys asks for none."
BANDIT = {"name": "bandit", "in": "path", "required": True, "schema": {"type": "string"}}
ROWS = f"One JSON document a line, at most {hot.MOST_ROWS} lines."


def _content(schema: Any, batch: str, example: Any, refused: Any = None) -> dict[str, Any]:
    """A body, or for a batch a line of it; of a reply, a line may be a refusal."""
    if not batch:
        return {JSON: {"schema": schema} | ({} if example is None else {"example": example})}
    line = schema if refused is None else {"anyOf": [schema, refused]}
    text = "" if example is None else bodies.encode(example).decode() + "\n"
    found = {"schema": {"type": "string", "description": ROWS}, "x-line": line}
    return {LINES: found | ({"example": text} if text else {})}


def _page(refused: Any, summary: str, media: str, statuses: Iterable[int], what: str | None) -> dict[str, Any]:
    kind = "object" if media == JSON else "string"
    content = {media: {"schema": {"type": kind}}}
    return {"summary": summary, **_allowed(what), "responses": _responses(content, statuses, refused)}


def _allowed(what: str | None) -> dict[str, Any]:
    """Which roles may ask for it; without `what`, everyone."""
    if what is None:
        return {}
    return {"security": [{"key": []}], "x-roles": [role for role, may in MAY.items() if what in may]}


def _responses(content: dict[str, Any], statuses: Iterable[int], refused: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"200": {"description": "Done.", "content": content}}
    for status in statuses:
        out[str(status)] = {"description": STATUSES[status], "content": {JSON: {"schema": refused}}}
        if status in AGAIN:
            out[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}}
    return out
