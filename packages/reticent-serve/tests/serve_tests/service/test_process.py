"""A real server: roles, slow and vanished clients, kill -9, SIGTERM, and what its log holds."""

import hashlib
import json
import resource
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from reticent import cli
from reticent.errors import Unavailable
from reticent_serve.service import Client, Refused
from serve_tests.service.servers import KEYS, TOML, Running, afterwards
from serve_tests.store.places import Place, contribution, linear, total

EYE, BANDIT = np.eye(3).tolist(), "/v1/bandits/messages/"
WITH_KEYS = TOML + "".join(
    f'[[keys]]\nname = "{role}"\nrole = "{role}"\nhash = "{hashlib.sha256(key.encode()).hexdigest()}"\n'
    for role, key in KEYS.items()
)
CANARIES = ("0.31622776601", "0.77459666924", "canary-person", "canary-request", "canary-field", "canary-available")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    _, most = before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (most, most))  # it is the server that lowers it
    running = Running(tmp_path_factory.mktemp("server"), WITH_KEYS)
    resource.setrlimit(resource.RLIMIT_CORE, before)
    yield running
    assert running.stop() == 0


def test_a_crash_leaves_no_file_with_what_people_sent(server):
    assert resource.prlimit(server.process.pid, resource.RLIMIT_CORE) == (0, 0)


def test_each_role_may_do_its_own(server):
    asks = {
        "choose": ("POST", BANDIT + "choose", {"arms": EYE}),
        "reward": ("POST", BANDIT + "reward", {"id": "?", "reward": 1}),
        "certificate": ("GET", BANDIT + "certificate", None),
        "status": ("GET", BANDIT + "status", None),
        "estimate": ("GET", BANDIT + "estimate", None),
        "history": ("GET", BANDIT + "history", None),
        "metrics": ("GET", "/metrics", None),
    }
    allowed = {
        "app": {"choose", "reward"},
        "operator": {"certificate", "status", "estimate", "history", "metrics"},
        "auditor": {"certificate", "status"},
    }
    for name, ask in asks.items():
        assert server.ask(*ask)[0] == server.ask(*ask, key="another")[0] == 401
        for role, may in allowed.items():
            assert (server.ask(*ask, key=role)[0] == 403) == (name not in may), (name, role)
    for path in ("/healthz", "/readyz"):
        assert server.ask("GET", path)[0] == 200
    assert server.ask("GET", "/v1/bandits/other/status", key="operator")[0] == 404
    assert (
        server.ask("POST", BANDIT + "choose", {"arms": EYE}, key="app", headers={"content-type": "text/plain"})[0]
        == 415
    )
    certificate = json.loads(server.ask("GET", BANDIT + "certificate", key="auditor")[2])
    assert certificate["private"] and certificate["epsilon"] <= 1.0 + 1e-6


def test_a_client_asks_again_with_the_same_request(server):
    with Client(server.address, "messages", key=KEYS["app"]) as client:
        choice = client.choose({"a": EYE[0], "b": EYE[1]}, available=["b"], request="mine", propensity=True)
        assert (choice.index, choice.name, choice.propensity) == (1, "b", 1.0)
        client._connection.sock.close()  # the connection is lost
        assert client.choose(np.eye(3), request="mine").id == choice.id
        client.reward(choice, 1.0)
        client.reward(choice.id, 1.0)
        with pytest.raises(Refused) as refused:
            client.reward("0" * 48, 1.0)
        assert refused.value.status == 404
        with pytest.raises(Refused, match="may ask for status"):
            client.status()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(Unavailable):
            Client(f"http://127.0.0.1:{unused.getsockname()[1]}", "messages", patience=0.15).status()


def test_slow_and_vanished_clients_hold_up_nobody(server):
    head = f"POST {BANDIT}choose HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEYS['app']}\r\n"
    head += "content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    slow, silent, gone = (socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(3))
    for one, start in ((slow, b'{"arms":'), (silent, b""), (gone, b'{"arms":')):
        one.sendall(head.encode() + start)
    gone.close()
    assert server.ask("POST", BANDIT + "choose", {"arms": EYE}, key="app")[0] == 200
    for one in (slow, silent):
        assert b"408" in one.recv(100)
        one.close()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as stranger:
        stranger.sendall(head.replace(KEYS["app"], "another").encode())
        with stranger.makefile("rb") as reply:
            assert b"401" in reply.read()  # to the end: the connection is closed
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as large:
        large.sendall(head.replace("1000", "10000000").encode())
        assert b"413" in large.recv(100)


