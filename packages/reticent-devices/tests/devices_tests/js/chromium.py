"""Tasks of replay.js in a real browser, with files of ours under http://localhost: a secure context, and no server."""

import contextlib
import json
from pathlib import Path

from serve_tests.browser import launched

PAGE = "http://localhost/page"
KINDS = {".js": "text/javascript", ".json": "application/json", ".html": "text/html"}


class Browser:
    """A page that finds folders of ours under their names."""

    def __init__(self, page, **folders):
        self.page, self.folders = page, folders
        page.route("http://localhost/**", self._answer)
        page.goto(PAGE)  # so that there is a storage

    def _answer(self, route):
        top, _, rest = route.request.url.removeprefix("http://localhost/").partition("/")
        path = Path(self.folders.get(top, "/nowhere")) / rest
        if route.request.url == PAGE:
            route.fulfill(body="<!doctype html>", content_type="text/html")
        elif path.is_file():
            route.fulfill(body=path.read_bytes(), content_type=KINDS.get(path.suffix, "text/plain"))
        else:
            route.fulfill(status=404)

    def __call__(self, folder, task, file):
        """What a task of replay.js with the modules in the folder returns of what is in the file, on a fresh page."""
        self.page.goto(PAGE)
        self.folders |= {folder.parent.name: folder.parent, "given": file.parent}
        script = """async ([folder, task, name]) => {
            const { done } = await import("/tests/replay.js");
            return done(folder, task, await (await fetch(`/given/${name}`)).json());
        }"""
        return json.loads(self.page.evaluate(script, [f"/{folder.parent.name}/{folder.name}", task, file.name]))


@contextlib.contextmanager
def opened(**folders):
    with launched() as browser:
        yield Browser(browser.new_page(), **folders)
