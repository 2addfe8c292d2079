"""A database that was taken back in time is not served; `tacit recover` starts anew from what was released, `retire`
ends a bandit."""

import json
import math
import re
import shutil
import sys
import time

import numpy as np
import pytest

from tacit import cli
from tacit.errors import RolledBack
from tacit.privacy import gaussian
from tests.service.servers import application, call, lines, stored
from tests.store.places import BUDGET, settle, total

TOML = """
[bandits.messages]
kind = "joint-lin-ucb"
dim = 3
horizon = 5000
budget = {epsilon = 1.0, delta = 1e-5}
durable = "bandit.db"
delay = 0.0
"""


def visit(folder, **settings):
    """20 people, and the release that falls due; the last one's id."""
    app = application(folder, **settings)
    ((_, _, body),) = call(app, ("choose:batch", lines(*[{"arms": np.eye(3).tolist()}] * 20)))
    settle(stored(app))
    assert stored(app).version == stored(app).head.step > 0
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
    assert code == 1 and "tacit recover CONFIG NAME" in said.err and "Traceback" not in said.err
    code, said = run("recover", str(tmp_path / "serve.toml"), "messages", "--yes")
    assert code == 0 and said.out == "messages: incarnation 2. Its certificate says what that costs.\n"
    app = application(tmp_path)
    reward, certificate, status = call(
        app, ("reward", {"id": first, "reward": 1}), ("certificate", None), ("status", None)
    )
    app.close()
    assert reward[0] == 404 and "Recovered once" in certificate[2].decode()
    assert json.loads(status[2])["choices"] == 0 and "recovered" in json.loads(status[2])["events"][0]["what"]


def test_what_a_recovery_costs_is_said_before_it_is_confirmed_and_it_can_cost_nothing(tmp_path, monkeypatch, capsys):
    """In 0.6.0 epsilon went from 1 to 1.47 where a person's rounds are limited, and only the certificate told, after
    it. Within the budget nobody who is named teaches: any of them may have had all rounds since the backup."""
    limited = {"max_rounds_per_person": 1, "require_person": False, "on_limit": "refuse"}
    (tmp_path / "serve.toml").write_text(
        TOML + 'max_rounds_per_person = 1\nrequire_person = false\non_limit = "refuse"\n'
    )

    def run(*more):
        monkeypatch.setattr(sys, "argv", ["tacit", "recover", str(tmp_path / "serve.toml"), "messages", *more])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, capsys.readouterr()

    def visit_of(*people):
        app = application(tmp_path, **limited)
        for person in people:
            body = {"arms": np.eye(3).tolist()} | ({} if person is None else {"person": person})
            ((status, _, reply),) = call(app, ("choose", body))
            assert status == 200
            call(app, ("reward", {"id": json.loads(reply)["id"], "reward": 1.0}))
        one = stored(app)
        settle(one)
        found = one.privacy.epsilon, one.privacy.private, one.incarnation, total(one).any()
        app.close()
        return found

    assert visit_of("ada") == (pytest.approx(1.0, rel=1e-6), True, 1, True)
    code, said = run()
    assert code == 1 and "Expected --yes" in said.err  # nobody is there to say yes: nothing happened, and it was told
    assert (
        "epsilon is 1 at delta 1e-05, and 1.465 after this recovery" in said.err and "--within-budget: 1," in said.err
    )
    code, said = run("--within-budget", "--yes")
    assert code == 0 and "and 1 after this recovery" in said.err and "incarnation 2" in said.out
    epsilon = pytest.approx(1.0, rel=1e-6)
    assert visit_of("ada", "bob", "ada") == (epsilon, True, 2, False)  # all served, also by "refuse"; none teaches
    assert visit_of(None) == (epsilon, True, 2, True)
    code, said = run("--yes")
    assert code == 0 and "epsilon is 1 at delta 1e-05, and 1.465 after this recovery" in said.err
    assert visit_of("carl") == (pytest.approx(1.465, rel=1e-3), False, 3, True)


