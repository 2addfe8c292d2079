"""/openapi.json says what the server does: its routes and no other, its statuses, and examples that it takes."""

import json
import re
from pathlib import Path

import pytest
from starlette.routing import Route

import reticent
from reticent_serve.service import app as application_module
from reticent_serve.service import errors, hot, ofrep, openapi
from reticent_serve.service.app import START
from serve_tests.service.servers import application, call

SOURCES = sorted(Path(application_module.__file__).parent.glob("*.py"))


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    made = application(tmp_path_factory.mktemp("openapi"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def with_fields(tmp_path_factory):
    """A bandit that takes the fields of the examples."""
    number, plan = {"kind": "Number", "low": 0, "high": 500}, {"kind": "Category", "values": ["free", "paid"]}
    fields = {"context": {"age": number, "plan": plan}, "action": {"minutes": number}}
    made = application(tmp_path_factory.mktemp("fields"), features=fields)
    yield made
    made.close()


@pytest.fixture(scope="module")
def document(app):
    ((status, headers, body),) = call(app, ("/openapi.json", None))
    assert status == 200 and headers[b"content-type"] == b"application/json"
    return json.loads(body)


def operations(document):
    return [(path, method, about) for path, item in document["paths"].items() for method, about in item.items()]


def fits(value, schema, document):
    """Whether JSON is as a schema says, as far as our schemas go; a word that is not known here is an error."""
    words = {"$ref", "anyOf", "type", "properties", "required", "additionalProperties", "items", "minLength", "enum"}
    words |= {"maxLength", "minimum", "maximum", "title", "description", "default", "discriminator", "prefixItems"}
    assert set(schema) <= words, set(schema) - words
    if "$ref" in schema:
        found = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return fits(value, found, document)
    if "anyOf" in schema:
        return any(fits(value, each, document) for each in schema["anyOf"])
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "boolean": bool}
    kind = schema.get("type")
    if "enum" in schema:
        return value in schema["enum"]
    if kind == "null" or kind is None:
        return kind is None or value is None
    if not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if kind == "object":
        known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
        return set(schema.get("required", ())) <= set(value) and all(
            fits(inner, known[key], document)
            if key in known
            else (fits(inner, other, document) if isinstance(other, dict) else other)
            for key, inner in value.items()
        )
    if kind == "array":
        return all(fits(inner, schema.get("items", {}), document) for inner in value)
    return True


def test_it_is_a_document_of_openapi(document):
    assert document["openapi"].startswith("3.1.") and document["info"]["title"] == "reticent"
    assert (
        document["info"]["version"] == reticent.__version__
    )  # of the code that serves, also in a checkout that moved on
    ids = [about["operationId"] for _, _, about in operations(document) if "operationId" in about]
    assert len(ids) == len(set(ids)) == len(hot.ROUTES) + len(application_module.SHOWN) + 1
    for path, _, about in operations(document):
        named = [given["name"] for given in about.get("parameters", ()) if given["in"] == "path" and given["required"]]
        assert re.findall(r"\{(\w+)\}", path) == named
        assert about["summary"] and all(reply["description"] for reply in about["responses"].values())
        assert all(set(one) <= set(document["components"]["securitySchemes"]) for one in about.get("security", ()))
    references = re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(document))
    assert set(references) == set(document["components"]["schemas"])


def here(path):
    return path.replace("{bandit}", "messages").replace("{flag}", "messages").replace("{file}", "docs.css")


def test_every_route_is_in_it_and_no_other(app, document):
    served = {(route.path, method.lower()) for route in app._slow.routes for method in route.methods - {"HEAD"}}
    served -= {(START + "{bandit}/{what}", "get")}
    served |= {(f"{START}{{bandit}}/{what}", "get") for what in application_module.SHOWN}
    served |= {(f"{START}{{bandit}}/{what}", "post") for what in hot.ROUTES}
    served |= {(ofrep.START + "{flag}", "post")}
    assert served == {(path, method) for path, method, _ in operations(document)}
    for path, method, about in operations(document):
        ((status, _, _),) = call(app, (here(path), None if method == "get" else b"{}"))
        assert str(status) in about["responses"] and (status not in (404, 405) or "{flag}" in path), path
        if len(document["paths"][path]) == 1:
            ((status, _, _),) = call(app, (here(path), b"{}" if method == "get" else None))
            assert status == 405, path


