"""`make serve-postgres`: two workers on one database, until Ctrl-C, which leaves nothing behind."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reticent.errors import Unavailable
from reticent_serve.service import Client

SCRIPT = Path(__file__).parents[2] / "examples" / "serve_postgres.py"


@pytest.mark.full
def test_two_workers_share_one_bandit_until_ctrl_c(tmp_path):
    with open(tmp_path / "log", "wb") as log:
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        process = subprocess.Popen([sys.executable, SCRIPT], stdout=log, stderr=log, env=environment)
    try:
        while len(found := re.findall(r"Serving on (\S+)", (tmp_path / "log").read_text())) < 2:
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.05)
        with Client(found[0], "messages") as one, Client(found[1], "messages") as two:
            while one.status()["choices"] < 20:
                time.sleep(0.05)
            before, other, after = one.status(), two.status(), one.status()
        assert before["choices"] <= other["choices"] <= after["choices"]
        assert other["bandit"] == "messages" and other["privacy"]["private"]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not list(tmp_path.glob("reticent-postgres-*"))
    for address in found:
        with pytest.raises(Unavailable), Client(address, "messages", patience=0) as gone:
            gone.status()
