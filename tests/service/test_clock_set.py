"""A server whose machine's clock is set a day ahead for a moment, and back: people's clicks count as clicks."""

import json
import subprocess
import time

import numpy as np
import pytest

from tests.service.servers import Running, lines

DAY = 24 * 3600
CLICKS = 40
# The system's clock as any process sees it, ahead by what a file says.
LIBRARY = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int out = real(id, now);
    long ahead = 0;
    if (id != CLOCK_REALTIME) return out;
    FILE *file = fopen(getenv("TEST_CLOCK_AHEAD"), "r");
    if (file) { if (fscanf(file, "%ld", &ahead) != 1) ahead = 0; fclose(file); }
    now->tv_sec += ahead;
    return out;
}
"""
TOML = """
[bandits.messages]
kind = "joint-lin-ucb"
dim = 3
horizon = 100000
budget = {epsilon = 10000.0, delta = 0.01}
durable = "bandit.db"
delay = 0.001
missing_as = 0.0
after = 3600
rate = 10
"""


@pytest.fixture
def ahead(tmp_path, monkeypatch):
    """The file that says by how many seconds."""
    (tmp_path / "ahead.c").write_text(LIBRARY)
    command = ["gcc", "-shared", "-fPIC", "-o", tmp_path / "ahead.so", tmp_path / "ahead.c", "-ldl"]
    subprocess.run(command, check=True)
    (tmp_path / "seconds").write_text("0")
    monkeypatch.setenv("TEST_CLOCK_AHEAD", str(tmp_path / "seconds"))
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "ahead.so"))
    return tmp_path / "seconds"


def test_a_clock_that_stood_a_day_ahead_makes_no_silence_of_clicks(ahead, tmp_path):
    """In 0.6.0 everybody who waited was taken to be silent at once, and the click that came then was acknowledged and
    dropped: 50 of 100. The noise is next to nothing here, so that the released sums show what was counted."""
    server = Running(tmp_path, TOML)

    def ask(route, body=None):
        status, _, text = server.ask("GET" if body is None else "POST", f"/v1/bandits/messages/{route}", body)
        assert status == 200
        return text

    def choose(count):
        body = lines(*[{"arms": np.eye(3).tolist()}] * count).decode()
        return [json.loads(line)["id"] for line in ask("choose:batch", body).splitlines()]

    def told():
        return [event["what"] for event in json.loads(ask("status"))["events"] if "clock was set" in event["what"]]

    def until(found):
        end = time.monotonic() + 60
        while not found():
            assert time.monotonic() < end
            time.sleep(0.05)

    try:
        ids = choose(CLICKS)
        ahead.write_text(str(DAY))
        until(lambda: len(told()) == 1)  # a look at what waits has followed, or will
        ask("choose", {"arms": np.eye(3).tolist()})
        time.sleep(1.2)  # two more looks
        ahead.write_text("0")
        for one in ids:
            ask("reward", {"id": one, "reward": 1.0})
        until(lambda: len(told()) == 2)
        before = json.loads(ask("status"))["version"]

        def released():
            choose(500)
            return json.loads(ask("status"))["version"] >= before + 2

        until(released)
        found = json.loads(ask("estimate"))
    finally:
        server.stop()
    assert np.sum(found["moment"]) == pytest.approx(CLICKS, abs=1.0)
