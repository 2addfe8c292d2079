"""A database that was taken back in time is not served; `reticent restore` makes a new bandit from a backup, `retire`
ends one."""

import json
import re
import shutil
import time

import numpy as np
import pytest

from reticent.errors import RolledBack
from serve_tests.service.servers import TOML, application, call, each_reply, reply, statuses, stored
from serve_tests.store.places import settle

ASK = {"arms": np.eye(3).tolist()}


def visit(folder):
    """60 people, and the release that falls due; the last one's id."""
    app = application(folder)
    choices = each_reply(app, "choose:batch", *[ASK] * 60)
    settle(stored(app))
    assert stored(app).version == stored(app).head.step > 0
    app.close()
    return choices[-1]["id"]


@pytest.fixture
def run(tmp_path, reticent):
    """A command with the configuration: exit code, standard output, standard error."""
    (tmp_path / "serve.toml").write_text(TOML.replace(', window = "10 minutes"', ""))
    return lambda command, *more: reticent(command, tmp_path / "serve.toml", *more)


def test_an_older_database_is_refused_and_a_backup_of_it_restored(tmp_path, run):
    """What it costs is said before it is confirmed, and stands in the certificate afterwards."""
    first = visit(tmp_path)
    shutil.copy(tmp_path / "bandit.db", tmp_path / "copy.db")
    visit(tmp_path)
    shutil.copy(tmp_path / "copy.db", tmp_path / "bandit.db")
    with pytest.raises(RolledBack):
        application(tmp_path)
    code, _, error = run("serve", "--port", "0")
    assert code == 1 and "reticent restore CONFIG NAME FILE" in error and "Traceback" not in error
    assert run("backup", "messages", tmp_path / "backup")[0] == 0
    code, _, error = run("restore", "messages", tmp_path / "backup")
    assert code == 1 and "Expected --yes" in error  # nobody is there to say yes: nothing happened, and it was told
    keys = (tmp_path / "bandit.db.keys").rename(tmp_path / "kept")
    code, _, error = run("restore", "messages", tmp_path / "backup")
    assert "its whole plan, since the folder of keys has no witness of it" in error
    keys.rename(tmp_path / "bandit.db.keys")
    code, out, error = run("restore", "messages", tmp_path / "backup", "--yes")
    assert code == 0 and out.startswith("messages: bandit ") and "messages: a new bandit of epsilon 1 " in error
    app = application(tmp_path)
    assert reply(app, "reward", {"id": first, "reward": 1}) == {"acknowledged": True, "late": True}  # it is not counted
    found, status = reply(app, "certificate"), reply(app, "status")
    together = re.search(r"in all of them has epsilon ([0-9.]+) together", error)
    assert found["private"] and f"has epsilon {together[1]} together" in found["caveats"][-1]
    assert status["choices"] == 0 and "restored" in status["events"][0]["what"]


def test_a_failover_that_lost_rows_is_told_to_each_sender(tmp_path, run):
    """All releases are there, the last choices are not: their rewards were acknowledged and counted for nothing, and
    nobody was told. Operators see that it is not ready, and no count."""
    visit(tmp_path)
    shutil.copy(tmp_path / "bandit.db", tmp_path / "replica.db")
    app = application(tmp_path)
    lost = [json.loads(body)["id"] for _, _, body in call(app, *[("choose", ASK)] * 6)]
    app.close()
    shutil.copy(tmp_path / "replica.db", tmp_path / "bandit.db")
    app = application(tmp_path)
    own, rewards = reply(app, "choose", ASK)["id"], [{"id": one, "reward": 1} for one in lost]
    assert statuses(app, ("reward", {"id": own, "reward": 1}), ("/readyz", None)) == [200, 200]  # nothing tells yet
    told = call(app, *(("reward", one) for one in rewards))
    assert [status for status, _, _ in told] == [503] * 6
    assert all(b"the operator must restore" in body and b"retry-after" in dict(headers) for _, headers, body in told)
    assert not any("acknowledged" in one for one in each_reply(app, "reward:batch", *rewards))
    until = time.monotonic() + 120
    while (ready := statuses(app, ("/readyz", None))) == [200] and time.monotonic() < until:
        time.sleep(0.05)  # it looks twice a second
    ((_, _, metrics),) = call(app, ("/metrics", None))
    app.close()
    assert (
        ready == [503] and b'reticent_ready{bandit="messages"} 0.0' in metrics and b"reticent_choices{" not in metrics
    )
    with pytest.raises(RolledBack):
        application(tmp_path)
    code, _, error = run("retire", "messages", "--yes")  # that would drop the charge
    assert code == 1 and "reticent restore" in error and run("backup", "messages", tmp_path / "backup")[0] == 0
    code, _, error = run("restore", "messages", tmp_path / "backup", "--yes")
    assert code == 0 and "and its whole plan besides" in error
    app = application(tmp_path)
    assert all(reply(app, "reward", one)["late"] for one in rewards)  # not counted
    assert statuses(app, ("/readyz", None)) == [200]


def test_a_retired_bandit_answers_nobody_and_stays_on_record(tmp_path, run):
    first = visit(tmp_path)
    code, _, error = run("retire", "messages")  # nobody is there to say yes
    assert code == 1 and "Expected --yes to" in error
    code, out, _ = run("retire", "messages", "--yes")
    assert code == 0 and out.startswith("messages: retired.")
    app = application(tmp_path)
    rewards = ("reward", {"id": first, "reward": 1}), ("reward", {"id": "00"})
    assert (
        statuses(app, ("choose", ASK), *rewards) == [410, 410, 422] and "retired" in reply(app, "choose", ASK)["error"]
    )
    assert statuses(app, *((what, None) for what in ("estimate", "/readyz", "/metrics"))) == [200] * 3
    status = reply(app, "status")
    assert status["retired"] is True and status["version"] == 1 and status["choices"] == 60
    assert "Retired" in reply(app, "certificate")["caveats"][-1]
