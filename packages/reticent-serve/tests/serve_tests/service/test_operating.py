"""`reticent backup`, `restore` and `move`, as an operator runs them, beside a server at work."""

import json
import re
import threading
import time

import numpy as np
import pytest

from serve_tests.service.servers import TOML, Running, application

EYE, BANDIT = np.eye(3).tolist(), "/v1/bandits/messages/"
SHORT = TOML.replace("10 minutes", "0.05 seconds")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def choose(server, request):
    status, _, text = server.ask("POST", BANDIT + "choose", {"arms": EYE, "request": request})
    assert status == 200, text
    return json.loads(text)["id"]


def released(server):
    """Until there is a release."""
    for i in range(60):
        choose(server, f"first {i}")
    while not json.loads(server.ask("GET", BANDIT + "status")[2])["version"]:
        time.sleep(0.1)


def test_backup_while_it_serves_then_restore(tmp_path, reticent):
    server, backup, made = Running(tmp_path, SHORT), tmp_path / "monday.db", []
    released(server)
    stop = threading.Event()

    def visitors():
        while not stop.is_set():
            made.append(choose(server, f"visit {len(made)}"))

    people = threading.Thread(target=visitors)
    people.start()
    code, out, error = reticent("backup", "serve.toml", "messages", backup)
    assert (code, error) == (0, "") and out.startswith("messages: in ") and "holds no keys" in out
    stop.set()
    people.join()
    assert choose(server, "visit 0") == made[0] and len(made) > 3
    code, _, error = reticent("restore", "serve.toml", "messages", backup, "--yes")
    assert code == 1 and "to be free, got one that is in use elsewhere" in error and server.stop() == 0
    code, _, error = reticent("restore", "serve.toml", "messages", backup)
    assert code == 1 and "epsilon 1 at delta 1e-05, in the place of" in error and "Expected --yes" in error
    assert re.search(r"in all of them has epsilon 1\.\d+ together", error)
    code, out, _ = reticent("restore", "serve.toml", "messages", backup, "--yes")
    assert code == 0 and out.startswith("messages: bandit ")
    server = Running(tmp_path, SHORT)
    status = json.loads(server.ask("GET", BANDIT + "status")[2])
    assert len(status["predecessors"]) == 1 and status["privacy"]["epsilon"] == pytest.approx(1.0)
    assert server.stop() == 0


def test_move_and_the_old_configuration(tmp_path, on_postgres, reticent):
    """From SQLite with its keys beside it: what the command says is enough to go on."""
    server = Running(tmp_path)
    first = choose(server, "mine")
    code, _, error = reticent("move", "serve.toml", "--to", on_postgres.where)
    assert code == 1 and "to be free" in error and server.stop() == 0
    code, out, error = reticent("move", "serve.toml", "--to", on_postgres.where)
    assert code == 0, error
    keys = tmp_path / "bandit.db.keys"
    assert "messages is in postgresql://" in out and f'keys = "{keys}"' in out
    code, _, error = reticent("serve", "serve.toml", "--port", 0)
    assert code == 1 and "moved from, to postgresql://" in error and "Traceback" not in error
    moved = TOML.replace('database = "bandit.db"', f'database = "{on_postgres.where}"\nkeys = "{keys}"')
    server = Running(tmp_path, moved)
    assert choose(server, "mine") == first
    assert server.ask("POST", BANDIT + "reward", {"id": first, "reward": 1})[0] == 200
    status = json.loads(server.ask("GET", BANDIT + "status")[2])
    assert status["choices"] == 1 and status["predecessors"] == []
    assert [one["what"] for one in status["events"]] == [f"moved here from {tmp_path / 'bandit.db'}"]
    code, out, error = reticent("backup", "serve.toml", "copy.db")
    assert code == 0, error
    code, _, error = reticent("move", "serve.toml", "--to", "bandit.db")  # while it serves
    assert code == 0, error
    code, _, text = server.ask("POST", BANDIT + "choose", {"arms": EYE, "request": "mine"})
    assert code == 503 and "the operator has moved it" in text and server.stop() == 0
    server = Running(tmp_path, TOML)
    assert choose(server, "mine") == first and server.stop() == 0


def test_an_sqlite_file_is_for_one_bandit(tmp_path, reticent):
    both = TOML + TOML.split("[server]\npatience = 0.5")[1].replace("messages", "offers").replace("bandit.db", "o.db")
    (tmp_path / "serve.toml").write_text(both)
    code, _, error = reticent("move", "serve.toml", "--to", "one.db")
    assert code == 1 and "Expected BANDIT" in error
    code, _, error = reticent("backup", "serve.toml", "all.db")
    assert code == 1 and f"Expected a database in {tmp_path}/bandit.db, got no such file" in error
    assert not list(tmp_path.glob("all.db*"))


def test_a_retired_bandit_is_passed_over(tmp_path, reticent):
    """It stays in the configuration for its certificate."""
    application(tmp_path).close()
    (tmp_path / "serve.toml").write_text(TOML)
    assert reticent("retire", "serve.toml", "messages", "--yes")[0] == 0
    assert reticent("move", "serve.toml", "--to", "b.db")[:2] == (0, "messages: it was retired, and stays as it is.\n")
    assert reticent("move", "serve.toml", "messages", "--to", "b.db")[0] == 1 and not (tmp_path / "b.db").exists()
