"""What needs nginx and systemd, which `make` does not install: python -m pytest tests/deploy/outside.py"""

import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from reticent_serve.service import Client
from serve_tests.service import certificates
from serve_tests.service.servers import TOML, Running
from serve_tests.store.conftest import folder, on_postgres, postgres  # noqa: F401
from tests.deploy.test_files import NGINX, UNIT

EYE = np.eye(3)


def program(name):
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"Expected {name} on the path, got none.", False)
    return found


def test_systemd_takes_the_unit(tmp_path):
    unit = tmp_path / "reticent@8321.service"
    here = UNIT.replace("/opt/reticent/bin/reticent", sys.executable).replace("User=reticent\n", "")
    unit.write_text(here)
    done = subprocess.run([program("systemd-analyze"), "verify", unit], capture_output=True, text=True, check=True)
    assert not done.stderr
    unit.write_text(here.replace("ProtectHome=yes", "ProtectHome=perhaps"))
    done = subprocess.run([program("systemd-analyze"), "verify", unit], capture_output=True, text=True, check=False)
    assert "perhaps" in done.stderr


@pytest.fixture
def nginx(tmp_path, monkeypatch):
    """deploy/nginx.conf, with ports of this machine; its processes end with the test."""
    (tmp_path / "tls").mkdir()
    certificates.write(tmp_path / "tls" / "certificate.pem", tmp_path / "tls" / "key.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "tls" / "certificate.pem"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = []

    def start(ports):
        text = NGINX.replace("listen 443", f"listen 127.0.0.1:{port}").replace("/etc/nginx/tls", f"{tmp_path}/tls")
        for name, one in zip(("reticent-1:8321", "reticent-2:8321"), ports, strict=True):
            text = text.replace(name, f"127.0.0.1:{one}")
        text = text.replace("error_log stderr", f"error_log {tmp_path}/error")
        temporary = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"user root;\ndaemon off;\npid {tmp_path}/pid;\nevents {{}}\nhttp {{\n{temporary}{text}}}\n"
        )
        command = [program("nginx"), "-c", tmp_path / "nginx.conf", "-e", tmp_path / "error", "-p", tmp_path]
        subprocess.run([*command, "-t"], capture_output=True, check=True)
        running.append(subprocess.Popen(command))
        while (tmp_path / "pid").exists() is False or not (tmp_path / "pid").read_text():
            assert running[0].poll() is None
            time.sleep(0.02)
        return f"https://127.0.0.1:{port}"

    yield start
    for process in running:
        process.terminate()
        process.wait(10)


def test_workers_behind_nginx_are_replaced_one_by_one(on_postgres, tmp_path, nginx):  # noqa: F811
    """A rolling deploy, and then a kill -9, while visitors come: each has one answer, and counts once."""
    text = TOML.replace("bandit.db", on_postgres.where) + f'keys = "{on_postgres.keys}"\n'
    folders = [tmp_path / "one", tmp_path / "two"]
    for each in folders:
        each.mkdir()
    workers = [Running(each, text) for each in folders]
    address = nginx([worker.port for worker in workers])
    ids, stop = [], threading.Event()

    def visit(who):
        with Client(address, "messages") as client:
            for i in range(100_000):
                if stop.is_set():
                    return
                choice = client.choose(EYE, request=f"{who} {i}")
                client.reward(choice, 1.0)
                ids.append(choice.id)

    visitors = [threading.Thread(target=visit, args=(who,)) for who in range(4)]
    for visitor in visitors:
        visitor.start()
    for i, end in ((0, Running.stop), (1, Running.stop), (0, Running.kill)):
        time.sleep(0.5)
        end(workers[i])
        workers[i] = Running(folders[i], text, port=workers[i].port)
    time.sleep(0.5)
    stop.set()
    for visitor in visitors:
        visitor.join(60)
    with Client(address, "messages") as client:
        assert 100 < len(ids) == len(set(ids)) <= client.status()["choices"]  # a number may be lost with its worker
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as slow:
        slow.settimeout(30)
        assert slow.recv(1) == b""  # who says nothing is let go
    assert not re.search("messages", (tmp_path / "error").read_text()) and not list(tmp_path.rglob("*access*"))
    for worker in workers:
        assert worker.stop() == 0
