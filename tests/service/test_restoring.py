"""A database that was taken back in time is not served; `tacit restore` makes a new bandit from a backup, `retire` ends
one."""

import json
import re
import shutil
import sys
import time

import numpy as np
import pytest

from tacit import cli
from tacit.errors import RolledBack
from tests.service.servers import application, call, lines, stored
from tests.store.places import settle

TOML = """
[bandits.messages]
kind = "joint-glm"
dim = 3
base_rate = 0.5
horizon = 5000
budget = {epsilon = 1.0, delta = 1e-5}
durable = "bandit.db"
delay = 0.0
"""


def visit(folder, **settings):
    """60 people, and the release that falls due; the last one's id."""
    app = application(folder, **settings)
    ((_, _, body),) = call(app, ("choose:batch", lines(*[{"arms": np.eye(3).tolist()}] * 60)))
    settle(stored(app))
    assert stored(app).version == stored(app).head.step > 0
    app.close()
    return json.loads(body.splitlines()[-1])["id"]


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """A command: its exit code, and what it says."""
    (tmp_path / "serve.toml").write_text(TOML)

    def run(command, *arguments):
        monkeypatch.setattr(sys, "argv", ["tacit", command, str(tmp_path / "serve.toml"), *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, capsys.readouterr()

    return run


def test_an_older_database_is_refused_and_a_backup_of_it_restored(tmp_path, run):
    """What it costs is said before it is confirmed, and stands in the certificate afterwards."""
    first = visit(tmp_path)
    shutil.copy(tmp_path / "bandit.db", tmp_path / "copy.db")
    visit(tmp_path)
    shutil.copy(tmp_path / "copy.db", tmp_path / "bandit.db")
    with pytest.raises(RolledBack):
        application(tmp_path)
    code, said = run("serve", "--port", "0")
    assert code == 1 and "tacit restore CONFIG NAME FILE" in said.err and "Traceback" not in said.err
    code, said = run("backup", "messages", tmp_path / "backup")
    assert code == 0
    code, said = run("restore", "messages", tmp_path / "backup")
    assert code == 1 and "Expected --yes" in said.err  # nobody is there to say yes: nothing happened, and it was told
    keys = (tmp_path / "bandit.db.keys").rename(tmp_path / "kept")
    code, said = run("restore", "messages", tmp_path / "backup")
    assert "its whole plan, since the folder of keys has no witness of it" in said.err
    keys.rename(tmp_path / "bandit.db.keys")
    code, said = run("restore", "messages", tmp_path / "backup", "--yes")
    assert code == 0 and said.out.startswith("messages: bandit ") and "messages: a new bandit of epsilon 1 " in said.err
    app = application(tmp_path)
    reward, certificate, status = call(
        app, ("reward", {"id": first, "reward": 1}), ("certificate", None), ("status", None)
    )
    app.close()
    assert reward[0] == 200 and json.loads(reward[2]) == {"acknowledged": True, "late": True}  # it is not counted
    found = json.loads(certificate[2])
    together = re.search(r"in all of them has epsilon ([0-9.]+) together", said.err)
    assert found["private"] and f"has epsilon {together[1]} together" in found["caveats"][-1]
    assert json.loads(status[2])["choices"] == 0 and "restored" in json.loads(status[2])["events"][0]["what"]


def test_a_failover_that_lost_rows_is_told_to_each_sender(tmp_path, run):
    """All releases are there, the last choices are not: their rewards were acknowledged and counted for nothing, and
    nobody was told. Operators see that it is not ready, and no count."""
    visit(tmp_path)
    shutil.copy(tmp_path / "bandit.db", tmp_path / "replica.db")
    app = application(tmp_path)
    replies = call(app, *[("choose", {"arms": np.eye(3).tolist()})] * 6)
    app.close()
    lost = [json.loads(body)["id"] for _, _, body in replies]
    shutil.copy(tmp_path / "replica.db", tmp_path / "bandit.db")
    app = application(tmp_path)
    ((_, _, body),) = call(app, ("choose", {"arms": np.eye(3).tolist()}))
    own = json.loads(body)["id"]
    first, ready = call(app, ("reward", {"id": own, "reward": 1}), ("/readyz", None))
    assert (first[0], ready[0]) == (200, 200)  # nothing tells yet
    told = call(app, *[("reward", {"id": one, "reward": 1}) for one in lost])
    assert [status for status, _, _ in told] == [503] * 6
    assert all(b"the operator must restore" in body and b"retry-after" in dict(headers) for _, headers, body in told)
    ((_, _, batch),) = call(app, ("reward:batch", lines(*[{"id": one, "reward": 1} for one in lost])))
    assert b"acknowledged" not in batch
    until = time.monotonic() + 120
    while (ready := call(app, ("/readyz", None))[0])[0] == 200 and time.monotonic() < until:
        time.sleep(0.05)  # it looks twice a second
    ((_, _, metrics),) = call(app, ("/metrics", None))
    app.close()
    assert ready[0] == 503 and b'tacit_ready{bandit="messages"} 0.0' in metrics and b"tacit_choices{" not in metrics
    with pytest.raises(RolledBack):
        application(tmp_path)
    code, said = run("retire", "messages", "--yes")  # that would drop the charge
    assert code == 1 and "tacit restore" in said.err
    assert run("backup", "messages", tmp_path / "backup")[0] == 0
    code, said = run("restore", "messages", tmp_path / "backup", "--yes")
    assert code == 0 and "counted twice" in said.err
    app = application(tmp_path)
    told = call(app, *[("reward", {"id": one, "reward": 1}) for one in lost], ("/readyz", None))
    app.close()
    assert [status for status, _, _ in told] == [200] * 7
    assert all(json.loads(body)["late"] for _, _, body in told[:6])  # not counted


def test_a_retired_bandit_answers_nobody_and_stays_on_record(tmp_path, run):
    first = visit(tmp_path)
    code, said = run("retire", "messages")  # nobody is there to say yes
    assert code == 1 and "Expected --yes to" in said.err
    code, said = run("retire", "messages", "--yes")
    assert code == 0 and said.out.startswith("messages: retired.")
    app = application(tmp_path)
    refused = call(
        app, ("choose", {"arms": np.eye(3).tolist()}), ("reward", {"id": first, "reward": 1}), ("reward", {"id": "00"})
    )
    shown = call(app, *[(what, None) for what in ("certificate", "status", "estimate", "/readyz", "/metrics")])
    app.close()
    assert [status for status, _, _ in refused] == [410, 410, 422] and b"retired" in refused[0][2]
    assert [status for status, _, _ in shown] == [200] * 5
    status = json.loads(shown[1][2])
    assert status["retired"] is True and status["version"] == 1 and status["choices"] == 60
    assert "Retired" in json.loads(shown[0][2])["caveats"][-1]
