"""What Ray is asked for, with a package in its place that notes it: `make test-ray` has the real one."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

RAY = """
import json, os

def is_initialized():
    return False

def init(**options):
    session = options.get("_temp_dir")
    mode = os.stat(session).st_mode if session else None
    names = ("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "RAY_AUTH_MODE")
    print(json.dumps([options, mode, at_import, [os.environ.get(name) for name in names]]))

def shutdown():
    pass

at_import = os.environ.get("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER")
"""


def asked(folder, **environment):
    (folder / "ray.py").write_text(RAY)
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    path = os.pathsep.join([str(folder), *sys.path])
    command = [sys.executable, "-c", "from reticent_lab import cluster; cluster.connect(workers=2)"]
    done = subprocess.run(
        command, env=plain | environment | {"PYTHONPATH": path}, capture_output=True, text=True, check=True, timeout=100
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("environment", [{}, {"RAY_ADDRESS": ""}, {"RAY_ADDRESS": "local"}], ids=str)
def test_without_an_address_no_cluster_is_joined(tmp_path, environment):
    """Ray by itself would join the latest cluster that anybody has started on this machine."""
    options, mode, at_import, then = asked(tmp_path, **environment)
    session = Path(options.pop("_temp_dir"))
    assert stat.S_IMODE(mode) == 0o700 and not session.exists()  # deleted when the process ended
    assert {"address": "local", "include_dashboard": False, "num_cpus": 2}.items() <= options.items()
    assert at_import == "0" and then == ["0", "token"]  # it listens on 127.0.0.1, for those with the token


def test_an_address_is_left_to_ray(tmp_path):
    options, _, at_import, then = asked(tmp_path, RAY_ADDRESS="10.0.0.1:6379")
    assert not {"address", "num_cpus", "_temp_dir"} & options.keys()
    assert at_import is None and then == [None, None]
