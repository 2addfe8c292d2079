"""The description of all routes, `/openapi.json`: made from the structs that decode and the tables that answer."""

import inspect
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.routing import Route

from reticent import registry
from reticent.privacy.certificate import Certificate
from reticent_serve.service import bodies, hot, ofrep
from reticent_serve.service.errors import AGAIN
from reticent_serve.service.keys import MAY

JSON, LINES, TEXT, HTML = hot.JSON.decode(), hot.LINES.decode(), "text/plain", "text/html"
STATUSES = {
    303: "Elsewhere: the login, or the only bandit.",
    304: "The same as before.",
    400: "A body that ends too early.",
    401: "No key, or one that nobody knows.",
    403: "A key of another role.",
    404: "An unknown bandit, or an id that this bandit never gave out.",
    405: "Another method than the route takes.",
    408: "A body that comes too slowly.",
    409: "A request whose answer has expired, or a state that does not allow it.",
    410: "A bandit whose rounds are used up.",
    413: "A body that is too long.",
    415: "A body that does not say that it is JSON.",
    422: "A broken rule; the text says which, never with what.",
    429: "The key's rate: come again after Retry-After seconds. Nothing was acknowledged.",
    500: "An error that nobody expected. Nothing was acknowledged.",
    503: "Too many wait, or no database: come again after Retry-After seconds. Nothing was acknowledged.",
}
POSTING = tuple(status for status in STATUSES if status >= 400)
EVALUATING = tuple(status for status in POSTING if status not in ofrep.CODES or status == 404)
READING = (401, 403, 404, 409, 429, 500, 503)
PAGE = (401, 403, 404, 422, 429, 500)
ASKED: dict[str, tuple[str, dict[str, Any]]] = {  # what is posted: summary, examples
    "choose": (
        "An arm for one person; on disk when it is answered.",
        {
            "vectors": {
                "request": "visit-17",
                "arms": {"hello": [1.0, 0.0, 0.0], "welcome": [0.0, 1.0, 0.0]},
                "propensity": True,
            },
            "fields": {
                "request": "visit-18",
                "context": {"age": 71, "plan": "free"},
                "actions": {"walk": {"minutes": 20}, "sleep": {"minutes": 480}},
            },
        },
    ),
    "reward": (
        "What came of a choice; on disk when it is acknowledged, and counted once, when the choice's deadline has "
        "passed. A reward that comes after it is answered with late, and never counts.",
        {"a reward": {"id": "the id of a choice", "reward": 1.0}},
    ),
    "erase": (
        "What is still waiting of a person is deleted; the same answer whether or not there was anything.",
        {"a person": {"person": "ada"}},
    ),
    "end-experiment": (
        "The holdout ends, once and for good: later choices are all the bandit's, and what the trial said by "
        "then stands.",
        {"nothing": {}},
    ),
}
SHOWN: dict[str, tuple[str, type[Any]]] = {  # what is shown of a bandit: summary, reply
    "certificate": ("What is guaranteed, recomputed from the noise in use.", Certificate),
    "status": (
        "Choices so far, how many of them have entered, after how many seconds they do (window), releases and about "
        "when the next is due, what people get before the first, budget with its unit and neighbours, what the holdout "
        "says, and events: nothing raw.",
        dict[str, Any],
    ),
    "estimate": ("What choices are made by: functions of what was released.", dict[str, Any]),
    "history": ("The estimate and its intervals, release by release.", dict[str, Any]),
    "segments": (
        "Where sums are by fields: what chosen actions, random ones and the best single one earn, and what each action "
        "earns from people with each value of a field, with intervals. Null before the first release, and elsewhere.",
        dict[str, Any],
    ),
}
PAGES: dict[str, tuple[str, int, str | None, tuple[int, ...], str | None]] = {
    # summary, status and media type where all is well, other statuses, what a key must allow
    "GET /": ("To the dashboard.", 303, None, (), None),
    "GET /v1/bandits": ("The names of this server's bandits.", 200, JSON, (401, 429, 500), "bandits"),
    "GET /healthz": ("The process is alive.", 200, TEXT, (), None),
    "GET /readyz": ("Every bandit serves by its last release.", 200, TEXT, (503,), None),
    "GET /metrics": ("For Prometheus: public counts and releases.", 200, TEXT, (401, 403, 429, 500), "metrics"),
    "GET /openapi.json": ("This description.", 200, JSON, (), None),
    "GET /docs": ("This description, to read.", 200, HTML, (), None),
    "GET /docs.css": ("What /docs looks like.", 200, "text/css", (), None),
    "GET /dashboard": ("All bandits; where there is one, that one.", 200, HTML, (303, *PAGE), "dashboard"),
    "GET /dashboard/{bandit}": ("Is it better, for whom, and what is promised.", 200, HTML, (303, *PAGE), "dashboard"),
    "GET /assets/{file}": ("What the dashboard's pages load.", 200, "*/*", (304, 404), None),
    "GET /login": ("Where a reader of the dashboard gives a key.", 200, HTML, (), None),
    "POST /login": ("A key for a cookie, for the dashboard.", 204, None, (400, 408, 413, 415, *PAGE), None),
    "POST /logout": ("The cookie is taken back.", 204, None, (400, 408, 413, 415), None),
}
FLAG_EXAMPLE = {"context": {"targetingKey": "ada", "age": 71, "plan": "free"}}
BODIES = {"/login": {"key": {"type": "string"}}, "/logout": {}}  # of what pages post


