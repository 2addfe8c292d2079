"""Tasks of replay.js in a real browser, with files of ours under http://localhost: a secure context, and no server."""

import contextlib
import json
from pathlib import Path

from tests.browser import launched
from tests.js import node

PAGE = "http://localhost/page"
KINDS = {".js": "text/javascript", ".json": "application/json", ".html": "text/html"}


@contextlib.contextmanager
def opened(**folders):
    """A page that finds each of the folders under its name."""

    def answer(route):
        top, _, rest = route.request.url.removeprefix("http://localhost/").partition("/")
        if top == "page":
            return route.fulfill(body="<!doctype html>", content_type="text/html")
        path = Path(folders.get(top, "/nowhere")) / rest
        if not path.is_file():
            return route.fulfill(status=404)
        return route.fulfill(body=path.read_bytes(), content_type=KINDS.get(path.suffix, "text/plain"))

    with launched() as browser:
        page = browser.new_page()
        page.route("http://localhost/**", answer)
        page.goto(PAGE)
        yield page


def run(folder, task, file):
    """What a task with the modules in the folder returns of what is in the file."""
    script = """async ([task, name]) => {
        const { done } = await import("/tests/replay.js");
        return done("/modules", task, await (await fetch(`/given/${name}`)).json());
    }"""
    with opened(tests=node.HERE, modules=folder, given=file.parent) as page:
        return json.loads(page.evaluate(script, [task, file.name]))
