"""The dashboard in a real browser: it appears, so does a release, nothing comes from elsewhere, nothing is wrong."""

import json
import time
from types import MappingProxyType

import numpy as np
import pytest

from serve_tests import browser as browsers
from serve_tests.service.servers import KEYS, TOML, Running, askers

BAD = "<img src=x onerror=alert(1)><script>alert(1)</script>"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "color_scheme": "dark"}
OPEN = f"""
[bandits.messages]
kind = "joint-glm"
features = 3
budget = {{epsilon = 20.0, delta = 1e-5}}
reward = {{window = "0.5 seconds"}}
database = "bandit.db"
delay = 0.1
coordinates = ["{BAD}", "a feature with a rather long name", "x"]
[bandits.messages.profiles."{BAD}".arms]
"{BAD}" = [1.0, 0.0, 0.0]
"an arm whose name is somewhat longer than others" = [0.0, 1.0, 0.0]
"""
FIELDS = f"""
[bandits.messages]
kind = "joint-glm"
budget = {{epsilon = 60.0, delta = 1e-5}}
database = "bandit.db"
delay = 0.1
reward = {{window = "0.5 seconds", default = 0.0}}
holdout = {{share = 0.5, action = "mail", actions = ["call"]}}
[bandits.messages.features]
arms = "disjoint"
actions = ["mail", "call", "a rather long name of an action"]
[bandits.messages.features.context]
"{BAD}" = {{kind = "Category", values = ["free", "somewhat longer than free", "{BAD}"]}}
age = {{kind = "Number", low = 0, high = 80, bins = 3}}
"""
KEYED = TOML + "".join(
    "[[keys]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in asker.items()) for asker in askers()
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("open"), OPEN)
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def by_fields(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("fields"), FIELDS)
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    running = Running(tmp_path_factory.mktemp("keyed"), KEYED)
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def browser():
    with browsers.launched() as found:
        yield found


@pytest.fixture
def visit(browser):
    """Opens a page; at the end, nothing came from elsewhere and nothing went wrong."""
    contexts, asked, wrong = [], [], []

    def go(address, **options):
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message) or dialog.dismiss())
        page.goto(address)
        return page

    go.asked, go.wrong = asked, wrong
    yield go
    for context in contexts:
        context.close()
    assert wrong == []


def play(server, count, ask=MappingProxyType({"arms": np.eye(3).tolist()})):
    rows = "\n".join(json.dumps(dict(ask)) for _ in range(count))
    _, _, text = server.ask("POST", "/v1/bandits/messages/choose:batch", rows)
    rewards = [json.dumps({"id": json.loads(line)["id"], "reward": 1}) for line in text.splitlines()]
    server.ask("POST", "/v1/bandits/messages/reward:batch", "\n".join(rewards))


def released(server):
    return json.loads(server.ask("GET", "/v1/bandits/messages/status")[2])["version"]


def next_release(server, **asked):
    """Until one more is visible; its number."""
    before, until = released(server), time.monotonic() + 120
    while released(server) == before and time.monotonic() < until:
        play(server, 10, **asked)
        time.sleep(0.05)
    return released(server)


def test_it_appears_and_shows_a_release_by_itself(server, visit):
    next_release(server)
    page = visit(server.address + "/dashboard")
    page.wait_for_selector("#plot[data-drawn] canvas", timeout=120_000)
    assert page.inner_text("h1") == "messages" and page.url.endswith("/dashboard/messages")
    version = next_release(server)
    until, drawn = time.monotonic() + 120, 0
    while drawn < version and time.monotonic() < until:
        page.wait_for_timeout(50)
        drawn = int(page.get_attribute("#plot", "data-drawn"))
    assert drawn >= version and int(page.inner_text("#releases")) >= version
    assert "in " in page.inner_text("#tiles") and "choice" in page.inner_text("#tiles")
    assert visit.asked and all(url.startswith(server.address + "/") for url in visit.asked)


