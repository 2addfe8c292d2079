"""Warming up compiles all that a bandit runs later, and leaves the bandit as it was."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from numpy.random import default_rng

from core_tests.made import joint
from core_tests.mechanisms.test_grid import Given
from reticent import Bandit, Budget, Simulated, cli
from reticent.core import bandit as bandits
from reticent.core.memory import Resident
from reticent.features import Category, Schema
from reticent.mechanisms.saving import arrays
from reticent_devices import Embedded, LocalIRLS, ShuffleNewton
from tests import registered

BUDGET = Budget(4.0, 1e-4)
# In a fresh process, bandit after bandit: warm up, use, and list what was compiled (or read from disk) in use.
USE = """
import dataclasses, sys
import numpy as np
from reticent import Budget, JointGLM, Simulated, registry
from reticent_devices import Embedded
from reticent.core.live import Live
from reticent.core.memory import Resident
from reticent.errors import NotSecure
from core_tests.made import any_kind

def compiled():
    kernels = [v for name, m in list(sys.modules.items()) if name.startswith("reticent") for v in vars(m).values()]
    kernels = {id(v): v for v in kernels if hasattr(v, "overloads") and hasattr(v, "py_func")}.values()
    return {(v.py_func.__module__, v.py_func.__name__, str(types)) for v in kernels for types in v.overloads}

rng = np.random.default_rng(5)
for name in sys.argv[1:]:
    kind = registry.load(*registry.bandits()[name])
    fields = {f.name for f in dataclasses.fields(kind)}
    known = {"horizon": 5000, "budget": Budget(4.0, 1e-4)}
    known |= {"first": 60} if issubclass(kind, Live | JointGLM) or name == "shuffle-sblb" else {}
    one_set = getattr(kind, "_one_set", False)
    known |= {"length_scale": 0.01} if one_set else {}
    settings = {key: value for key, value in known.items() if key in fields}
    try:
        made = any_kind(kind, features=3, **(known if kind is JointGLM else settings))
    except NotSecure:
        made = any_kind(kind, features=3, **settings, source=Simulated(1))
    made.warm_up()
    before = compiled()
    bandit = made if isinstance(made, Resident) else Embedded(made)
    for t in range(250):
        arms = rng.normal(size=(4, 3))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        arms = np.eye(3) if one_set else arms
        arms.flags.writeable = t % 2 == 0
        choice = bandit.choose(arms)
        bandit.observe(choice, float(rng.random() < 0.5))
    assert choice.propensity > 0
    bandit.choose_many(np.stack([arms, arms]))
    late = compiled() - before
    assert not late, (name, late)
    assert bandit.privacy.epsilon is None or bandit.privacy.spent > 0, name  # something was released meanwhile
"""


def test_nothing_is_left_to_compile_for_any_bandit(registering):
    command = [sys.executable, "-c", USE, *registered.bandits(registering)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def everything(made):
    """All that a bandit or server knows, its generators included."""
    learner = made.memory.learner if isinstance(made, Resident) else made
    state, policy = (learner.state if isinstance(made, Resident) else made._state), learner.policy
    parts = [leaf.tobytes() for leaf in arrays(state)]
    parts += [repr(policy.bit_generator.state) if policy is not None else None]
    parts += [repr(made.source.generator.bit_generator.state) if isinstance(made.source, Simulated) else None]
    return [*parts, str(made.privacy)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: joint(features=2, budget=BUDGET),
        lambda: joint(features=2, budget=BUDGET, source=Simulated(3), policy=default_rng(4)),
        lambda: LocalIRLS(2, BUDGET, source=Simulated(3), policy=default_rng(4)),
        lambda: ShuffleNewton(2, BUDGET),
    ],
)
def test_the_bandit_stays_as_it_was(make, tmp_path):
    made = make()
    bandit = made if isinstance(made, Bandit) else Embedded(made)
    for reward in (0.0, 1.0, 1.0):
        bandit.observe(bandit.choose(np.eye(2)), reward)
    made.save(tmp_path / "made.json")
    before, files = everything(made), {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert bandit.warm_up() > 0 and everything(made) == before
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files and bandit.choices == 3
    bandit.observe(bandit.choose(np.eye(2)), 0.0)


def test_settings_that_are_too_large_or_too_small_for_a_twin():
    for made in (
        joint(features=2, budget=Budget(0.01, 1e-9), first=10**6),
        joint(features=2, budget=BUDGET, horizon=3),
        ShuffleNewton(2, Budget(0.1, 1e-9)),
    ):
        assert made.warm_up() > 0


def test_it_announces_itself(caplog, capsys, monkeypatch):
    with caplog.at_level(logging.INFO, "reticent"):
        joint(features=2, budget=BUDGET).warm_up()
    assert [record.message.partition(":")[2][:6] for record in caplog.records] == [" compi", " ready"]
    monkeypatch.setattr(sys, "argv", ["reticent", "warm-up", "joint-glm", "shuffle-glm"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, err = capsys.readouterr()
    assert stop.value.code == 0 and out == ""
    assert "JointGLM: compiling what it needs." in err and "ShuffleGLM: ready after" in err


def test_a_source_of_the_callers_own_is_not_drawn_from():
    drawn = []
    joint(features=2, budget=BUDGET, source=Given(lambda *counts: drawn.append(counts))).warm_up()
    assert not drawn


@pytest.mark.parametrize("rate", [None, 0.03])
def test_sums_by_fields_are_rehearsed_as_such(rate, monkeypatch):
    schema = Schema(context={"plan": Category("free", "paid")}, arms="disjoint", actions=("a", "b", "c"))
    made = joint(features=schema, base_rate=rate, budget=BUDGET)
    twins, play_made_up = [], bandits.compiling.play_made_up
    monkeypatch.setattr(
        bandits.compiling, "play_made_up", lambda twin, **how: (twins.append(twin), play_made_up(twin, **how))
    )
    assert made.warm_up() > 0 and made.privacy.spent == 0
    (twin,) = twins
    assert twin.one_pass.learnt.contribution == made.one_pass.learnt.contribution
