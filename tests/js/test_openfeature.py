"""The OpenFeature SDKs of Node and of the web with their providers, as docs/openfeature.md uses them: with a real
server and a real browser."""

import contextlib
import hashlib
import http.server
import json
import os
import shutil
import tempfile
import threading
import urllib.request

import pytest

from tacit.holders.rows import REWARD, SHOWN
from tests.js import node
from tests.service.servers import KEYS, Running
from tests.service.test_openfeature import TOML, blocks, choices, written

LISTED = node.HERE / "openfeature"
CACHE = node.JS.parent / ".cache" / "openfeature"
NAMES = "/node_modules/@openfeature/"
IMPORTS = {
    "@openfeature/core": NAMES + "core/dist/esm/index.js",
    "@openfeature/web-sdk": NAMES + "web-sdk/dist/esm/index.js",
    "@openfeature/ofrep-web-provider": NAMES + "ofrep-web-provider/index.esm.js",
    "@openfeature/ofrep-core": NAMES + "ofrep-web-provider/node_modules/@openfeature/ofrep-core/index.esm.js",
    "tacit-device/openfeature": "/node_modules/tacit-device/dist/openfeature.js",
}


@pytest.fixture(scope="module")
def modules(package):
    """A folder with our package and OpenFeature's, in the versions of package-lock.json, which are kept in .cache."""
    lock = (LISTED / "package-lock.json").read_bytes()
    kept = CACHE / hashlib.sha256(lock).hexdigest()[:16]
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=CACHE)
        shutil.copytree(LISTED, fresh, dirs_exist_ok=True)
        node.run("npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", cwd=fresh)
        with contextlib.suppress(OSError):  # another test process was faster
            os.rename(fresh, kept)
        shutil.rmtree(fresh, ignore_errors=True)
    folder = package.parents[2] / "with-openfeature"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "@openfeature").symlink_to(kept / "node_modules" / "@openfeature")
    (folder / "node_modules" / "tacit-device").symlink_to(package.parent)
    return folder


@pytest.fixture
def server(tmp_path):
    running = Running(tmp_path, TOML)
    yield running
    running.stop()


def test_the_page_in_node_runs(server, modules, tmp_path):
    code = blocks("js")[0].replace("http://127.0.0.1:8321", server.address)
    more = """
    const wrong = async (flag, context) => (await client.getStringDetails(flag, "rest", context)).errorCode;
    const { targetingKey, ...nobody } = ada;
    const codes = [await wrong("nobody", ada), await wrong("health", nobody)];
    codes.push(await wrong("health", { ...ada, age: "old" }));
    client.track("purchase", ada, { value: 3 });
    client.track("health", ada, { value: 1 }); // whose?
    console.log(JSON.stringify(codes));
    """
    (modules / "program.mjs").write_text(code + more)
    printed = node.run("node", modules / "program.mjs", env={"TACIT_KEY": KEYS["app"]}).splitlines()
    name, propensity = printed[0].split()
    assert name in ("walk", "sleep") and 0 < float(propensity) <= 1
    assert json.loads(printed[1]) == ["FLAG_NOT_FOUND", "TARGETING_KEY_MISSING", "INVALID_CONTEXT"]
    assert choices(server) == 1 and written(server, tmp_path) == [(1, REWARD)]


class Shop(http.server.SimpleHTTPRequestHandler):
    """The application's own server: it adds the access key, and says who asks. The first message is lost."""

    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        imports = json.dumps({"imports": IMPORTS})
        more = "Object.assign(window, { client, OpenFeature });"
        script = f'<script type="importmap">{imports}</script><script type="module">{blocks("js")[1]}{more}</script>'
        return self._answer(200, f"<!doctype html><button></button>{script}".encode(), "text/html")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.world["asked"].append(self.headers.get("if-none-match"))
        if self.path.startswith("/ofrep/"):
            body["context"]["targetingKey"] = "key of ada in your table"
        elif self.path not in self.world["lost"]:
            self.world["lost"].add(self.path)
            return self._answer(503, b"{}")
        elif self.path.endswith("/activate"):
            self.world["activated"].add(body["id"])
        headers = {"authorization": f"Bearer {KEYS['app']}", "content-type": "application/json"}
        request = urllib.request.Request(self.world["address"] + self.path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as reply:
            assert reply.headers["etag"] is None
            return self._answer(reply.status, reply.read())

    def _answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def shop(server, modules):
    world = {"address": server.address, "asked": [], "lost": set(), "activated": set()}
    handler = type("Handler", (Shop,), {"world": world})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *given: handler(*given, directory=modules)) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_address[1]}", world
        found.shutdown()


def test_the_page_in_chromium_runs(server, shop, browser, tmp_path):
    address, world = shop
    page = browser.page.context.browser.new_page()
    page.goto(address)
    page.wait_for_function("window.client !== undefined")
    name = page.text_content("button")
    assert name in ("walk", "sleep") and choices(server) == 1
    read = (
        "() => { const found = client.getStringDetails('health', 'rest'); return [found.value, found.flagMetadata]; }"
    )
    first = page.evaluate(read)
    assert first[0] == name and set(first[1]) == {"id", "propensity", "deferred"}
    page.evaluate("OpenFeature.setContext({ age: 20, plan: 'paid' })")
    with page.expect_response("**/ofrep/**"):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.reload()
    page.wait_for_function("window.client !== undefined")
    assert page.evaluate(read) == first and choices(server) == 1  # context, tab and page are others: one choice
    assert set(world["asked"]) == {None} and page.evaluate("localStorage.length") == 0
    page.evaluate("OpenFeature.setContext({ age: 20, requestId: 'second product' })")
    assert choices(server) == 2 and world["activated"] == {first[1]["id"]}  # chosen, and not read
    second = page.evaluate(read)
    assert second[1]["id"] != first[1]["id"]
    with page.expect_response(lambda reply: reply.url.endswith("/reward") and reply.ok):
        page.click("button")
    page.evaluate("client.track('purchase', { value: 3 })")
    page.close()
    assert written(server, tmp_path) == sorted([(1, SHOWN), (2, SHOWN), (2, REWARD)])
