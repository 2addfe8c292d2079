"""The outbox in a real Chromium, with servers that are real: killed by kill -9, in several tabs at once, on http
without locks, in a service worker. Whatever happens, one choice is one
report: the same bytes, and the browser still shows them."""

import functools
import http.server
import json
import os
import signal
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from devices_tests.js import node
from devices_tests.roles.boards import published
from serve_tests import browser as found

PROGRAM = """
import { LocalClient } from "/src/index.js";
import { Outbox, get, post } from "/src/outbox.js";
export const board = () => get("/board");
export const made = (options) => new Outbox({
  open: (board) => new LocalClient(board, { publicArms: true }),
  send: post("/reports"), wait: 1, jitter: 1, weekly: 1000, lifetime: { epsilon: 1e4 },
  resident: true, ...options,
});
export const hex = (bytes) => bytes && Array.from(bytes, (v) => v.toString(16).padStart(2, "0")).join("");
export const choose = async (outbox) => outbox.choose(await board(), [[0.6, 0], [0, 0.9]]);
export const pause = (ms) => new Promise((done) => setTimeout(done, ms));
"""
KILLED = """<!doctype html><script type="module">
import { choose, hex, made, pause } from "/program.js";
const outbox = made();
await outbox.flush();
const shown = (await outbox.shown()).map(({ report, taken }) => [hex(report), taken]);
await fetch("/told", { method: "POST", body: JSON.stringify({ shown, spent: await outbox.spent() }) });
await choose(outbox);
await pause(5);
await outbox.flush();
</script>"""
WORKER = """
import { choose, hex, made, pause } from "/program.js";
const work = async () => {
  const outbox = made();
  await outbox.reward((await choose(outbox)).id, 1);
  await pause(5);
  await outbox.flush();
  return (await outbox.shown()).map(({ report }) => hex(report));
};
onmessage = async (event) => event.ports[0].postMessage(await work().catch((error) => error.message));
"""
FILES = {
    "/": ("<!doctype html>", "text/html"),
    "/killed": (KILLED, "text/html"),
    "/program.js": (PROGRAM, "text/javascript"),
    "/worker.js": (WORKER, "text/javascript"),
}