def whole(connection):
    """A reply of /healthz."""
    found = b""
    while not found.endswith(b"alive\n"):
        part = connection.recv(1000)
        assert part
        found += part
    return found


def test_heads_that_come_slowly_end_their_connection(server):
    """By patience, half a second here: without a byte, byte by byte, with empty lines, and on a connection that was
    used."""
    usual = f"GET /healthz HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEYS['app']}\r\n\r\n".encode()
    silent, slow, empty, used = (socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(4))
    used.sendall(usual)
    assert whole(used).endswith(b"alive\n")
    began, ended = time.monotonic(), {}
    for i in range(100):
        for one, byte in ((slow, usual[i : i + 1]), (empty, b"\r\n"), (used, usual[i : i + 1]), (silent, b"")):
            if one not in ended:
                try:
                    one.sendall(byte)
                    one.settimeout(0.01)
                    if one.recv(100) == b"":
                        ended[one] = time.monotonic() - began
                except TimeoutError:
                    pass
                except ConnectionError:
                    ended[one] = time.monotonic() - began
        if len(ended) == 4:
            break
        time.sleep(0.01)
    assert len(ended) == 4 and min(ended.values()) > 0.3 and i < len(usual) - 1  # no head was whole
    for one in (silent, slow, empty, used):
        one.close()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as patient:
        for _ in range(3):
            patient.sendall(usual)
            assert whole(patient).endswith(b"alive\n")
            time.sleep(0.6)  # an idle connection stays


def test_a_head_without_end_ends_its_connection(tmp_path):
    """Long before patience does: whoever sends one needs no key, and it would fill the memory."""
    server = Running(tmp_path, TOML.replace("patience = 0.5", "patience = 60"))
    first, long = b"GET /healthz HTTP/1.1\r\n", b"a" * 8000
    for start, more in ((first + b"x: ", long), (first, b"x: " + long + b"\r\n"), (b"GET /", long)):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as one:
            one.sendall(start)
            with pytest.raises(ConnectionError):
                one.sendall(more * 3000)  # 24 MB, of which some wait in the buffers of sockets
    assert server.ask("GET", "/healthz", headers={"x": "a" * 30_000})[0] == 200 and server.stop() == 0


def test_canaries_are_nowhere(server):
    body = {"arms": {"canary-name": [0.31622776601, 0.77459666924, 0.0]}, "request": "canary-request"}
    status, _, text = server.ask("POST", BANDIT + "choose", body, key="app")
    assert status == 200 and "canary-name" in text  # the answer, to whoever asked
    choice = json.loads(text)
    replies = [
        server.ask("POST", BANDIT + "reward", {"id": choice["id"], "reward": 0.77459666924}, key="app"),
        server.ask("POST", BANDIT + "reward", {"id": choice["id"], "reward": 100.77459666924}, key="app"),
        server.ask("POST", BANDIT + "reward", {"id": choice["id"], "canary-field": 0.77459666924}, key="app"),
        server.ask("POST", BANDIT + "choose", body | {"canary-field": 1}, key="app"),
        server.ask("POST", BANDIT + "choose", body | {"person": "canary-person"}, key="app"),
        server.ask("POST", BANDIT + "choose", body | {"available": ["canary-available"]}, key="app"),
        server.ask("POST", BANDIT + "choose", body | {"arms": [[0.31622776601, 7.0, 0.0]]}, key="app"),
        server.ask("POST", "/v1/bandits/canary-field/choose", body, key="app"),
        server.ask("POST", "/canary-field", body, key="app"),
        server.ask("GET", "/metrics", key="operator"),
        *(
            server.ask("GET", BANDIT + what, key="operator")
            for what in ("status", "certificate", "estimate", "history")
        ),
        server.ask("GET", "/dashboard/messages", key="operator"),
    ]
    assert [reply[0] for reply in replies] == [200, *[422] * 6, 404, 404, *[200] * 6]
    shown = repr(replies) + server.log.read_text()
    assert not [canary for canary in CANARIES if canary in shown]
    files = b"".join(path.read_bytes() for path in server.log.parent.glob("bandit.db*") if path.is_file())
    assert len(files) > 1000 and not [c for c in (*CANARIES, "canary-name") if c.encode() in files]
    assert np.float64(0.31622776601).tobytes() not in files


def wait(true, visitors):
    """While they are at work."""
    while not true():
        assert any(visitor.is_alive() for visitor in visitors)
        time.sleep(0.01)


