"""Roles for tests: real processes, which can be killed, and applications on sockets of this one."""

import contextlib
import http.client
import os
import re
import signal
import time
from pathlib import Path

import numpy as np

from reticent_devices.roles import wire
from reticent_devices.roles.shuffle import ShuffleClient

SERVING = r"Serving on http://127.0.0.1:(\d+)"
BUDGET = "{epsilon = 1.0, delta = 1e-6}"
ANALYZER = """
[analyzer]
kind = "shuffle-newton"
features = 2
reward = {{radius = 3.0}}
budget = {budget}
database = "analyzer.db"
options = {{first = {first}, malicious = 0}}
"""
SHUFFLER = """
[shuffler]
analyzer = "http://127.0.0.1:{analyzer}"
budget = {budget}
database = "shuffler.db"
witness = "../{{here}}.witness"
malicious = 0
{more}
"""
LOCAL = """
[local]
kind = "local-irls"
features = 2
reward = {radius = 3.0}
budget = {epsilon = 4.0, delta = 1e-6}
database = "local.db"
"""


class Process:
    """One role in a process of its own; what it says is kept in `log`."""

    def __init__(self, nursery, folder, role, text, port):
        folder.mkdir(exist_ok=True)
        path = folder / f"{role}.toml"
        path.write_text(text.replace("{here}", folder.name))
        self.folder, self.log = folder, folder / f"{role}.log"
        started = self._said() + 1
        self.number = nursery(path, role, port)
        until(lambda: self._said() >= started or not self.alive())
        assert self.alive(), self.log.read_text()
        limits = Path(f"/proc/{self.number}/limits").read_text()
        assert re.search(r"Max core file size +0 +0 ", limits)  # a core dump would hold reports and keys
        self.port = int(re.findall(SERVING, self.log.read_text())[-1])

    def _said(self):
        return len(re.findall(SERVING, self.log.read_text())) if self.log.exists() else 0

    def alive(self):
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        return True

    def kill(self, how=signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.number, how)
        until(lambda: not self.alive())


def ask(port, method, path, body=None, headers=None):
    """Status, headers and body of a reply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    with contextlib.closing(connection):
        connection.request(method, path, body, {"content-type": "application/octet-stream"} | (headers or {}))
        reply = connection.getresponse()
        return reply.status, dict(reply.headers), reply.read()


def analyzer(first=200, budget=BUDGET):
    return ANALYZER.format(first=first, budget=budget)


def shuffler(port, more="", budget=BUDGET):
    return SHUFFLER.format(analyzer=port, more=more, budget=budget)


def reports(billboard, count, seed=0):
    rng = np.random.default_rng(seed)
    return [report(billboard, rng) for _ in range(count)]


def total(sent, of):
    """What the message of a batch with each of these reports once is."""
    counts = sum(wire.decode_report(one, of)[1] for one in sent)
    return wire.encode_batch(of, len(sent), counts)


def report(billboard, rng, theta=(1.0, -1.0)):
    """Of one device, whose arms and reward are drawn from `rng`."""
    client, arms = ShuffleClient(billboard, rewards=(0.0, 1.0)), rng.normal(size=(4, len(theta)))
    arms /= np.linalg.norm(arms, axis=1)[:, None]
    choice = client.choose(arms)
    chance = 1 / (1 + np.exp(-arms[choice.index] @ theta))
    return client.randomize(choice, float(rng.random() < chance))


def until(true, seconds=120.0, why=lambda: ""):
    """What `true` returns as soon as it is true."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, f"waited too long {why()}"
        time.sleep(0.01)
    return found


def billboard(port):
    """The billboard that is shown, once there is one."""
    return until(lambda: (found := ask(port, "GET", "/billboard"))[0] == 200 and found[2])
