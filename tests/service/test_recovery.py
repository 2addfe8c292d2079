"""A database that was taken back in time is not served; `tacit recover` starts anew from what was released."""

import json
import shutil
import sys
import time

import numpy as np
import pytest

from tacit import cli
from tacit.errors import RolledBack
from tests.service.servers import application, call, lines

TOML = """
[bandits.messages]
kind = "joint-lin-ucb"
dim = 3
horizon = 5000
budget = {epsilon = 1.0, delta = 1e-5}
durable = "bandit.db"
"""


def visit(folder):
    """20 people, and the release that falls due; the last one's id."""
    app = application(folder)
    stored = app.served["messages"].stored
    ((_, _, body),) = call(app, ("choose:batch", lines(*[{"arms": np.eye(3).tolist()}] * 20)))
    until = time.monotonic() + 10
    while stored.version < stored.head.step and time.monotonic() < until:
        time.sleep(0.005)
    assert stored.version == stored.head.step > 0
    app.close()
    return json.loads(body.splitlines()[-1])["id"]


def test_an_older_database_is_refused_until_it_is_recovered(tmp_path, monkeypatch, capsys):
    first = visit(tmp_path)
    shutil.copy(tmp_path / "bandit.db", tmp_path / "copy.db")
    visit(tmp_path)
    shutil.copy(tmp_path / "copy.db", tmp_path / "bandit.db")
    (tmp_path / "serve.toml").write_text(TOML)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["tacit", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, capsys.readouterr()

    with pytest.raises(RolledBack):
        application(tmp_path)
    code, said = run("serve", str(tmp_path / "serve.toml"), "--port", "0")
    assert code == 1 and "Recover." in said.err and "Traceback" not in said.err
    code, said = run("recover", str(tmp_path / "serve.toml"), "messages")
    assert code == 0 and said.out == "messages: incarnation 2. Its certificate says what that costs.\n"
    app = application(tmp_path)
    reward, certificate, status = call(
        app, ("reward", {"id": first, "reward": 1}), ("certificate", None), ("status", None)
    )
    app.close()
    assert reward[0] == 404 and "Recovered 1 times" in certificate[2].decode()
    assert json.loads(status[2])["choices"] == 0 and "recovered" in json.loads(status[2])["events"][0]["what"]