def test_what_was_acknowledged_survives_kill_9(tmp_path):
    """Rewards are reported while the server is killed. Afterwards each of them counts once: where it was acknowledged,
    another value that is reported for it is not taken."""
    done, rng = {}, np.random.default_rng(0)

    def visit(address, start):
        with Client(address, "messages", patience=0) as client:
            for i in range(start, start + 1000):
                try:
                    choice = client.choose(np.eye(3), request=f"{i}")
                    done[i] = [choice, False]
                    client.reward(choice, 1.0)
                    done[i][1] = True
                except (Unavailable, Refused):
                    return

    server = Running(tmp_path)
    visitors = [threading.Thread(target=visit, args=(server.address, 1000 * k)) for k in range(4)]
    for visitor in visitors:
        visitor.start()
    wait(lambda: sum(acknowledged for _, acknowledged in list(done.values())) > 10, visitors)
    time.sleep(0.2 * rng.random())
    server.kill()
    for visitor in visitors:
        visitor.join()
    server = Running(tmp_path)
    with Client(server.address, "messages") as client:
        for i, (choice, acknowledged) in done.items():
            assert client.choose(np.eye(3), request=f"{i}").id == choice.id
            client.reward(choice, 0.0 if acknowledged else 1.0)
    assert server.stop() == 0
    bandit = linear(horizon=5000, first=None)
    expected = sum(contribution(bandit, np.eye(3)[choice.index], 1.0) for choice, _ in done.values())
    with afterwards(Place(str(tmp_path / "bandit.db"), None), bandit) as stored:
        assert np.array_equal(total(stored), expected)


def test_sigterm_answers_those_at_work(tmp_path):
    server, replies = Running(tmp_path), []

    def visit():
        with Client(server.address, "messages", patience=0) as client:
            while True:
                try:
                    replies.append(client.choose(np.eye(3)).id)
                except Unavailable:
                    return

    visitors = [threading.Thread(target=visit) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    wait(lambda: len(replies) > 10, visitors)
    assert server.stop() == 0
    for visitor in visitors:
        visitor.join()
    bandit = linear(horizon=5000, first=None)
    with afterwards(Place(str(tmp_path / "bandit.db"), None), bandit) as stored:
        assert stored.choices == len(set(replies)) > 10  # nobody's choice was made and not answered


COMPILING = """
import ctypes, os, signal, sys
from pathlib import Path
from reticent_serve.service import config, server
from reticent_devices.servers import command

class Compiling:
    def open(self):  # an exception in a callback of the compiler is printed, and compiling goes on
        ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.{kind}))()
        sys.exit("went on")

    def close(self):
        pass

signal.signal(signal.SIGTERM, signal.default_int_handler)  # as `reticent` does
command.application = lambda *_: Compiling().open()
{start}
"""
STARTS = {
    "server": "server.run(Compiling(), config.ServerSetting(port=0), print)",
    "role": "command.run('local', Path(sys.argv[1]), port=0, say=lambda text: None)",
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", ["SIGTERM", "SIGINT"])
def test_a_server_that_is_compiling_stops_at_once_with_one_line(kind, start, tmp_path):
    (tmp_path / "local.toml").write_text(
        '[local]\nkind = "local-irls"\nfeatures = 2\nbudget = {epsilon = 1.0, delta = 0.0}\ndatabase = "a.db"'
    )
    text = COMPILING.replace("{kind}", kind).replace("{start}", STARTS[start])
    command = [sys.executable, "-c", text, str(tmp_path / "local.toml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Stopped.\n")


def test_what_keeps_a_server_from_starting_is_one_line(tmp_path, monkeypatch, capsys):
    """A port that is taken, before anything is made; a folder that is not there."""
    (tmp_path / "serve.toml").write_text(TOML)
    (tmp_path / "missing.toml").write_text(TOML.replace("bandit.db", "missing/bandit.db"))
    said = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for name, given in (("serve.toml", port), ("missing.toml", "0")):
            monkeypatch.setattr(sys, "argv", ["reticent", "serve", str(tmp_path / name), "--port", given])
            with pytest.raises(SystemExit) as stop:
                cli.main()
            assert stop.value.code == 1
            said.append(capsys.readouterr().err.splitlines()[1:])
    assert said[0] == [f"Expected port {port} to be free, got one in use (--port)."]
    (line,) = said[1]  # not wrapped
    assert "missing/bandit.db, got: No such file or directory." in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["missing.toml", "serve.toml"]
