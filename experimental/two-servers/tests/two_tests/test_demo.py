"""`make demo-two`: two servers as processes, and devices from whom something is learnt."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "demo.py"


@pytest.mark.full
def test_devices_report_and_something_is_learnt():
    command = [sys.executable, SCRIPT, "--devices", "3000", "--any-port", "--end"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    for role in ("leader", "helper"):
        assert re.search(rf"What the {role}( \(user \d+\))? sees: http://127.0.0.1:\d+/dashboard", said)
    last, best = map(int, re.search(r"of the last (\d+)%; best (\d+)%", said).groups())
    assert last > best - 8  # random offers have some 50 %
    cells, both = (re.search(rf"{of}:? +(-?\d+, -?\d+, -?\d+)", said)[1] for of in ("cells of \\S+", "both together"))
    assert cells == both and re.search(r"the leader +its share: \d+,\d\d\d,", said)
