"""Ray sums a folder to the same bits. It needs the extra `ray`: `make test-ray`."""

import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from lab_tests.logs.test_learn_folder import make, rows, write
from reticent_lab import cluster
from reticent_lab.logs import parquet
from reticent_lab.logs.parquet import Folder
from serve_tests.bandits.test_learn_log import same

pytestmark = [
    pytest.mark.ray,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]


@pytest.fixture(scope="module", autouse=True)
def two_workers(tmp_path_factory):
    cluster.connect(tmp_path_factory.mktemp("ray"), workers=2)


def test_the_bits_are_those_of_one_machine(tmp_path, monkeypatch):
    folder, alone = write(rows(), tmp_path / "log"), make(first=150)
    refused = alone.learn_log(folder)
    monkeypatch.setattr(parquet, "WORTH", 1)
    monkeypatch.setattr(parquet, "AT_ONCE", 50)
    together = make(first=150)
    assert together.learn_log(Folder(tmp_path / "log", engine="ray")) == refused
    same(alone, together)


def test_actions_and_names(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "WORTH", 200)
    names = np.random.default_rng(1).choice(["water", "tea", "coffee"], 900, p=[0.05, 0.5, 0.45])
    folder = write(rows(width=2).with_columns(action=pl.Series(names)), tmp_path / "log")
    alone, together = make(first=300), make(first=300)
    refused = alone.learn_log(folder, actions=("coffee", "tea"))
    assert together.learn_log(Folder(tmp_path / "log", engine="ray"), actions=("coffee", "tea")) == refused
    same(alone, together)


STRANGER = """
import sys
from pathlib import Path
from reticent_lab import cluster
ray = cluster.connect(workers=1)
assert ray.get(ray.remote(lambda: 7).remote()) == 7
node = ray.nodes()[0]
assert len(ray.nodes()) == 1 and node["NodeManagerAddress"] == "127.0.0.1"
listening = [
    line.split()[1].split(":")
    for path in ("/proc/net/tcp", "/proc/net/tcp6")
    for line in Path(path).read_text().splitlines()[1:]
    if line.split()[3] == "0A"
]
here = [address for address, port in listening if int(port, 16) == node["NodeManagerPort"]]
assert here and all(address.endswith("0100007F") for address in here), here
print("alone")
"""


def test_a_cluster_that_somebody_started_here_is_not_joined(tmp_path):
    """Its address is where `ray start` writes it, and nobody answers there."""
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1234")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", STRANGER],
        env=plain | {"RAY_TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "alone\n", done.stderr
    assert [path.name for path in (tmp_path / "ray").iterdir()] == ["ray_current_cluster"]