def test_a_recovery_costs_nothing_where_no_persons_are_counted(tmp_path, monkeypatch, capsys):
    visit(tmp_path)
    (tmp_path / "serve.toml").write_text(TOML)
    monkeypatch.setattr(sys, "argv", ["tacit", "recover", str(tmp_path / "serve.toml"), "messages", "--yes"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert capsys.readouterr().err.strip() == "messages: epsilon is 1 at delta 1e-05, and 1 after this recovery."


def test_a_failover_that_lost_rows_is_told_to_each_sender(tmp_path, monkeypatch, capsys):
    """All releases are there, the last choices are not: their rewards were acknowledged and counted for nothing, and
    nobody was told. Operators see that it is not ready, and no count."""
    visit(tmp_path)
    (tmp_path / "serve.toml").write_text(TOML)
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
    assert all(b"the operator must recover" in body and b"retry-after" in dict(headers) for _, headers, body in told)
    ((_, _, batch),) = call(app, ("reward:batch", lines(*[{"id": one, "reward": 1} for one in lost])))
    assert b"acknowledged" not in batch
    until = time.monotonic() + 20
    while (ready := call(app, ("/readyz", None))[0])[0] == 200 and time.monotonic() < until:
        time.sleep(0.05)  # it looks twice a second
    ((_, _, metrics),) = call(app, ("/metrics", None))
    app.close()
    assert ready[0] == 503 and b'tacit_ready{bandit="messages"} 0.0' in metrics and b"tacit_choices{" not in metrics
    with pytest.raises(RolledBack):
        application(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tacit", "recover", str(tmp_path / "serve.toml"), "messages", "--yes"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    app = application(tmp_path)
    told = call(app, *[("reward", {"id": one, "reward": 1}) for one in lost], ("/readyz", None))
    app.close()
    assert [status for status, _, _ in told] == [404] * 6 + [200]


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("more", [(), ("--within-budget",)])
def test_what_is_said_after_an_alarm_is_what_the_certificate_then_has(tmp_path, monkeypatch, capsys, limited, more):
    """An id showed that the database had been taken back in time, so its releases count twice: sqrt 2 mu for a round,
    sqrt 3 mu for a person of limited rounds, since two incarnations teach and one counts twice; several rounds of one
    person cost as much more. A restore of a copy that is older than the alarm does not forget it, and a bandit is not
    retired before it is recovered: that would drop the charge."""
    settings = {"max_rounds_per_person": 1, "require_person": False} if limited else {}
    (tmp_path / "serve.toml").write_text(
        TOML + "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    )

    def recovered():
        """Epsilon as the command says it before anything is done, and as the certificate has it afterwards."""
        arguments = ["tacit", "recover", str(tmp_path / "serve.toml"), "messages", "--yes", *more]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 0
        said = re.search(r"and ([0-9.]+) after this recovery", capsys.readouterr().err)
        app = application(tmp_path, **settings)
        ((_, _, body),) = call(app, ("certificate", None))
        app.close()
        certificate = json.loads(body)
        assert said is not None and said[1] == f"{certificate['epsilon']:.4g}"
        assert certificate["group"].keys() == (set() if limited else {"2", "5", "10"})
        for rounds, epsilon in certificate["group"].items():
            mu = math.sqrt(2) * int(rounds) * gaussian.mu(BUDGET)
            assert epsilon == pytest.approx(gaussian.epsilon(mu, 1e-5), rel=1e-3)
        return float(said[1])

    visit(tmp_path, **settings)
    shutil.copy(tmp_path / "bandit.db", tmp_path / "copy.db")
    app = application(tmp_path, **settings)
    replies = call(app, *[("choose", {"arms": np.eye(3).tolist()})] * 3)
    app.close()
    shutil.copy(tmp_path / "copy.db", tmp_path / "bandit.db")
    app = application(tmp_path, **settings)
    ((status, _, _),) = call(app, ("reward", {"id": json.loads(replies[-1][2])["id"], "reward": 1}))
    app.close()
    assert status == 503
    monkeypatch.setattr(sys, "argv", ["tacit", "retire", str(tmp_path / "serve.toml"), "messages", "--yes"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1 and "tacit recover" in capsys.readouterr().err
    first = recovered()
    mechanisms = 3 if limited and not more else 2
    assert first == pytest.approx(gaussian.epsilon(math.sqrt(mechanisms) * gaussian.mu(BUDGET), 1e-5), rel=1e-3)
    shutil.copy(tmp_path / "copy.db", tmp_path / "bandit.db")
    assert recovered() >= first


def test_an_alarm_is_not_forgotten_by_another_restore(tmp_path, monkeypatch):
    """Database and keys were taken back together, a step was released again, an id proved it, and then the operator put
    the database back once more, which knows nothing of the alarm. It is refused, and the recovery counts twice."""
    (tmp_path / "serve.toml").write_text(TOML)
    visit(tmp_path)
    for name in ("bandit.db", "bandit.db.keys"):
        copy = shutil.copytree if name.endswith(".keys") else shutil.copy
        copy(tmp_path / name, tmp_path / f"copy of {name}")
    lost = visit(tmp_path)
    shutil.copy(tmp_path / "copy of bandit.db", tmp_path / "bandit.db")
    shutil.rmtree(tmp_path / "bandit.db.keys")
    shutil.copytree(tmp_path / "copy of bandit.db.keys", tmp_path / "bandit.db.keys")
    visit(tmp_path)
    app = application(tmp_path)
    ((status, _, _),) = call(app, ("reward", {"id": lost, "reward": 1}))
    app.close()
    assert status == 503
    shutil.copy(tmp_path / "copy of bandit.db", tmp_path / "bandit.db")
    with pytest.raises(RolledBack):
        application(tmp_path)
    for command, code in (("retire", 1), ("recover", 0)):
        monkeypatch.setattr(sys, "argv", ["tacit", command, str(tmp_path / "serve.toml"), "messages", "--yes"])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == code
    app = application(tmp_path)
    ((_, _, body),) = call(app, ("certificate", None))
    app.close()
    expected = gaussian.epsilon(math.sqrt(2) * gaussian.mu(BUDGET), 1e-5)
    assert json.loads(body)["epsilon"] == pytest.approx(expected, rel=1e-3)


def test_a_retired_bandit_answers_nobody_and_stays_on_record(tmp_path, monkeypatch, capsys):
    first = visit(tmp_path)
    (tmp_path / "serve.toml").write_text(TOML)
    for command in ("retire", "recover"):  # nobody is there to say yes
        monkeypatch.setattr(sys, "argv", ["tacit", command, str(tmp_path / "serve.toml"), "messages"])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == 1 and "Expected --yes to" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["tacit", "retire", str(tmp_path / "serve.toml"), "messages", "--yes"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0 and capsys.readouterr().out.startswith("messages: retired.")
    app = application(tmp_path)
    refused = call(
        app, ("choose", {"arms": np.eye(3).tolist()}), ("reward", {"id": first, "reward": 1}), ("reward", {"id": "00"})
    )
    shown = call(app, *[(what, None) for what in ("certificate", "status", "estimate", "/readyz", "/metrics")])
    app.close()
    assert [status for status, _, _ in refused] == [410, 410, 422] and b"retired" in refused[0][2]
    assert [status for status, _, _ in shown] == [200] * 5
    status = json.loads(shown[1][2])
    assert status["retired"] is True and status["version"] == 1 and status["choices"] == 20
    assert "Retired" in json.loads(shown[0][2])["caveats"][-1]