def test_a_route_without_a_line_is_an_error():
    with pytest.raises(KeyError, match="GET /other"):
        openapi.document(START, [Route("/other", lambda request: None)], ())


def test_roles_are_those_that_may(app, document):
    for path, _, about in operations(document):
        if path.startswith(ofrep.START):
            assert about["x-roles"] == ["app"]
            continue
        what = path.removeprefix(START + "{bandit}/").removeprefix("/v1").strip("/").partition("/")[0].partition(":")[0]
        expected = [role for role, may in openapi.MAY.items() if what in may]
        assert about.get("x-roles", []) == expected and ("security" in about) == bool(expected), path


def test_every_status_is_in_it(document):
    said = {int(found) for path in SOURCES for found in re.findall(r"Reply\((\d{3})", path.read_text())}
    assert said | {status for _, status, _ in errors.TABLE} == set(openapi.POSTING)
    for path, method, about in operations(document):
        found = {int(status) for status in about["responses"]}
        assert not path.startswith(START) or method == "get" or found == {200, *openapi.POSTING}, path
        for status in set(errors.AGAIN) & found:
            assert "Retry-After" in about["responses"][str(status)]["headers"]


def test_examples_are_taken_and_replies_are_as_described(app, with_fields, document):
    chosen = None
    for path, method, about in operations(document):
        if method == "post" and not path.startswith(START):
            continue  # a form of a page, which needs a key
        if path.endswith("/end-experiment"):
            continue  # there is none: serve_tests.service.test_trial
        if method == "get":
            ((status, headers, body),) = call(app, (here(path), None))
        else:
            ((_, given),) = about["requestBody"]["content"].items()
            for example in (one["value"] for one in given["examples"].values()):
                text = example if isinstance(example, str) else json.dumps(example)
                assert fits(json.loads(text), given.get("x-line", given["schema"]), document)
                where = with_fields if "context" in text else app
                ((status, headers, body),) = call(
                    where, (here(path), text.replace("the id of a choice", chosen or "").encode())
                )
                assert status == 200 and b'"error"' not in body, path
                chosen = chosen or json.loads(body)["id"]
        if status != 200:
            continue
        ((media, reply),) = about["responses"]["200"]["content"].items()
        assert media in ("*/*", headers[b"content-type"].decode().partition(";")[0])
        if media in (openapi.JSON, openapi.LINES):
            assert fits(json.loads(body), reply.get("x-line", reply["schema"]), document), path
    ((_, _, body),) = call(app, ("choose", {"arms": []}))
    assert fits(json.loads(body), {"$ref": "#/components/schemas/Refusal"}, document)
    assert not fits({"arms": [["1"]]}, {"$ref": "#/components/schemas/ChooseBody"}, document)
    assert not fits({"arms": [[1]], "other": 1}, {"$ref": "#/components/schemas/ChooseBody"}, document)


def test_the_page_shows_it_with_nothing_from_elsewhere(app, document):
    ((status, headers, body),) = call(app, ("/docs", None))
    text = body.decode()
    assert status == 200 and headers[b"content-security-policy"].startswith(b"default-src 'self'")
    assert [path for path in document["paths"] if f"<code>{path}</code>" not in text] == []
    assert [name for name in document["components"]["schemas"] if f'id="{name}"' not in text] == []
    linked = set(re.findall(r'(?:src|href)="([^"#]+)"', text))
    assert linked == {"data:,", "docs.css", "openapi.json"} and "<script" not in text and "style=" not in text
    ((status, _, style),) = call(app, ("/docs.css", None))
    assert status == 200 and b"url(" not in style and b"@import" not in style
