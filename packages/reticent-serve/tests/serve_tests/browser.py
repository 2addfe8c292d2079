"""A real browser, driven by Playwright: whichever is found. `python -m serve_tests.browser` says which."""

import contextlib
import os
import shutil
import sys
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NONE = (
    "Expected a browser (RETICENT_BROWSER, chromium or Chrome on the path, or Playwright's own), got none: make browser"
)


def find(playwright):
    """Its path; None if there is none."""
    given = os.environ.get("RETICENT_BROWSER")
    if given:
        return given
    on_path = next(filter(None, map(shutil.which, NAMES)), None)
    own = playwright.chromium.executable_path
    return on_path or (own if Path(own).exists() else None)


@contextlib.contextmanager
def launched():
    """A real one, without a window."""
    with sync_playwright() as playwright:
        path = find(playwright)
        if path is None:
            pytest.skip(NONE)  # tests/conftest.py lists at the end what was not run
        arguments = ["--no-sandbox"] if os.getuid() == 0 else []  # Chromium has no sandbox for root
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


if __name__ == "__main__":
    with sync_playwright() as one:
        found = find(one)
    sys.exit(print(found) if found else NONE)
