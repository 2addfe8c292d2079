"""Tasks of replay.js in a real browser, with files of ours under http://localhost: a secure context, and no server."""

import contextlib
import json
from pathlib import Path

from tests.browser import launched

PAGE = "http://localhost/page"
KINDS = {".js": "text/javascript", ".json": "application/json", ".html": "text/html"}


@contextlib.contextmanager
def opened(**folders):
    """(a page, the folders that it finds under their names: more may be added)."""

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
        yield page, folders


def task(page, folders, folder, name, file):
    """What a task of replay.js with the modules in the folder returns of what is in the file."""
    folders |= {folder.parent.name: folder.parent, "given": file.parent}
    script = """async ([folder, task, name]) => {
        const { done } = await import("/tests/replay.js");
        return done(folder, task, await (await fetch(`/given/${name}`)).json());
    }"""
    return json.loads(page.evaluate(script, [f"/{folder.parent.name}/{folder.name}", name, file.name]))
