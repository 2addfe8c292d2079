"""Ray does a sweep to the same bits, and goes on where a killed one stopped. By `make test-ray`."""

import os
import signal
import stat
import subprocess
import sys
import time

import msgspec
import pytest

from reticent import Budget, JointGLM, LinUCB, Spec, environments
from reticent_lab import cluster
from reticent_lab.experiments import disk_cache, sweeps
from reticent_lab.experiments.sweeps import simulate

pytestmark = [
    pytest.mark.ray,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
WORLDS = [environments.ball(dim=3, arms=5, link="logistic"), environments.basis(dim=3, arms=3, link="logistic")]
SPECS = [Spec(LinUCB), Spec(JointGLM, budget=Budget(1.0, 1e-3))]
LONG = """
from reticent import LinUCB, Spec, environments
from reticent_lab.experiments.sweeps import simulate
world = environments.ball(dim=20, arms=50)
simulate([Spec(LinUCB)], world, horizon=20_000, runs=12, seed=4, out={out!r}, workers=2, engine={engine!r})
"""


@pytest.fixture(scope="module", autouse=True)
def two_workers(tmp_path_factory):
    cluster.connect(tmp_path_factory.mktemp("ray"), workers=2)


def same(one, other):
    """All but the time that it took."""
    plain = [[msgspec.structs.replace(run, us_per_round=0.0) for run in result] for result in (one, other)]
    assert plain[0] == plain[1]


def test_the_bits_are_those_of_threads(tmp_path):
    settings = {"horizon": 1000, "runs": 3, "seed": 8}
    alone, shares = simulate(SPECS, WORLDS, **settings), []
    together = simulate(SPECS, WORLDS, **settings, engine="ray", out=tmp_path, progress=shares.append)
    same(alone.runs, together.runs)
    assert shares == sorted(shares) and shares[-1] == 1.0
    same(simulate(SPECS, WORLDS, **settings, out=tmp_path).runs, together.runs)  # kept runs serve both engines


def test_work_is_handed_out_by_the_second(monkeypatch):
    """Forty runs of 60 ms for two workers: each is handed about 17, and gives the rest back."""
    handed = []
    monkeypatch.setattr("reticent_lab.cluster.Workers.submit", _noting(handed))
    done = []
    sweeps.on_ray(_slow, range(40), lambda number, _: done.append(number), lambda _: None, folder=None, workers=2)
    assert sorted(done) == list(range(40)) and [len(numbers) for numbers in handed[:2]] == [20, 20]
    assert 3 <= len(handed) <= 6


def test_other_code_on_a_worker_is_refused():
    with pytest.raises(ValueError, match="the code of the calling process"):
        sweeps.some(_slow, "other", [1])


def test_what_goes_wrong_in_a_run_is_raised():
    with pytest.raises(ZeroDivisionError):
        sweeps.on_ray(lambda number, report: 1 // 0, [1], print, print, folder=None, workers=2)


def test_a_killed_sweep_goes_on(tmp_path):
    """kill -9 of the calling process: its cluster goes with it, finished runs stay, and the rest is as it would have
    been. Its token is in the work folder, for its owner alone."""
    out = tmp_path / "out"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", LONG.format(out=str(out), engine="ray")]
    first = subprocess.Popen(command, env=environment | {"HOME": str(tmp_path / "home")})
    deadline = time.monotonic() + 120
    while len(list(out.glob("runs/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert stat.S_IMODE((out / "ray-token").stat().st_mode) == 0o600
    first.send_signal(signal.SIGKILL)
    first.wait()
    before = {path: path.read_bytes() for path in out.glob("runs/*.json")}
    assert 3 <= len(before) < 12 and not (tmp_path / "home" / ".ray").exists()
    subprocess.run(command, env=environment, check=True, timeout=200)
    assert not (out / "ray-token").exists()
    after = {path: path.read_bytes() for path in out.glob("runs/*.json")}
    assert len(after) == 12 and all(after[path] == data for path, data in before.items())
    local = tmp_path / "local"
    subprocess.run([sys.executable, "-c", LONG.format(out=str(local), engine="local")], check=True, timeout=200)
    for path in after:
        same(*([disk_cache.read(one, label="")] for one in (path, local / "runs" / path.name)))


def _slow(number, report):
    time.sleep(0.06)
    return number


def _noting(handed):
    submit = cluster.Workers.submit

    def noting(self, item):
        handed.append(item)
        submit(self, item)

    return noting
