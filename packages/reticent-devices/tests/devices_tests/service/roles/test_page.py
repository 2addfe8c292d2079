"""Roles and a real browser: dashboards that say what a role can see and what not, and a page that is a device."""

import functools
import http.server
import json
import threading

import numpy as np

from devices_tests.js import node
from devices_tests.service.roles import running
from devices_tests.service.roles.running import ask, until
from serve_tests.browser import launched


def test_dashboards_say_what_a_role_sees_and_follow_it(start):
    analyzer = start("analyzer", running.analyzer(40))
    shuffler, local = start("shuffler", running.shuffler(analyzer.port)), start("local", running.LOCAL)
    board, rng, wrong = running.billboard(shuffler.port), np.random.default_rng(0), []
    with launched() as browser:
        pages = {}
        for role, process in (("Analyzer", analyzer), ("Shuffler", shuffler), ("Local", local)):
            page = pages[role] = browser.new_page()
            page.on("console", lambda said: wrong.append(said.text))
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto(f"http://127.0.0.1:{process.port}/")
            assert page.inner_text("h1") == role and f"127.0.0.1:{process.port}" in page.inner_text(".about")
            assert f"127.0.0.1:{process.port}" in page.title()
            for heading in ("What it can see of people", "What it cannot see"):
                assert page.locator("section", has=page.get_by_role("heading", name=heading)).locator("li").count() >= 2
            assert "nobody observes which of them is displayed" in page.inner_text("main strong")
        for role in ("Analyzer", "Shuffler"):
            said = pages[role].locator("section", has_text="What epsilon rests on").inner_text()
            assert "an honest shuffler, and that none of a batch's reports come from the server" in said
        assert "number 0" in pages["Shuffler"].inner_text("#tiles")
        assert ask(shuffler.port, "POST", "/reports", b"".join(running.report(board, rng) for _ in range(40)))[0] == 200
        pages["Shuffler"].locator("#tiles", has_text="number 1").wait_for(timeout=15000)
        pages["Analyzer"].locator("#tiles", has_text="wants 60 reports").wait_for(timeout=15000)
        assert "Batch 0 was closed; its key is destroyed." in pages["Shuffler"].inner_text("#events")
    assert not wrong


def test_a_bandit_that_has_a_name_is_called_so(start):
    bad = "<script>films</script>"
    local = start("local", running.LOCAL.replace("[local]", f'[local]\nname = "{bad}"'))
    page = ask(local.port, "GET", "/dashboard")[2].decode()
    assert "<h1>&lt;script&gt;films&lt;/script&gt; · local</h1>" in page and page.count("<script") == 2
    assert f"<title>&lt;script&gt;films&lt;/script&gt; · local · 127.0.0.1:{local.port} · reticent</title>" in page
    assert f"LocalIRLS · 127.0.0.1:{local.port} · Learns from reports" in page
    assert json.loads(ask(local.port, "GET", "/status")[2])["name"] == bad


def test_a_page_is_a_device_among_others(start):
    analyzer = start("analyzer", running.analyzer(40))
    shuffler, local = start("shuffler", running.shuffler(analyzer.port)), start("local", running.LOCAL)
    board, rng = running.billboard(shuffler.port), np.random.default_rng(0)
    others = b"".join(running.report(board, rng) for _ in range(39))
    assert ask(shuffler.port, "POST", "/reports", others)[2] == b'{"taken":39}'
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *said: None})
    files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(node.JS)))
    threading.Thread(target=files.serve_forever, daemon=True).start()
    there = f"shuffler=http://127.0.0.1:{shuffler.port}&local=http://127.0.0.1:{local.port}"
    with launched() as browser:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{files.server_port}/demo/?{there}&wait=300&jitter=200")
        for number, model in enumerate(("shuffler", "local")):
            page.click(f"[data-model={model}]")
            page.click("#choose")
            page.wait_for_selector("#like:enabled")
            page.click("#like")
            page.wait_for_selector("#like:disabled")
            page.wait_for_timeout(600)  # past its deadline; it leaves when the page is opened again
            page.reload()
            taken = f"document.querySelector('#reports').innerText.split('taken').length === {number + 2}"
            page.wait_for_function(taken, timeout=60000)
    files.shutdown()
    files.server_close()
    until(lambda: b'"batch":1,"users":40,' in ask(analyzer.port, "GET", "/status")[2])  # the page's was the fortieth
    assert b'"users":1,' in ask(local.port, "GET", "/status")[2]
