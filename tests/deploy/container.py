"""The image of deploy/Dockerfile, built without a daemon and started: python -m pytest tests/deploy/container.py

As root on Debian, with `buildah` and `mmdebstrap` from its packages, in about ten minutes. No registry is asked:
Debian's own Python stands in for python:3.12-slim. All steps are the Dockerfile's own, and what they leave is run as
the image says: its user, its environment, its command. Where pip has settings on this machine, its steps have them."""

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from reticent_serve.service import Client
from reticent_serve.service.command import new_key
from tests.deploy.outside import program
from tests.deploy.test_files import DEPLOY

ROOT, BASE = DEPLOY.parent, "docker.io/library/python:3.12-slim"
DEBIAN = ("--variant=minbase", "--include=python3,python3-venv,ca-certificates")
CODENAME = platform.freedesktop_os_release()["VERSION_CODENAME"]


class Buildah:
    """With a storage of its own."""

    def __init__(self, folder):
        self.command = [program("buildah"), "--root", str(folder / "storage"), "--runroot", str(folder / "run")]

    def __call__(self, *arguments):
        done = subprocess.run([*self.command, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.strip()


def pip_settings(folder):
    """The volumes by which pip in a build finds what pip finds here."""
    said = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    given = dict(line.split("=", 1) for line in said.stdout.splitlines())
    values = {name.split(".")[-1]: value.strip("'\"") for name, value in given.items()}
    (folder / "pip.conf").write_text("[global]\n" + "".join(f"{name} = {value}\n" for name, value in values.items()))
    words = " ".join(values.values()).split()
    paths = {Path(urlsplit(word).path if word.startswith("file:") else word) for word in words}
    local = {Path(*path.parts[:3]) if path.is_dir() else path for path in paths if path.is_absolute() and path.exists()}
    mounted = [f"{path}:{path}:ro" for path in sorted(local)] + [f"{folder / 'pip.conf'}:/etc/pip.conf:ro"]
    return [part for volume in mounted for part in ("--volume", volume)]


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    """A container of the image, and what runs in it."""
    if os.geteuid():
        pytest.fail("Expected root, who alone may change roots, got another user.", False)
    folder = tmp_path_factory.mktemp("image")
    buildah, base = Buildah(folder), folder / "base.tar"
    subprocess.run([program("mmdebstrap"), *DEBIAN, CODENAME, base], check=True)
    made = buildah("from", "scratch")
    buildah("add", made, base, "/")
    base.unlink()
    buildah("run", "--isolation", "chroot", made, "--", "ln", "-s", "python3", "/usr/bin/python")
    buildah("commit", "--rm", made, BASE)
    chroot = ["--isolation", "chroot", "--pull-never", *pip_settings(folder)]
    buildah("bud", *chroot, "-f", DEPLOY / "Dockerfile", "-t", "reticent", ROOT)
    try:
        yield buildah, buildah("from", "--pull-never", "localhost/reticent")
    finally:
        buildah("rm", "--all")
        shutil.rmtree(folder, ignore_errors=True)


def test_it_serves_as_its_user_and_goes_on_after_a_restart(container, tmp_path):
    """deploy/serve.toml with SQLite in place of PostgreSQL: a decision, a reward, SIGTERM, and the same count again."""
    buildah, name = container
    config = json.loads(buildah("inspect", name))["OCIv1"]["config"]
    assert (config["User"], config["Entrypoint"]) == ("reticent", ["reticent"])
    keys = {role: new_key(role, role) for role in ("app", "operator")}
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    text = (DEPLOY / "serve.toml").read_text().replace("[server]", f"[server]\nport = {address.rpartition(':')[2]}")
    where = tomllib.loads(text)["bandits"]["messages"]["database"]
    text = text.replace(where, "/var/cache/reticent/messages.db") + "".join(lines for _, lines in keys.values())
    (tmp_path / "serve.toml").write_text(text)
    (tmp_path / "serve.toml").chmod(0o644)
    volume = f"{tmp_path / 'serve.toml'}:{config['Cmd'][-1]}:ro"
    command = [*buildah.command, "run", "--isolation", "chroot", "--volume", volume, name, "--"]
    for choices in (1, 2):
        server = subprocess.Popen([*command, *config["Entrypoint"], *config["Cmd"]])
        try:
            wait(f"{address}/readyz", server)
            with Client(address, "messages", key=keys["app"][0]) as client:
                choice = client.choose(np.eye(3), person=f"p{choices}")
                assert choice.index in range(3) and client.reward(choice, 1.0)
            with Client(address, "messages", key=keys["operator"][0]) as client:
                assert client.status()["choices"] == choices
            assert {os.stat(f"/proc/{pid}").st_uid for pid in serving(server)} == {8321}
        finally:
            for pid in serving(server):
                os.kill(pid, signal.SIGTERM)
            ended = server.wait(60)
        assert ended == 0


def wait(address, server):
    for _ in range(600):
        assert server.poll() is None, "Expected a server that starts, got one that ended."
        try:
            with urllib.request.urlopen(address, timeout=5) as reply:
                assert reply.status == 200
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("Expected a server that is ready within a minute, got none.")


def serving(server):
    """The processes of `reticent serve` below that one."""
    parents, words = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            words[int(folder.name)] = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended
            continue
    below = {server.pid}
    for _ in range(8):
        below |= {pid for pid, parent in parents.items() if parent in below}
    return [pid for pid in below if b"serve" in words[pid] and b"python" in words[pid][0]]
