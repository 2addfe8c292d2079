"""A server whose machine's clock is set a day ahead for a moment, and back: people's clicks count as clicks."""

import json
import subprocess
import time

import numpy as np
import pytest

from serve_tests.service.servers import TOML, Running, afterwards, lines
from serve_tests.store.places import Place, contribution, linear, total

DAY, CLICKS = 24 * 3600, 40
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


@pytest.fixture
def ahead(tmp_path, monkeypatch):
    """The file that says by how many seconds."""
    (tmp_path / "ahead.c").write_text(LIBRARY)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "ahead.so", tmp_path / "ahead.c", "-ldl"], check=True)
    (tmp_path / "seconds").write_text("0")
    monkeypatch.setenv("TEST_CLOCK_AHEAD", str(tmp_path / "seconds"))
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "ahead.so"))
    return tmp_path / "seconds"


def test_a_clock_that_stood_a_day_ahead_makes_no_silence_of_clicks(ahead, tmp_path):
    """In 0.6.0 everybody who waited was taken to be silent at once, and the click that came then was acknowledged and
    dropped: 50 of 100."""
    server = Running(tmp_path, TOML.replace('"10 minutes"', '"10 minutes", default = 0.0'))

    def ask(route, body=None):
        status, _, text = server.ask("GET" if body is None else "POST", f"/v1/bandits/messages/{route}", body)
        assert status == 200
        return text

    def choose(count):
        body = lines(*[{"arms": np.eye(3).tolist()}] * count).decode()
        return [json.loads(line) for line in ask("choose:batch", body).splitlines()]

    def told():
        return [event["what"] for event in json.loads(ask("status"))["events"] if "clock was set" in event["what"]]

    def until(found):
        end = time.monotonic() + 60
        while not found():
            assert time.monotonic() < end
            time.sleep(0.05)

    try:
        clicked = choose(CLICKS)
        ahead.write_text(str(DAY))
        until(lambda: len(told()) == 1)  # a look at what waits has followed, or will
        silent = choose(1)
        time.sleep(1.2)  # two more looks
        assert json.loads(ask("status"))["entered"] == 0
        ahead.write_text("0")
        for one in clicked:
            assert "late" not in ask("reward", {"id": one["id"], "reward": 1.0})
        until(lambda: len(told()) == 2)
    finally:
        server.stop()
    bandit = linear(horizon=5000, first=None)
    expected = [contribution(bandit, np.eye(3)[one["index"]], float(one in clicked)) for one in (*clicked, *silent)]
    with afterwards(Place(str(tmp_path / "bandit.db"), None), bandit, default=0.0) as stored:
        assert stored.entered == CLICKS + 1 and np.array_equal(total(stored), sum(expected))
