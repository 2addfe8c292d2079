"""A page in a real browser as a device of two aggregators that are real processes."""

import functools
import http.server
import threading

import pytest

from tacit.roles.two import signed
from tests.browser import launched
from tests.js import node
from tests.service.roles.pair import Pair
from tests.service.roles.running import until


@pytest.mark.full
def test_a_page_is_a_device_of_two_aggregators(start, tmp_path):
    """It verifies the leader's billboard, and its report, sealed in Chromium, is the third that closes a step."""
    pair = Pair(start, tmp_path)
    pair.billboard()
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *said: None})
    files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(quiet, directory=str(node.JS)))
    threading.Thread(target=files.serve_forever, daemon=True).start()
    known = "&".join(f"{name}={one.hex()}" for name, one in pair.identities._asdict().items())
    with launched() as browser:
        page = browser.new_page()
        there = f"two=http://127.0.0.1:{pair.leader.port}&{known}&wait=300&jitter=200"
        page.goto(f"http://127.0.0.1:{files.server_port}/demo/?{there}")
        page.click("#choose")
        page.wait_for_selector("#like:enabled")
        page.click("#like")
        page.wait_for_selector("#like:disabled")
        page.wait_for_timeout(600)
        assert pair.send(b"".join(pair.reports(2)))[2] == b'{"taken":2}'
        page.click("#again")
        page.wait_for_selector("text=taken", timeout=60000)
    files.shutdown()
    files.server_close()
    until(lambda: signed.read(pair.billboard()).step == 1)
    assert pair.status(0)["users"] == 3
