"""The page that is a device: a person clicks, one report leaves at its time, and the page shows those very bytes."""

import functools
import http.server
import threading
import time

import pytest

from devices_tests.js import node
from reticent import Budget, Reward
from reticent_devices import LocalIRLS, ShuffleNewton, Shuffler

WAIT, JITTER = 800, 400  # milliseconds


class Handler(http.server.SimpleHTTPRequestHandler):
    """The page's files, and two servers: /local and /shuffler."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        name = self.path.strip("/").partition("/")[0]
        if name not in self.servers:
            return super().do_GET()
        self.servers[name]["asked"].append(time.time())
        return self._answer(200, self.servers[name]["board"])

    def do_POST(self):
        name = self.path.strip("/").partition("/")[0]
        self.servers[name]["got"].append((time.time(), self.rfile.read(int(self.headers["content-length"]))))
        return self._answer(200, b"{}")

    def _answer(self, status, body):
        self.send_response(status)
        self.send_header("access-control-allow-origin", "*")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *said):
        pass


@pytest.fixture(scope="module")
def servers():
    """By name: its billboard, when it was asked for it, and when it got what."""
    local = LocalIRLS(3, Budget(4.0, 1e-6), Reward(radius=3.0))
    newton = ShuffleNewton(3, Budget(1.0, 1e-6), first=1000)
    public = LocalIRLS(3, Budget(4.0, 1e-6), public_arms=True)
    both = {"local": local, "shuffler": newton, "clear": public}
    made = {name: {"board": one.billboard(), "asked": [], "got": []} for name, one in both.items()}
    kind = type("One", (Handler,), {"servers": made})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(kind, directory=str(node.JS)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {**made, "address": f"http://127.0.0.1:{server.server_port}", "server": local, "public": public}
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(servers, browser):
    address = servers["address"]
    query = f"local={address}/local&shuffler={address}/shuffler&wait={WAIT}&jitter={JITTER}"
    made, errors = browser.page.context.browser.new_page(), []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.goto(f"{address}/demo/?{query}")
    yield made
    made.close()
    assert not errors


def test_a_person_sees_what_was_sent(servers, page):
    page.click("#choose")
    page.wait_for_selector("#like:enabled")
    page.click("#like")
    page.wait_for_selector("#like:disabled")
    page.click("[data-model=shuffler]")
    page.click("#choose")  # and nothing is said about this one
    page.wait_for_function("document.querySelectorAll('#reports tr').length === 2")
    page.wait_for_timeout(WAIT + JITTER)
    assert not servers["local"]["got"] and not servers["shuffler"]["got"]  # never in the visit of the choice
    page.click("#again")
    page.wait_for_function("document.querySelectorAll('#reports code').length === 2")
    page.wait_for_function("document.querySelectorAll('#reports')[0].innerText.split('taken').length === 3")
    shown = page.eval_on_selector_all("#reports code", "all => all.map((one) => one.textContent)")
    page.reload()
    page.wait_for_function("document.querySelectorAll('#reports code').length === 2")
    text = page.inner_text("main")
    page.click("#forget")
    page.wait_for_function("document.querySelectorAll('#reports tr').length === 0")
    told = "document.querySelector('#account').textContent.includes('2 reports left this device')"
    page.wait_for_function(told)  # what was told is not forgotten
    sent = [report.hex() for name in ("shuffler", "local") for _, report in servers[name]["got"]]
    assert sent == shown and "1 of at most 20 choices" in text
    for name in ("local", "shuffler"):  # not at the click
        assert servers[name]["got"][0][0] - servers[name]["asked"][0] >= WAIT / 1000
    servers["server"].observe(servers["local"]["got"][0][1])
    Shuffler(servers["shuffler"]["board"]).add(servers["shuffler"]["got"][0][1])


def test_the_page_says_what_its_reports_protect(servers, browser):
    """A server that asks for arms in the clear: refused, and nothing leaves; or, where the page's own address allows
    it, the page says that what is shown is sent, and claims nothing of it."""
    address, sent = servers["address"], len(servers["clear"]["got"])
    for leave, expected in (("", "one with arms in the clear"), ("&arms=public", "sent as it is")):
        page = browser.page.context.browser.new_page()
        page.goto(f"{address}/demo/?local={address}/clear&wait={WAIT}&jitter={JITTER}{leave}")
        page.click("#choose")
        page.wait_for_function(f"document.querySelector('main').textContent.includes('{expected}')")
        if leave:
            page.wait_for_selector("#like:enabled")
            page.wait_for_timeout(WAIT + JITTER)
            page.click("#again")
            page.wait_for_selector("text=taken")
        text = page.inner_text("main")
        page.close()
        assert len(servers["clear"]["got"]) == sent + bool(leave)
        assert ("any person could have sent these very bytes" in text) == (not leave)
        assert ("What you were shown is in the report as it is" in text) == bool(leave)
        assert "which no report holds as it is" in text
    servers["public"].observe(servers["clear"]["got"][-1][1])


def test_the_page_adds_up_what_left_whatever_the_last_billboard_says(servers, page):
    """Five choices at epsilon 4, then a billboard at .1, by which the page once said "at most 65 % sure, all 6"."""
    honest = servers["local"]["board"]
    try:
        for number in range(6):
            if number == 5:
                servers["local"]["board"] = LocalIRLS(3, Budget(0.1, 0.0), Reward(radius=3.0)).billboard()
            page.click("#choose")
            page.wait_for_function(f"document.querySelectorAll('#reports tr').length === {number + 1}")
        for _ in range(2):
            page.wait_for_function("document.querySelector('#account').textContent.includes('6 reports left')")
            said = page.inner_text("#account")
            assert "epsilon = 20.1 of at most 200" in said and "Left: epsilon = 180." in said
            assert "at most 100.0 % of the time" in said and "everything is fetched ahead" in said
            assert page.get_attribute("#account meter", "title") == "ε, added up, = 20.1 of 200"
            page.reload()
    finally:
        servers["local"]["board"] = honest
    bold = page.inner_text("strong")
    assert "nobody observes what is displayed" in bold and "fetched with this page" in bold
