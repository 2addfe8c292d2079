"""examples/app with real processes and a browser: a page, a server killed between offer and click, and silence."""

import os
import re
import runpy
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np

from reticent.core.validation import Validator
from reticent_serve.service import config as configs
from serve_tests import browser
from serve_tests.service.servers import Running, afterwards
from serve_tests.store.places import Place, contribution, total

APP = Path(__file__).parents[2] / "examples" / "app"
TOML = (APP / "serve.toml").read_text()
PHONE = "Mozilla/5.0 (Linux; Android 15) Mobile"


class Shop:
    """The page in a process of its own."""

    def __init__(self, folder, reticent):
        self.log, environment = folder / "shop", os.environ | {"RETICENT": reticent, "PORT": "0"}
        with open(self.log, "wb") as log:
            command = [sys.executable, APP / "app.py"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        while not (found := re.search(r"http://127.0.0.1:\d+", self.log.read_text())):
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        self.address = found[0]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def test_it_is_short():
    lines = [line for name in ("app.py", "page.html") for line in (APP / name).read_text().splitlines()]
    assert len(lines) < 150 and max(map(len, lines)) <= 120


def test_page_and_server_have_the_same_messages():
    shop, setting = runpy.run_path(str(APP / "app.py")), configs.convert(tomllib.loads(TOML)).bandits["shop"]
    assert tuple(shop["MESSAGES"]) == setting.schema.actions


def test_a_visitor_cannot_be_made_up():
    shop = runpy.run_path(str(APP / "app.py"))
    cookie = shop["signed"]("ada")
    assert shop["known"](cookie) == "ada"
    for other in ("ada", "ada.", f"{cookie}0", cookie.replace("ada", "bob"), "", "\u00fc.0"):
        assert shop["known"](other) not in ("ada", "bob", "")


def visit(chromium, shop, user_agent=None):
    """A new visitor, who sees the page: no error, nothing from elsewhere."""
    page = chromium.new_context(user_agent=user_agent, color_scheme="light").new_page()
    page.problems = []
    page.on("console", lambda line: page.problems.append(line.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda asked: asked.url.startswith(shop.address) or page.problems.append(asked.url))
    page.goto(shop.address)
    assert page.get_by_role("button").is_visible()
    return page


def title(page):
    return page.get_by_role("heading").inner_text()


def test_clicks_come_late_and_silence_counts(tmp_path):
    server = Running(tmp_path, TOML)
    shop = Shop(tmp_path, server.address)
    try:
        with browser.launched() as chromium:
            clicks, stays, away = (visit(chromium, shop, agent) for agent in (None, PHONE, None))
            seen = [title(page) for page in (clicks, stays)]
            clicks.reload()
            stays.reload()
            assert [title(page) for page in (clicks, stays)] == seen  # the same visitor on the same day
            server.kill()  # between the offer and the click
            away.context.clear_cookies()
            away.goto(shop.address)
            assert title(away) == "Delivered free this week"  # the page is there without reticent
            away.get_by_role("button").click()
            assert "We could not note it" in away.inner_text("main")
            server = Running(tmp_path, TOML, port=server.port)
            for _ in range(2):
                clicks.get_by_role("button").click()
                assert title(clicks) == "Good choice." and "Noted" in clicks.inner_text("main")
                clicks.get_by_role("link").click()
            assert title(clicks) == seen[0] and [page.problems for page in (clicks, stays, away)] == [[], [], []]
    finally:
        shop.stop()
        ended = server.stop()
    assert ended == 0
    check(tmp_path, seen)


def check(folder, seen):
    """What counts when the hour is over: one click, and two silences."""
    setting = configs.convert(tomllib.loads(TOML)).bandits["shop"]
    titles = ["Delivered free this week", "An evening of poems", "Join the reading circle", "A book chosen for you"]
    bandit = configs.build(setting, "shop")
    validator = Validator.of(bandit.one_pass(exact=True))
    desk, phone = (validator.offer({"device": device}).features for device in ("desk", "phone"))
    clicked = contribution(bandit, desk[titles.index(seen[0])], 1.0)
    silent = contribution(bandit, phone[titles.index(seen[1])], 0.0)
    place = Place(str(folder / "shop.db"), None)
    with place.open(bandit, reward={"window": None}, name="shop", clock=time.time) as stored:
        stored.tend()
        assert stored.choices == 3 and stored.entered == 0 and stored.window == 3600.0
    with afterwards(place, bandit, name="shop") as stored:
        others = [contribution(bandit, row, 0.0) for row in desk]
        assert any(np.array_equal(total(stored), clicked + silent + other) for other in others)
