"""Servers for tests: real ones in a process of their own, and the application called in this one."""

import asyncio
import contextlib
import hashlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time

from reticent_serve.service import config as configs
from reticent_serve.service.app import Application
from serve_tests.store.places import WINDOW, Clock, settle

KEYS = {role: f"reticent_the-{role}'s-key" for role in ("app", "operator", "auditor")}
LINEAR = {
    "kind": "joint-glm",
    "features": 3,
    "budget": {"epsilon": 1.0, "delta": 1e-5},
    "reward": {"base_rate": 0.5, "window": WINDOW},  # what it adds does not depend on what was released
    "horizon": 5000,
    "database": "bandit.db",
    "delay": 0.0,
}
GLM = {key: value for key, value in LINEAR.items() if key != "horizon"} | {"reward": {"window": WINDOW}}
FIELDS = LINEAR | {  # with a schema, of 6 numbers
    "features": {
        "context": {"age": {"kind": "Number", "low": 0, "high": 100}},
        "arms": "disjoint",
        "actions": ["walk", "sleep"],
    }
}
TOML = """
[server]
patience = 0.5
[bandits.messages]
kind = "joint-glm"
features = 3
horizon = 5000
budget = {epsilon = 1.0, delta = 1e-5}
reward = {base_rate = 0.5, window = "10 minutes"}
database = "bandit.db"
delay = 0.0
"""


class Running:
    """A server in a process of its own; what it says is kept."""

    def __init__(self, folder, text=TOML, port=0):
        (folder / "serve.toml").write_text(text)
        self.log = folder / "log"
        with open(self.log, "ab") as log:
            command = [sys.executable, "-m", "reticent", "serve", str(folder / "serve.toml"), "--port", str(port)]
            self.process = subprocess.Popen(command, stderr=log, stdout=log, cwd=folder)
        started = self.log.read_text().count("Serving on") + 1
        while len(found := re.findall(r"Serving on (https?://127.0.0.1:(\d+))", self.log.read_text())) < started:
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        self.address, self.port = found[-1][0], int(found[-1][1])

    def ask(self, method, path, body=None, *, key=None, headers=None, timeout=20):
        """Status, headers and text of the reply."""
        if isinstance(body, dict | list):
            body = json.dumps(body)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        given = {"content-type": "application/json"} | (headers or {})
        given |= {"authorization": f"Bearer {KEYS.get(key, key)}"} if key else {}
        with contextlib.closing(connection):
            connection.request(method, path, body.encode() if isinstance(body, str) else body, given)
            response = connection.getresponse()
            return response.status, dict(response.headers), response.read().decode()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """As a deploy does; its exit code."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGTERM)
        return self.process.wait(120)


CLOCKS, OPEN = {}, []


def changed(setting, **options):
    """A bandit's setting with others in the place of its own; of a budget and a reward, those that are named. None: as
    by default."""
    out = setting | options
    out |= {part: setting.get(part, {}) | options[part] for part in ("budget", "reward") if part in options}
    out |= {part: {key: one for key, one in out[part].items() if one is not None} for part in ("budget", "reward")}
    return {key: one for key, one in out.items() if one is not None}


def application(folder, *, server=None, askers=(), clock=None, bandits=None, **options):
    """One bandit, "messages", in this process: open until `close` or the test's end. The clock of a folder stands
    still, unless told, and goes on by a second from one application to the next."""
    if clock is None:
        clock = CLOCKS.setdefault(folder, Clock())
        clock.now += 1.0
    bandits = bandits or {"messages": changed(LINEAR, **options)}
    document = {"bandits": bandits, "server": server or {}, "keys": list(askers)}
    app = Application(configs.placed(configs.convert(document), folder), clock)
    app.open()
    OPEN.append(app)
    return app


def stored(app):
    return app.served["messages"].stored


def afterwards(place, bandit, *, name="messages", **reward):
    """The bandit of a server that has stopped, when the deadlines of all its choices have passed."""
    clock = Clock()
    clock.now = time.time()
    found = place.open(bandit, reward={"window": None} | reward, name=name, clock=clock)
    settle(found)
    return found


def call(app, *requests):
    """(route, body, headers) each, at the same time: status, headers and body of the replies."""

    async def one(route, body, headers):
        method = "GET" if body is None else "POST"
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        path = route if route.startswith("/") else f"/v1/bandits/messages/{route}"
        given = [(b"content-type", b"application/json"), *headers]
        scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "headers": given}
        scope |= {"query_string": b"", "root_path": "", "http_version": "1.1", "scheme": "http"}
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"" if body is None else text}

        async def send(message):
            sent.append(message)

        await app(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"]), b"".join(m.get("body", b"") for m in sent[1:])

    async def together():
        return await asyncio.gather(*(one(*(*request, ())[:3]) for request in requests))

    return asyncio.run(together())


def reply(app, *request):
    """The JSON that one request is answered with."""
    return json.loads(call(app, (*request, None) if len(request) == 1 else request)[0][2])


def statuses(app, *requests):
    return [status for status, _, _ in call(app, *requests)]


def each_reply(app, route, *rows):
    """What each line of a batch is answered with."""
    return [json.loads(line) for line in call(app, (route, lines(*rows)))[0][2].splitlines()]


def page_of(app, *headers):
    ((status, _, body),) = call(app, ("/dashboard/messages", None, headers))
    assert status == 200
    return body.decode()


def bearer(role):
    return ((b"authorization", f"Bearer {KEYS.get(role, role)}".encode()),)


def askers(**options):
    """A key of each role, as a configuration has them."""
    return [
        {"name": role, "role": role, "hash": hashlib.sha256(key.encode()).hexdigest()} | options
        for role, key in KEYS.items()
    ]


def lines(*rows):
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)
