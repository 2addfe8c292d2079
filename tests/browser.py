"""A real browser, driven by Playwright: the one of TACIT_BROWSER, or the first of Chromium and Chrome on the path."""

import contextlib
import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    found = os.environ.get("TACIT_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("Expected a browser (TACIT_BROWSER, or chromium on the path), got none: `make browser`.", False)
    return found


@contextlib.contextmanager
def opened():
    """As root, Chromium works without its sandbox alone."""
    with sync_playwright() as playwright:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=find(), args=options)
        try:
            yield browser
        finally:
            browser.close()
