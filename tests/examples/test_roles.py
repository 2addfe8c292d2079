"""`make demo-roles`: three roles as processes, and devices from whom something is learnt."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "roles.py"


@pytest.mark.full
def test_devices_report_and_something_is_learnt():
    command = [sys.executable, SCRIPT, "--devices", "5000", "--any-port", "--end"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    for role in ("analyzer", "shuffler", "local"):
        assert re.search(rf"What the {role}( \(user \d+\))? sees: http://127.0.0.1:\d+/dashboard", said)
    for role in ("shuffler", "local"):
        found = re.search(rf"{role} \(ε = .*\): expected clicks of .* of the last (\d+)%; best (\d+)%", said)
        last, best = map(int, found.groups())
        assert last > best - 8  # random offers have some 50 %, the best ones 84 %
