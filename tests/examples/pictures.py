"""The pictures of docs/tutorial.md, taken anew: python -m tests.examples.pictures [VISITORS]."""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from serve_tests import browser
from serve_tests.service.servers import Running
from tests.examples.messages import EXAMPLE, Page

IMAGES = Path(__file__).parents[2] / "docs" / "images"
VISITORS = 4000
LARGEST = 150_000  # bytes


def take(visitors, into=IMAGES):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
        server = Running(folder, (EXAMPLE / "serve.toml").read_text().replace("1 hour", "5 seconds"))
        page = Page(folder, server.address)
        try:
            page.visitors(visitors)
            while json.loads(server.ask("GET", "/v1/bandits/messages/status")[2])["entered"] < visitors:
                time.sleep(0.5)
            with browser.launched() as chromium:
                shown = chromium.new_page(viewport={"width": 1000, "height": 760}, color_scheme="light")
                shown.goto(f"{server.address}/dashboard")
                offers = shown.locator("section", has=shown.get_by_role("heading", name="would offer")).first
                offers.wait_for()
                shown.screenshot(path=into / "tutorial-dashboard.png")
                offers.screenshot(path=into / "tutorial-offers.png")
        finally:
            page.stop()
            server.stop()
    for name in ("tutorial-dashboard.png", "tutorial-offers.png"):
        assert (into / name).stat().st_size < LARGEST, name


if __name__ == "__main__":
    take(int(sys.argv[1]) if len(sys.argv) > 1 else VISITORS)