def test_pointing_at_the_plot_says_what_is_there(server, visit):
    next_release(server)
    page = visit(server.address + "/dashboard/messages")
    page.wait_for_selector("#plot canvas")
    box = page.locator("#plot .u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 40)
    page.wait_for_selector("#point >> text=/^Release \\d/")
    picture = "document.querySelector('#plot canvas').toDataURL()"
    before = page.evaluate(picture)
    page.hover("#weights tbody tr:first-child")
    page.wait_for_timeout(100)
    assert page.evaluate(picture) != before  # its curve and band stand out


def test_names_are_text_whatever_they_are(server, visit):
    page = visit(server.address + "/dashboard/messages")
    page.wait_for_load_state("networkidle")
    for place in ("#weights", "#profiles"):
        assert BAD in page.inner_text(place)
    assert page.locator("script").count() == 2 and page.locator("img").count() == 0


def test_a_phone_in_the_dark_needs_no_scrolling_to_the_side(server, visit):
    next_release(server)
    page = visit(server.address + "/dashboard/messages", **PHONE)
    page.wait_for_selector("#plot canvas")
    for opened in page.locator("summary").all():
        opened.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.querySelector('#plot .uplot').getBoundingClientRect().right") <= 390
    back = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(back)
    page.emulate_media(color_scheme="light")
    assert page.evaluate(back) != dark


def test_charts_of_fields_fit_a_phone_and_an_open_table_stays_open(by_fields, visit):
    ask = {"context": {"age": 30, BAD: "free"}}
    next_release(by_fields, ask=ask)
    page = visit(by_fields.address + "/dashboard", **PHONE)
    page.wait_for_selector("#fields svg.plot")
    assert (
        "Is choosing for each person better?" in page.inner_text("#answers")
        and page.locator("#fields .card").count() == 2
    )
    assert BAD in page.inner_text("#fields") and page.locator("script").count() == 2
    page.locator("#fields summary").first.focus()
    page.keyboard.press("Enter")
    name = page.evaluate("document.activeElement.parentElement.id")
    assert page.locator("#fields details[open] table").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for box in page.locator("svg.plot, .three svg").all():
        assert box.bounding_box()["x"] + box.bounding_box()["width"] <= 390
    version, until = next_release(by_fields, ask=ask), time.monotonic() + 120
    while int(page.get_attribute("#tiles", "data-version")) < version and time.monotonic() < until:
        page.wait_for_timeout(50)
    assert int(page.get_attribute("#tiles", "data-version")) >= version
    assert page.evaluate("document.activeElement.parentElement.id") == name  # and who reads it stays there
    assert page.evaluate(f"document.getElementById({json.dumps(name)}).open")
    for _ in range(3):
        next_release(by_fields, ask=ask)
    page.wait_for_selector("#trial .band", timeout=10_000)  # the first look of the holdout
    picture = page.locator("#trial svg.trial").bounding_box()
    assert picture["x"] + picture["width"] <= 390 and "“mail” (holdout)" in page.inner_text("#trial")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert all(url.startswith(by_fields.address + "/") for url in visit.asked)


def test_a_server_that_does_not_answer_is_said(server, visit):
    page = visit(server.address + "/dashboard/messages")
    page.wait_for_load_state("networkidle")
    assert not page.is_visible("#lost")
    page.context.set_offline(True)
    page.wait_for_selector("#lost", state="visible", timeout=5000)
    page.context.set_offline(False)
    page.wait_for_selector("#lost", state="hidden", timeout=5000)
    assert all("ERR_INTERNET_DISCONNECTED" in text for text in visit.wrong)
    visit.wrong.clear()


def test_logging_in_and_out(keyed, visit):
    page = visit(keyed.address + "/dashboard")
    assert page.url.endswith("/login")
    page.fill("input", "wrong")
    page.click("button")
    page.wait_for_selector("#wrong:has-text('no operator')")
    assert all("401" in text for text in visit.wrong)
    visit.wrong.clear()
    page.fill("input", KEYS["auditor"])
    page.click("button")
    page.wait_for_url("**/dashboard/messages")
    assert "What is promised" in page.inner_text("main") and page.locator("#plot").count() == 0
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict") and KEYS["auditor"] not in cookie["value"]
    page.click("#logout")
    page.wait_for_url("**/login")
    page.fill("input", KEYS["operator"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/dashboard/messages")
    assert page.locator("#plot").count() == 1 and "Is it learning?" in page.inner_text("main")
    page.context.clear_cookies()
    page.wait_for_url("**/login", timeout=5000)  # it asks again by itself
    assert not [url for url in visit.asked if "reticent_" in url]
    assert keyed.ask("POST", "/login", "key=x", headers={"content-type": "application/x-www-form-urlencoded"})[0] == 415
