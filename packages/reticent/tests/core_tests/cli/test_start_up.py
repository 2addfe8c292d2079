"""What is imported, and when: help comes at once, and a bandit brings along what it needs and no more."""

import os
import subprocess
import sys

import pytest

import reticent
from reticent import environments, registry

HEAVY = {"dp_accounting", "matplotlib", "opendp", "polars", "sklearn"}
SLOW = {"scipy.optimize", "scipy.signal", "scipy.stats"}
COMMAND = "import sys; sys.argv[0] = 'reticent'\nfrom reticent.cli import main\ntry: main()\nexcept SystemExit: pass\n"


def loaded(code, *arguments):
    """The modules that a fresh process has loaded after running that code."""
    code += "\nimport sys; print('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("LOADED ")[2].split())


def seconds(*command):
    """User and system time of a fresh process: the least of three."""
    times = []
    for _ in range(3):
        process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        times.append(usage.ru_utime + usage.ru_stime)
    return min(times)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["simulate", "--help"]])
def test_help_needs_no_numbers(arguments):
    assert not loaded(COMMAND, *arguments) & (HEAVY | {"numpy", "scipy", "numba", "msgspec"})


def test_an_unknown_name_is_refused_without_a_compiler():
    for arguments in (["privacy", "joint-glmm"],):
        assert not loaded(COMMAND, *arguments) & (HEAVY | {"scipy", "numba"})


def test_a_bandit_brings_along_what_it_needs():
    modules = loaded("from reticent import JointGLM")
    assert "numba" in modules and not modules & (HEAVY | SLOW | {"scipy.special", "typer", "rich"})
    assert not {name for name in modules if name.startswith(("reticent.experiments", "reticent.environments"))}
    assert {home for home in registry.algorithms().values() if home in modules} == {"reticent.joint"}


def test_serving_needs_no_slow_part_of_scipy():
    """From the first import to a release with secure noise, saved and loaded: nothing slow is loaded on the way."""
    code = """
import tempfile, numpy as np
from reticent import Bandit, Budget, JointGLM, Variant
bandit = Bandit(JointGLM(2, Budget(4.0, 1e-6), model=Variant(first=3)))
for _ in range(5):
    choice = bandit.choose(np.eye(2))
    bandit.observe(choice, 1.0)
assert choice.propensity > 0 and bandit.privacy.spent > 0
with tempfile.TemporaryDirectory() as folder:
    bandit.save(folder + "/bandit.json")
    assert Bandit.load(folder + "/bandit.json").choices == 5
"""
    assert not loaded(code) & (SLOW | HEAVY)


@pytest.mark.parametrize("client", ["local import LocalClient", "shuffle import ShuffleClient"])
def test_a_device_needs_numpy_alone(client):
    assert not loaded(f"from reticent_devices.roles.{client}") & (
        HEAVY | {"scipy", "numba", "msgspec", "typer", "rich"}
    )


def test_start_up_is_quick_beside_the_compiler():
    """CPU time against that of importing numba (a quarter of a second on a fast machine). Today help takes 0.7 and
    JointGLM 1.4 of it; before imports were put off they took 6 and 5."""
    numba = seconds("-c", "import numba")
    assert seconds("-m", "reticent", "--version") < 0.8 * numba and seconds("-m", "reticent", "--help") < 1.5 * numba
    assert seconds("-c", "from reticent import JointGLM") < 2.5 * numba


def test_every_name_is_where_the_registry_says():
    for name in reticent.__all__:
        assert getattr(reticent, name) is not None
    for names in (registry.bandits(), registry.ENVIRONMENTS):
        for home in names.values():
            assert callable(registry.load(*home))
    assert all(isinstance(getattr(environments, name), type) for _, name in registry.ENVIRONMENTS.values())
