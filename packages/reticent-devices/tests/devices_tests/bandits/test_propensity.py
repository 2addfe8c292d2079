"""The propensity that a bandit states is how often it makes that choice: every bandit, at three states.

False alarms: a frequency of DRAWS choices and a propensity from at least 4096 simulated ones differ by more than LIMIT
in one comparison of 3e8 at most (six standard deviations of the difference, normal tails); there are about 500
comparisons, and the choices' seeds are fixed.
"""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from core_tests.made import joint
from reticent import Budget, JointGLM, Simulated, Spec, environments
from reticent.core.onepass import View
from reticent.model.chances import Chance, Later
from reticent.registry import bandits, load
from reticent_devices.roles.device import Device

DRAWS = 4000
LIMIT = 6 * math.sqrt(0.25 / DRAWS + 0.25 / 4096) + 1 / 4096
WORLD = environments.ball(dim=3, arms=4, link="logistic", radius=2.0)
LINEAR = environments.ball(dim=3, arms=4, radius=1.0)
ONE_SET = environments.basis(dim=3, arms=3, link="logistic", radius=2.0)
IDENTITY_ONLY = {"fliphat", "joint-square-cb", "local-square-cb"}
ARMS = np.array([[0.7, 0.1, 0.2], [0.6, -0.5, 0.1], [0.1, 0.6, 0.5], [-0.3, 0.4, -0.6]])
HORIZON, ROUNDS = 6000, (1, 300, 5000)  # when it knows nothing, something, and much


def build(name, **options):
    kind = load(*bandits()[name])
    if "budget" in kind.__dataclass_fields__:
        options["budget"] = Budget(4.0, 1e-3)
    world = ONE_SET if getattr(kind, "_one_set", False) else LINEAR if name in IDENTITY_ONLY else WORLD
    return Spec(kind, **options).build(world, HORIZON, SeedSequence(7)), world


def furthest(bandit, arms):
    """The largest difference between a stated propensity and a frequency, over the arms that were chosen."""
    picks = bandit.memory.shown.pick(np.repeat(arms[None], DRAWS, axis=0))
    shares = np.bincount(picks, minlength=len(arms)) / DRAWS
    stated = {int(index): bandit.memory.shown.propensity(arms, int(index))() for index in np.unique(picks)}
    assert all(0 < value <= 1 for value in stated.values())
    return max(abs(stated[index] - shares[index]) for index in stated)


def test_stated_propensities_are_the_frequencies(registered):
    bandit, world = build(registered)
    fill, theta = world.start(default_rng(3), HORIZON)
    alike = ARMS - np.outer(ARMS @ theta, theta) / (theta @ theta)  # equally good: random choices stay random
    offers = (np.eye(3),) if world is ONE_SET else (ARMS, alike)
    for rounds in ROUNDS:
        block = world.block(rounds)
        fill(block)
        bandit.play(block)
        bandit.tend()
        assert all(furthest(bandit, arms) <= LIMIT for arms in offers)


FORMS = {
    "scores": ({"model": "scores"}, WORLD),
    "base rate": ({"base_rate": 0.2}, WORLD),
    "fields": ({}, environments.messages(disjoint=True)),
}


@pytest.mark.parametrize("form", FORMS)
def test_those_of_other_forms_are_too(form):
    """20 000 draws for whom the bandit is least certain, within 4.5 standard errors (false alarm 4e-5 for six arms)."""
    options, world = FORMS[form]
    bandit = Spec(JointGLM, budget=Budget(4.0, 1e-3), **options).build(world, HORIZON, SeedSequence(7))
    block = world.block(300)
    world.start(default_rng(3), HORIZON)[0](block)
    bandit.play(block)
    stated = [bandit.one_pass.chances(bandit.sums.estimator.estimate, arms) for arms in block.arms]
    least = int(np.argmin([each.max() for each in stated]))
    asked, told = block.arms[least], stated[least]
    likely = np.flatnonzero(told > 0.001)
    assert told.sum() == pytest.approx(1.0, abs=1e-6) and len(likely) > 1
    picks = bandit.memory.shown.pick(np.repeat(asked[None], 20_000, axis=0))
    shares = np.bincount(picks, minlength=len(asked)) / 20_000
    assert (np.abs(shares - told) <= 4.5 * np.sqrt(told * (1 - told) / 20_000) + 1e-9).all()
    assert [bandit.memory.shown.propensity(asked, index)() for index in likely] == pytest.approx(told[likely], rel=1e-9)


def test_a_wrong_propensity_is_found(monkeypatch):
    bandit, _ = build("joint-glm")
    monkeypatch.setattr(View, "propensity", lambda *_: Later(lambda: Chance(1.0, 0.0)))
    assert furthest(bandit, ARMS) > LIMIT


def test_no_device_can_forget_it():
    assert "chance" in Device.__abstractmethods__


def test_a_propensity_is_of_the_arms_that_were_given():
    """The caller's array may be filled again for the next user."""
    bandit = joint(features=2, budget=Budget(4.0, 1e-3), first=20, source=Simulated(3))
    rng = np.random.default_rng(0)
    for _ in range(200):
        bandit.observe(bandit.choose(rng.uniform(-0.6, 0.6, (3, 2))), float(rng.integers(2)))
    buffer = np.array([[0.9, 0.0], [-0.9, 0.0]])
    choice = bandit.choose(buffer)
    before = choice.propensity
    buffer[:] = buffer[::-1].copy()
    assert abs(choice.propensity - before) < 0.1


def test_a_propensity_is_exact_or_states_its_error(registered):
    """Of two that are computed from different draws: those of devices that draw differ, by a few stated errors (six of
    their difference: one in 5e8 comparisons); all others are the same each time."""
    bandit, world = build(registered)
    block = world.block(400)
    world.start(default_rng(3), HORIZON)[0](block)
    bandit.play(block)
    arms = np.eye(3) if world is ONE_SET else ARMS
    choice = bandit.choose(arms)
    first, again = (bandit.memory.shown.propensity(arms, choice.index) for _ in range(2))
    error = getattr(first, "error", 0.0)
    assert abs(first() - again()) <= 6 * math.sqrt(2) * error and choice.propensity_error >= 0
