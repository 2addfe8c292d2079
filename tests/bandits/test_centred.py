"""JointGLM with base_rate= for vectors and for features of shared arms."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from tacit import Budget, JointGLM, Simulated, environments
from tacit.algorithms.onepass import centred, curvature
from tacit.features import Category, Number, Schema
from tacit.kernels.glm import Tuning
from tacit.mechanisms.saving import arrays

BUDGET = Budget(4.0, 1e-3)
PLANS = Category("free", "paid")
SCHEMA = Schema(context={"plan": PLANS}, action={"length": Number(0, 10), "topic": Category("a", "b")})


def make(**options):
    common = {"budget": BUDGET, "first": 12, "source": Simulated(1), "policy": default_rng(2), "base_rate": 0.05}
    return JointGLM(**{"dim": 3} | common | options)


def offers(rng, count=4):
    arms = rng.standard_normal((count, 3))
    return arms / np.maximum(np.linalg.norm(arms, axis=1, keepdims=True), 1.0)


def rounds(bandit, count, seed=0):
    """Indices of what was chosen."""
    rng, out = default_rng(seed), []
    for _ in range(count):
        arms = offers(rng)
        choice = bandit.choose(arms)
        bandit.observe(choice, float(rng.random() < 0.1 * np.exp(1.5 * arms[choice.index, 0])))
        out.append(choice.index)
    return out


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(arrays(one._state), arrays(other._state), strict=True))


def test_it_is_for_vectors_and_shared_arms():
    assert make()._form is centred and make(base_rate=None)._form is curvature
    shared = make(dim=0, features=SCHEMA)
    assert shared._form is centred and shared.contribution.skip == 1
    assert shared.contribution.longest == pytest.approx(math.sqrt(3 / 4))  # of four parts the constant is one
    told = make().privacy
    assert "centred rewards times features, 14 numbers" in told.releases[0].statistic
    assert "as base_rate is given" in told.releases[0].statistic
    assert any("(base_rate=)" in caveat for caveat in told.caveats)
    assert told.releases[0].sensitivity == pytest.approx(make().contribution.sensitivity)


@pytest.mark.parametrize(
    ("options", "got"),
    [
        ({"dim": 6, "blocks": 2}, "arms of blocks"),
        ({"dim": 101}, "more than 100 numbers"),
        ({"curvature": "released"}, 'curvature="released"'),
        ({"curvature": "none"}, 'curvature="none"'),
        ({"prior": (np.zeros(3), 1.0)}, "prior"),
        ({"warm": (np.zeros((1, 3)), [1.0])}, "warm"),
    ],
)
def test_what_it_refuses(options, got):
    with pytest.raises(ValueError, match=f"Expected base_rate with vectors.*got it with {got}"):
        make(**options)
    with pytest.raises(ValueError, match="with tuning, .* got base_rate"):
        make(tuning=Tuning(ridge=4.0))


@pytest.mark.parametrize(
    "options", [{"link": "probit"}, {"radius": 3.0}, {"radius": 3.0, "features": SCHEMA, "dim": 0}]
)
def test_what_has_no_effect_is_refused(options):
    with pytest.raises(ValueError, match=f"Expected no {next(iter(options))} with base_rate, where the chance of"):
        make(**options)


@pytest.mark.parametrize("options", [{}, {"hold": 7, "pending": 60}, {"hold": 30, "missing_as": 0.0}])
def test_the_compiled_loop_is_choose_and_observe(options):
    world = environments.ball(dim=3, link="logistic")
    started, block = world.start(default_rng(3), 240), world.block(240)
    started.fill(block)
    loop, single = (make(**options) for _ in range(2))
    loop.play(block)
    for t, arms in enumerate(block.arms):
        choice = single.choose(arms)
        assert choice.index == block.index[t]
        single.observe(choice, float(block.reward[t]))
    for bandit in (loop, single):
        bandit._step()
    assert loop._steps == single._steps > 6 and np.array_equal(loop.theta, single.theta) and loop.theta.all()
    pairs = zip(arrays(loop._state.prefix), arrays(single._state.prefix), strict=True)
    assert all(np.array_equal(*pair) for pair in pairs)


@pytest.mark.parametrize("options", [{}, {"hold": 9, "missing_as": 0.0, "pending": 50}])
def test_saved_and_loaded_it_goes_on(tmp_path, options):
    bandit = make(**options)
    rounds(bandit, 70)
    bandit.save(tmp_path / "b.json")
    again = JointGLM.load(tmp_path / "b.json")
    assert again._form is centred and same(again, bandit) and bandit._steps > 3
    assert rounds(again, 60, seed=1) == rounds(bandit, 60, seed=1) and same(again, bandit)
    assert str(again.privacy) == str(bandit.privacy)


def test_propensities_are_those_of_the_policy():
    """20 000 draws, within 4.5 standard errors (false alarm 3e-5 for four arms)."""
    bandit, rng = make(first=60), default_rng(4)
    rounds(bandit, 61)  # the next step is far from full
    asked = min(
        (offers(rng) for _ in range(300)), key=lambda arms: bandit.algorithm.chances(bandit._estimate, arms).max()
    )
    told = bandit.algorithm.chances(bandit._estimate, asked)
    assert told.sum() == pytest.approx(1.0, abs=1e-6) and np.count_nonzero(told > 0.001) > 1
    count = np.bincount(bandit._pick(np.repeat(asked[None], 20_000, axis=0)), minlength=4) / 20_000
    assert (np.abs(count - told) <= 4.5 * np.sqrt(told * (1 - told) / 20_000) + 1e-9).all()
    choice = bandit.choose(asked)
    assert choice.propensity == pytest.approx(told[choice.index], rel=1e-9)


def test_a_schema_s_constant_is_left_out():
    """Vectors of a schema, and the same without their constant and as long as they may be: the same sums."""
    whole, rest = make(dim=0, features=SCHEMA, first=1000), make(dim=SCHEMA.dim - 1, first=1000)
    rng, longest = default_rng(5), whole.contribution.longest
    for _ in range(20):
        asked, fields = {"plan": "paid"}, {"length": rng.uniform(0, 10), "topic": "b"}
        reward = float(rng.random() < 0.5)
        whole.observe(whole.choose(asked, actions={"it": fields}), reward)
        rest.observe(rest.choose([SCHEMA.vectors(asked, {"it": fields})["it"][1:] / longest]), reward)
    one, other = (arrays(bandit._state.prefix) for bandit in (whole, rest))
    assert all(np.allclose(*pair, atol=1e-9) for pair in zip(one, other, strict=True))
    assert any(part.any() for part in one)


def test_with_secure_noise_persons_and_forgetting():
    secure = JointGLM(dim=3, base_rate=0.05, budget=BUDGET, first=12)
    rounds(secure, 40)
    assert secure.privacy.private and secure.theta.all()
    assert make(max_rounds_per_person=2).mechanism.sigma == pytest.approx(2 * make().mechanism.sigma)
    forgets = make(forget=60, first=4)
    rounds(forgets, 60)
    assert forgets._steps > 10 and "forgotten in 60 rounds" in forgets.privacy.releases[0].statistic
