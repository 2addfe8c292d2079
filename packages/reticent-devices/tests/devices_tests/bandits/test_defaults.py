"""Every bandit works as it is made with its defaults, or says what it needs: no default is refused."""

import dataclasses
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np

from reticent import Bandit, Budget, JointGLM, Simulated
from reticent.core.live import Live
from reticent.core.memory import Resident
from reticent.registry import bandits, load
from reticent_devices import Embedded

ARMS = np.array([[0.8, 0.1], [0.1, 0.8]])


def fields(kind):
    return {f.name for f in dataclasses.fields(kind)}


def build(kind, **own):
    """By what every user has to say: the size, the horizon and the budget."""
    given = {"dim" if issubclass(kind, Live) else "features": 2} | {"horizon": 5000, "budget": Budget(4.0, 1e-6)}
    settings = {name: value for name, value in given.items() if name in fields(kind)}
    return Bandit(JointGLM(**settings), **own) if kind is JointGLM else kind(**settings, **own)


def test_defaults_work(registered):
    kind = load(*bandits()[registered])
    made = build(kind)
    chooser = made if isinstance(made, Resident) else made.device()
    assert chooser.choose(np.eye(2) if getattr(made, "_one_set", False) else ARMS).index in (0, 1)
    if "budget" in fields(kind):
        assert made.privacy.private


def test_one_seed_fixes_noise_and_policy(registered):
    kind = load(*bandits()[registered])

    def played(seed):
        made = build(kind, source=Simulated(seed))
        chooser = made if isinstance(made, Resident) else Embedded(made, pending=10)
        out = []
        for t in range(100):
            out.append(chooser.choose(np.eye(2) if getattr(made, "_one_set", False) else ARMS))
            chooser.observe(out[-1], float(t % 3 == 0))
        return [choice.index for choice in out]

    if kind is JointGLM or "source" in fields(kind):
        assert played(1) == played(1)


def test_another_operating_system_is_named():
    """Where there are no file locks, importing says so; and the package declares what it needs."""
    code = "import sys; sys.modules['fcntl'] = None; from reticent import LinUCB"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ImportError: Expected a POSIX system (Linux, macOS)" in done.stderr
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert "Operating System :: POSIX" in project["classifiers"]
