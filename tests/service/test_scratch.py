"""Scratch bandits: settings of the served one, people of their own, and an audit of a real server over HTTP."""

import asyncio
import http.server
import json
import subprocess
import sys
import threading

import pytest

from tacit.audit import running
from tacit.audit.remote import Remote
from tacit.errors import Unavailable
from tacit.service import config as configs
from tacit.service.calls import Refused
from tests.service.servers import LINEAR, Running

SCRATCH = {"scratch_of": "messages", "durable": "scratch.db", "hold": 0.05, "delay": 0.0}
TOML = """
[bandits.messages]
kind = "joint-lin-ucb"
dim = 3
horizon = 5000
budget = {epsilon = 4.0, delta = 1e-6}
durable = "bandit.db"
hold = "1 day"

[bandits.scratch]
scratch_of = "messages"
durable = "scratch.db"
hold = 0.05
delay = 0.0
"""


def test_a_scratch_bandit_has_the_settings_of_the_served_one_and_nobody_of_its_people():
    document = {"bandits": {"messages": LINEAR | {"population": "visitors"}, "scratch": SCRATCH}}
    made = configs.convert(document).bandits
    one, other = made["messages"], made["scratch"]
    own = {"durable", "hold", "delay", "population", "scratch_of"}
    for field in set(one.__struct_fields__) - own:
        assert getattr(one, field) == getattr(other, field)
    assert other.population == "scratch scratch" and one.scratch_of is None and other.scratch_of == "messages"


@pytest.mark.parametrize(
    ("scratch", "message"),
    [
        (SCRATCH | {"radius": 2.0}, "Expected scratch_of, durable, keys, hold and delay alone.*got radius"),
        (SCRATCH | {"population": "visitors"}, "got population"),
        (SCRATCH | {"scratch_of": "mesages"}, "Did you mean messages"),
        (SCRATCH | {"scratch_of": "scratch"}, "the name of a bandit in scratch_of"),
        ({"scratch_of": "messages"}, "durable"),
    ],
)
def test_what_a_scratch_bandit_may_say(scratch, message):
    with pytest.raises(ValueError, match=message):
        configs.convert({"bandits": {"messages": LINEAR, "scratch": scratch}})


def test_a_server_is_audited_by_the_command_line_and_its_people_are_left_alone(tmp_path):
    server = Running(tmp_path, TOML)
    try:
        given = ["--url", server.address, "--config", str(tmp_path / "serve.toml"), "--choices", "150"]
        done, refused, wrong = (
            subprocess.run(
                [sys.executable, "-m", "tacit", "audit", *names, *given, "--json"],
                capture_output=True,
                text=True,
                check=False,
                timeout=200,
            )
            for names in (["scratch"], ["messages"], [])
        )
        status = json.loads(server.ask("GET", "/v1/bandits/messages/status")[2])
    finally:
        server.stop()
    found = json.loads(done.stdout)
    assert done.returncode == 0 and not found["convicted"] and found["canaries"] >= running.FEWEST
    assert found["epsilon"] == pytest.approx(4.0, rel=1e-6) and found["choices"] <= 150
    assert refused.returncode == 1 and "Expected a scratch bandit" in refused.stderr and status["choices"] == 0
    assert wrong.returncode == 1 and "the name of one scratch bandit" in wrong.stderr


class Stranger(http.server.BaseHTTPRequestHandler):
    """Answers every request with a page."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    def log_message(self, *_):
        pass


def test_who_is_no_server_of_tacit_is_told():
    stranger = http.server.HTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=stranger.serve_forever)
    thread.start()
    try:
        ask = Remote(f"http://127.0.0.1:{stranger.server_port}", "scratch", app=None, operator=None)
        with pytest.raises(Refused, match="Expected a reply of tacit, got another"):
            asyncio.run(ask("status"))
    finally:
        stranger.shutdown()
        stranger.server_close()
        thread.join()
    with pytest.raises(Unavailable, match="Expected a reply of http://127.0.0.1"):
        asyncio.run(ask("status"))
