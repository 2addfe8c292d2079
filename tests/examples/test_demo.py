"""`make demo`, with few people: it says how long it takes, shows a bar on a terminal, and says how long it took."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_it_shows_progress_and_says_how_long_it_takes(tmp_path):
    terminal, end = pty.openpty()
    code = "from examples import demo; demo.HORIZON = 200; demo.main()"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "120"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=end, check=True
    )
    os.close(end)
    shown = os.read(terminal, 1 << 16).decode()
    os.close(terminal)
    said = done.stdout.decode()
    assert "This takes some 12 seconds of CPU time" in said and re.search(r"after \d+ seconds\.$", said, re.M)
    assert "80 simulations" in shown and "%" in shown
    assert (tmp_path / "out" / "demo.png").stat().st_size > 10_000 and "LinUCB" in said and "ε = 0.2" in said
