"""The dashboards of roles in a real browser: they say what a role can see and what not, and follow it."""

import numpy as np

from tests.browser import launched
from tests.service.roles import running
from tests.service.roles.running import ask


def test_dashboards_say_what_a_role_sees_and_follow_it(start):
    analyzer = start("analyzer", running.analyzer(40))
    shuffler = start("shuffler", running.shuffler(analyzer.port))
    local = start("local", running.LOCAL)
    board, rng, wrong = running.billboard(shuffler.port), np.random.default_rng(0), []
    with launched() as browser:
        pages = {}
        for role, process in (("Analyzer", analyzer), ("Shuffler", shuffler), ("Local", local)):
            page = pages[role] = browser.new_page()
            page.on("console", lambda said: wrong.append(said.text))
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.goto(f"http://127.0.0.1:{process.port}/")
            assert page.inner_text("h1") == role
            for heading in ("What it can see of people", "What it cannot see"):
                assert page.locator("section", has=page.get_by_role("heading", name=heading)).locator("li").count() >= 2
        assert "number 0" in pages["Shuffler"].inner_text("#tiles")
        assert ask(shuffler.port, "POST", "/reports", b"".join(running.report(board, rng) for _ in range(40)))[0] == 200
        pages["Shuffler"].locator("#tiles", has_text="number 1").wait_for(timeout=15000)
        pages["Analyzer"].locator("#tiles", has_text="wants 60 reports").wait_for(timeout=15000)
        assert "Batch 0 was closed; its key is destroyed." in pages["Shuffler"].inner_text("#events")
    assert not wrong
