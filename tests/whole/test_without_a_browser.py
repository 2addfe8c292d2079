"""`make test` without a browser, where it may not install one: the rest runs, and the end names what did not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.full
def test_what_was_not_run_is_named_at_the_end(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RETICENT_", "PYTEST_"))}
    environment |= {"PATH": str(tmp_path), "HOME": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path)}
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "1",
            "-p",
            "no:cacheprovider",
            "packages/reticent-devices/tests/devices_tests/js/test_page.py",
        ],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    end = done.stdout[done.stdout.index("tests were not run") :]
    assert "make browser" in end and "packages/reticent-devices/tests/devices_tests/js/test_page.py::test_" in end