def document(start: str, served: Iterable[Route], shown: Iterable[str]) -> dict[str, Any]:
    """served: the routes that there are, each of which needs its line in the tables above. start: of the paths of
    bandits. shown: what GET shows of them."""
    listed: dict[str, Any] = {what: getattr(bodies, _body(what)) for what in hot.ROUTES}
    listed |= {what: SHOWN[what][1] for what in shown}
    kinds = [*listed.values(), bodies.Chosen, bodies.Erased, bodies.Acknowledged, bodies.Refusal]
    kinds += [ofrep.EvaluateBody, ofrep.Evaluated, ofrep.Failed]
    found, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    for schema in components.values():
        schema["description"] = inspect.cleandoc(schema.get("description", ""))
    *given, chosen, erased, acknowledged, refused, evaluate, evaluated, failed = found
    replies = {"choose": chosen, "erase": erased}
    schemas = dict(zip(listed, given, strict=True))
    paths: dict[str, Any] = {}
    for route in hot.ROUTES:
        what, _, batch = route.partition(":")
        summary, examples = ASKED[what]
        reply = replies.get(what, acknowledged)
        paths[f"{start}{{bandit}}/{route}"] = {
            "post": {
                "operationId": re.sub("[:-]", "_", route),
                "summary": summary + (" One line each, in order; a bad line is refused alone." if batch else ""),
                **_allowed(what),
                "parameters": _parameters("{bandit}"),
                "requestBody": {"required": True, "content": _content(schemas[route], batch, examples)},
                "responses": _responses(200, _content(reply, batch, {}, refused), POSTING, refused),
            }
        }
    for what in shown:
        paths[f"{start}{{bandit}}/{what}"] = {
            "get": {
                "operationId": what,
                "summary": SHOWN[what][0],
                **_allowed(what),
                "parameters": _parameters("{bandit}"),
                "responses": _responses(200, {JSON: {"schema": schemas[what]}}, READING, refused),
            }
        }
    paths[ofrep.START + "{flag}"] = _flag(evaluate, evaluated, failed)
    for one in served:
        for method in sorted((one.methods or set()) - {"HEAD"}):
            paths.setdefault(one.path, {})[method.lower()] = _page(one.path, refused, *PAGES[f"{method} {one.path}"])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "reticent",
            "version": registry.load("reticent", "__version__"),
            "description": ABOUT,
            "license": {"name": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _body(route: str) -> str:
    """The name of the struct that decodes it."""
    return route.split(":")[0].title().replace("-", "") + "Body"


ABOUT = "Private contextual bandits. A server whose configuration has no keys asks for none."
ROWS = f"One JSON document a line, at most {hot.MOST_ROWS} lines."


def _flag(evaluate: Any, evaluated: Any, failed: Any) -> dict[str, Any]:
    return {
        "post": {
            "operationId": "evaluate_flag",
            "summary": "OpenFeature's evaluation of a flag, which is a bandit whose schema names its actions: a "
            "choice, on disk when it is answered.",
            **_allowed("choose"),
            "parameters": _parameters("{flag}"),
            "requestBody": {"required": True, "content": _content(evaluate, "", {"a person": FLAG_EXAMPLE})},
            "responses": _responses(200, {JSON: {"schema": evaluated}}, EVALUATING, failed),
        }
    }


def _content(schema: Any, batch: str, examples: dict[str, Any], refused: Any = None) -> dict[str, Any]:
    """A body, or for a batch a line of it; of a reply, a line may be a refusal."""
    line = schema if refused is None else {"anyOf": [schema, refused]}
    found = {"schema": {"type": "string", "description": ROWS}, "x-line": line} if batch else {"schema": schema}
    written = {name: bodies.encode(one).decode() + "\n" if batch else one for name, one in examples.items()}
    if written:
        found["examples"] = {name: {"value": one} for name, one in written.items()}
    return {LINES if batch else JSON: found}


def _page(
    path: str, refused: Any, summary: str, done: int, media: str | None, statuses: Iterable[int], what: str | None
) -> dict[str, Any]:
    kind = "object" if media == JSON else "string"
    content = {} if media is None else {media: {"schema": {"type": kind}}}
    out = {"summary": summary, **_allowed(what), "responses": _responses(done, content, statuses, refused)}
    if parameters := _parameters(path):
        out["parameters"] = parameters
    if path in BODIES and media is None:
        schema = {"type": "object", "properties": BODIES[path], "required": list(BODIES[path])}
        out["requestBody"] = {"required": True, "content": {JSON: {"schema": schema}}}
    return out


def _parameters(path: str) -> list[dict[str, Any]]:
    names = re.findall(r"\{(\w+)\}", path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _allowed(what: str | None) -> dict[str, Any]:
    """Which roles may ask for it; without `what`, everyone."""
    if what is None:
        return {}
    return {"security": [{"key": []}], "x-roles": [role for role, may in MAY.items() if what in may]}


def _responses(done: int, content: dict[str, Any], statuses: Iterable[int], refused: Any) -> dict[str, Any]:
    out: dict[str, Any] = {str(done): {"description": "Done.", **({"content": content} if content else {})}}
    for status in statuses:
        said = {"content": {JSON: {"schema": refused}}} if status >= 400 else {}
        out[str(status)] = {"description": STATUSES[status], **said}
        if status in AGAIN:
            out[str(status)]["headers"] = {"Retry-After": {"schema": {"type": "integer", "minimum": 1}}}
    return out