class Handler(http.server.SimpleHTTPRequestHandler):
    """The package's files, a billboard, and a server of reports, whose `answer` to new ones the test gives."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/board":
            self.world.asked.append(self.headers.get("if-none-match"))
            return self._answer(200, self.world.board, etag='"a person"', cache_control="no-cache")
        if self.path in FILES:
            text, kind = FILES[self.path]
            return self._answer(200, text.encode(), content_type=kind)
        return super().do_GET()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path == "/told":
            self.world.told.append(json.loads(body))
            return self._answer(200, b"")
        known = body.hex() in self.world.got
        self.world.got.append(body.hex())
        say = functools.partial(self._answer, body=b"{}")
        return say(200) if known else self.world.answer(say)

    def _answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in {**headers, "content_length": len(body)}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said):
        pass


@pytest.fixture
def world():
    """ids: where they are in a report, in hexadecimal digits."""
    made = SimpleNamespace(asked=[], told=[], got=[], answer=lambda say: say(200))
    made.board, made.ids = published("irls-public")[1], slice(2, 18)
    kind = type("One", (Handler,), {"world": made})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(kind, directory=str(node.JS)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made.port = server.server_port
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def executable(browser):
    return found.find(SimpleNamespace(chromium=browser.page.context.browser.browser_type))


def until(condition):
    for _ in range(20_000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("Expected Chromium to come so far within 100 s.")


def test_after_kill_9_only_the_bytes_on_the_disc_leave(world, executable, tmp_path):
    """Chromium is killed while the server keeps its answer back, and as soon as it has answered. What localStorage
    holds then is some seconds old: the report is lost, or made again with other noise."""
    command = [executable, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"]
    command += [f"--user-data-dir={tmp_path}", f"http://127.0.0.1:{world.port}/killed"]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    for count, answer in enumerate((lambda say: time.sleep(60), lambda say: say(200), lambda say: time.sleep(60))):
        world.answer = answer
        with subprocess.Popen(command, **silent) as process:  # the page tells what it shows, and chooses
            try:
                until(lambda count=count: len(world.told) > count and len(set(world.got)) > count)
            finally:
                os.killpg(process.pid, signal.SIGKILL)
    last = world.told[-1]
    assert [report for report, _ in last["shown"]] == list(dict.fromkeys(world.got))[:2]
    assert all(taken for _, taken in last["shown"]) and last["spent"]["epsilon"] == pytest.approx(2, rel=1e-6)
    assert len(world.told) == len(set(world.got)) == len({report[world.ids] for report in world.got}) == 3  # ids
    assert set(world.asked) == {None}  # no ETag comes back, after a restart


CHOICES = 8
TAB = """async (count) => {
  const { choose, made, pause } = await import("/program.js");
  const outbox = made();
  const timer = setInterval(() => outbox.flush(), 3);
  for (let i = 0; i < count; i++) await outbox.reward((await choose(outbox)).id, 1);
  await pause(5);
  clearInterval(timer);
  await outbox.flush();
}"""
SHOWN = """async () => {
  const { hex, made } = await import("/program.js");
  await made().flush();
  const shown = (await made().shown()).map(({ report, taken }) => [hex(report), taken]);
  return [isSecureContext, shown, await made().spent()];
}"""


def test_tabs_of_one_site_make_each_report_once(world, browser, executable):
    """Two tabs with locks and five without choose and flush at once: no choice is lost or becomes two reports."""
    rules = ["--no-sandbox", "--host-resolver-rules=MAP device.test 127.0.0.1"]
    with browser.page.context.browser.browser_type.launch(executable_path=executable, args=rules) as other:
        context = other.new_context()
        for host, count in (("127.0.0.1", 2), ("device.test", 5)):
            world.got.clear()
            tabs = [context.new_page() for _ in range(count)]
            for tab in tabs:
                tab.goto(f"http://{host}:{world.port}/")
                tab.evaluate(f"() => void (window.done = ({TAB})({CHOICES}))")
            for tab in tabs:
                tab.evaluate("() => window.done")
            secure, shown, spent = tabs[0].evaluate(SHOWN)
            assert secure == (count == 2) and len(shown) == count * CHOICES
            assert {report for report, _ in shown} == set(world.got) and all(taken for _, taken in shown)
            assert len({report[world.ids] for report in world.got}) == count * CHOICES
            assert spent["epsilon"] == pytest.approx(count * CHOICES, rel=1e-6)
            assert [entry["count"] for entry in spent["entries"]] == [count * CHOICES]
    assert set(world.asked) == {None}  # an ETag that came back would be a cookie


def test_what_was_fetched_ahead_is_displayed_without_a_request(world, browser):
    """Python's asks for the same, in the same order."""
    page, asked = browser.page.context.browser.new_page(), []
    page.goto(f"http://127.0.0.1:{world.port}/")
    page.on("request", lambda request: asked.append(request.url))
    urls = {name: f"http://127.0.0.1:{world.port}/{name}" for name in ["build.js", "package.json", "README.md"]}
    shown = page.evaluate(
        """async ([urls, chosen]) => {
          const { prefetch } = await import("/src/outbox.js");
          const ahead = await prefetch(urls);
          const { promise, resolve } = Promise.withResolvers();
          const frame = Object.assign(document.createElement("iframe"), { src: ahead[chosen], onload: resolve });
          document.body.append(frame);
          await promise;
          return frame.contentDocument.body.textContent;
        }""",
        [urls, "package.json"],
    )
    assert [url for url in asked if url in urls.values()] == list(urls.values()) and "reticent-device" in shown
    page.close()


def test_a_service_worker_has_the_same_outbox(world, browser):
    page = browser.page.context.browser.new_page()
    page.goto(f"http://127.0.0.1:{world.port}/")
    told = page.evaluate(
        """async () => {
          await navigator.serviceWorker.register("/worker.js", { type: "module" });
          const { active } = await navigator.serviceWorker.ready;
          const { port1, port2 } = new MessageChannel();
          return new Promise((done) => {
            port1.onmessage = ({ data }) => done(data);
            active.postMessage(null, [port2]);
          });
        }"""
    )
    assert told == world.got and len(told) == 1
    page.evaluate("localStorage.reticent = 'what release 0.6.0 kept'")
    assert [report for report, _ in page.evaluate(SHOWN)[1]] == told and page.evaluate("localStorage.reticent") is None
    strict = """async () => {
      const { transaction } = IDBDatabase.prototype;
      const begun = [];
      IDBDatabase.prototype.transaction = function (...given) {
        begun.push(transaction.apply(this, given));
        return begun.at(-1);
      };
      const { choose, made } = await import("/program.js");
      await choose(made());
      return begun.map((one) => one.durability);
    }"""
    assert page.evaluate(strict) == ["strict"]  # in the operating system's memory would not outlive a loss of power
    page.context.close()
