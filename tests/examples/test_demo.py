"""`make demo`, with few people: it says how long it takes, shows a bar on a terminal, and says how long it took."""

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def read(terminal):
    """Until the other end is closed."""
    with contextlib.suppress(OSError):
        while piece := os.read(terminal, 1 << 16):
            yield piece


def test_it_shows_progress_and_says_how_long_it_takes(tmp_path):
    terminal, end = pty.openpty()
    code = "from examples import demo; demo.HORIZON = 200; demo.main()"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=end) as process:
        os.close(end)
        shown = b"".join(read(terminal))  # meanwhile: a terminal that nobody reads is full after a while
        said = process.stdout.read().decode()
    os.close(terminal)
    assert process.returncode == 0
    assert "This takes some 12 seconds of CPU time" in said and re.search(r"after \d+ seconds\.$", said, re.M)
    assert b"80 simulations" in shown and b"%" in shown
    assert (tmp_path / "out" / "demo.png").stat().st_size > 10_000 and "LinUCB" in said and "ε = 0.2" in said
