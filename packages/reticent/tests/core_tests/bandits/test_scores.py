"""JointGLM without curvature: scores alone."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from core_tests import disjoint
from core_tests.made import joint
from reticent import Budget, JointGLM, Simulated, Spec, Uniform, environments, simulate
from reticent.algorithms import prior
from reticent.features import Number, Schema
from reticent.kernels.glm import Tuning
from reticent.kernels.rounds import Schedule
from reticent.model import links
from reticent.model.scores import PACE, REACH, TURN
from reticent.models import choose, scores
from reticent.models.protocol import ModelSettings
from reticent.models.scores import Scores
from reticent.privacy import gaussian

BUDGET = Budget(4.0, 1e-3)


def make(**options):
    common = {"budget": BUDGET, "radius": 2.0, "model": "scores", "source": Simulated(1), "policy": default_rng(2)}
    return joint(**common | options)


def settings(dim, blocks, mu):
    """Without a schema, and all else as it is by default."""
    numbers = {"dim": dim, "blocks": blocks, "low": 0.0, "high": 1.0, "radius": 1.0, "unit": 1.0, "mu": mu}
    unset = dict.fromkeys(("schema", "base_rate", "forget"))
    return ModelSettings(**numbers, **unset, link=links.logistic, tuning=Tuning(), prior=prior.nothing(blocks))


def play(bandit, rows, rewards):
    """Each round offers the rows; returns what was chosen."""
    out = []
    for t, offered in enumerate(rows):
        choice = bandit.choose(offered)
        bandit.observe(choice, rewards[t])
        out.append(choice.index)
    return out


def test_rows_of_blocks_are_vectors_with_zeros():
    """The same noise, the same draws: choices, sums and estimates are those of the vectors."""
    rng, schema = default_rng(0), disjoint.schema(3, numbers=2)
    people = [{"x0": x, "x1": y} for x, y in rng.uniform(-1, 1, (200, 2))]
    rewards, vectors = rng.integers(2, size=200), [schema.rows(person)[1] for person in people]
    parts, whole = make(features=schema, first=10), make(features=15, first=10)
    assert parts.plan.mechanism.size == whole.plan.mechanism.size == 15
    assert play(parts, people, rewards) == play(whole, vectors, rewards)
    assert np.allclose(parts.theta, whole.theta, rtol=1e-9) and np.abs(parts.theta).max() > 0
    assert np.allclose(
        parts.one_pass.chances(parts.sums.estimator.estimate, schema.placed(people[0])[1]),
        whole.one_pass.chances(whole.sums.estimator.estimate, vectors[0]),
    )


def test_what_is_released_is_told():
    told = joint(features=120, budget=BUDGET).privacy.releases[0].statistic
    assert "sums of scores, 120 numbers" in told and "without curvature, as dimensions are 100 or more" in told
    small = joint(features=2, budget=BUDGET)
    assert "with curvature, as dimensions are fewer than 50" in small.privacy.releases[0].statistic
    assert small.plan.mechanism.size == 5 and make(features=2).plan.mechanism.size == 2
    exact = make(features=2).privacy.releases[0]
    assert exact.statistic.endswith("2 numbers, each user once")
    assert exact.sensitivity == 2.0 and make(features=2).privacy.epsilon == pytest.approx(4.0, rel=1e-6)


def test_auto_goes_by_public_numbers_alone():
    """Dimensions; and where the horizon is known, rounds, budget and how often each block is seen."""
    cases = {
        False: [(99, 1, None), (49, 1, 100), (60, 1, 10**6), (60, 10, 10_000), (200, 4, None)],
        True: [(100, 1, None), (60, 1, 10_000), (60, 10, 200), (400, 4, None), (400, 4, 10**7)],
    }
    for taken, several in cases.items():
        for dim, blocks, horizon in several:
            asked = settings(dim, blocks, gaussian.mu(Budget(1.0, 1e-6)))
            found, _ = choose.model(None, asked, horizon)
            assert isinstance(found, Scores) == taken, asked
    made = joint(features=60, horizon=10_000, budget=Budget(40.0, 1e-2), source=Simulated(0))
    assert not isinstance(made.one_pass.learnt, Scores)
    with pytest.raises(ValueError, match="curvature"):
        make(features=2, model="some")


@pytest.mark.parametrize(
    ("world", "epsilon", "share"),
    [
        (environments.ball(dim=10, arms=10, link="logistic", radius=3.0), 4.0, 0.5),
        (environments.ball(dim=10, arms=10), 8.0, 0.6),  # identity, rewards of -1 and 1
        (environments.ball(dim=20, arms=10, link="probit", radius=3.0), 8.0, 0.6),
    ],
    ids=["logistic", "identity", "probit"],
)
def test_it_learns(world, epsilon, share):
    spec = Spec(JointGLM, budget=Budget(epsilon, 1e-3), model="scores")
    result = simulate([spec, Spec(Uniform)], world, horizon=4000, runs=3, seed=3)
    learnt, random = (row["regret_mean"] for row in result.rows)
    assert learnt < share * random


def test_the_step_is_a_function_of_public_numbers_and_shorter_where_it_should():
    """Longer steps, more noise and more dimensions each make it smaller; the last number goes on for ever."""
    stds, lengths = np.array([0.0, 2.0, 3.0]), np.array([10.0, 10.0, 20.0, 40.0])
    etas, spreads = scores.steps(stds, lengths, 5, 2.0, links.logistic, 1.0)
    assert len(etas) == 4 and (np.diff(etas) < 0).all() and spreads[0] == 0 < spreads[1]
    assert etas[3] == pytest.approx(1 / (3 * math.sqrt(5) / (PACE * 2) + 0.5 * 40 / TURN))
    assert (scores.steps(stds, lengths, 50, 2.0, links.logistic, 1.0)[0][1:] < etas[1:]).all()
    grows = scores.lengths(Schedule(10.0, 1.1), 60)
    assert grows[0] == 10 and len(grows) == 60 and (np.diff(grows) >= 0).all() and grows[-1] > 50
    assert scores.lengths(Schedule(10.0, 1.1, 30.0), 10**9)[-1] == 30


def test_the_estimate_is_an_average_of_multiples_of_what_was_released():
    bandit, rng = make(features=3, first=10), default_rng(4)
    estimates = []
    for _ in range(3):
        play(bandit, rng.uniform(-0.5, 0.5, (10, 4, 3)), rng.integers(2, size=10))
        bandit.tend()
        etas, _ = bandit.one_pass.learnt._paces(bandit.one_pass.course, np.arange(3))
        estimates.append(etas[bandit.sums.steps] * bandit.sums.state.prefix.released)
        assert bandit.sums.steps == len(estimates) and np.allclose(bandit.sums.state.estimate.centre, estimates[-1])
    assert np.allclose(bandit.theta, np.mean(estimates, axis=0))
    before = bandit.theta
    bandit.sums.follow()  # the same release counts once
    assert np.array_equal(bandit.theta, before)
    bandit.sums.state.estimate.axes[:] = 1e6
    bandit.sums.follow()
    assert np.linalg.norm(bandit.theta) == pytest.approx(REACH * bandit.plan.reward.radius)


def test_without_noise_the_best_arm_is_certain():
    bandit = make(features=2, budget=Budget(math.inf, 0.1), first=5)
    play(bandit, default_rng(6).uniform(-0.5, 0.5, (12, 3, 2)), [1.0] * 12)
    arms = [[0.5, 0.0], [0.0, 0.5], [-0.5, -0.5]]
    assert set(bandit.one_pass.chances(bandit.sums.estimator.estimate, np.array(arms)).tolist()) == {0.0, 1.0}
    assert bandit.choose(arms).propensity == 1.0


def test_intervals_are_what_the_radius_allows():
    """Nothing narrower can be told without a curvature; the mean of any theta* within the radius is inside."""
    bandit = make(features=2, first=5)
    play(bandit, default_rng(7).uniform(-0.5, 0.5, (30, 3, 2)), [1.0] * 30)
    x = np.array([0.6, 0.3])
    low, high = bandit.interval([x])[0]
    for angle in np.linspace(0, 2 * np.pi, 50):
        theta = 2.0 * np.array([math.cos(angle), math.sin(angle)])
        assert low <= links.logistic.mean(x @ theta) <= high


def test_a_start_that_is_known_is_where_it_starts():
    """Nobody gets random arms, and what is known well hardly moves."""
    rng = default_rng(8)
    rows, rewards = rng.uniform(-0.5, 0.5, (60, 4, 2)), rng.integers(2, size=60)
    firm, loose = (make(features=2, first=5, prior=([1.0, -0.5], precision)) for precision in (1e9, 1e-9))
    assert np.array_equal(firm.theta, [1.0, -0.5])
    assert play(firm, rows, rewards)[:5] == (rows[:5] @ firm.theta).argmax(axis=1).tolist()
    play(loose, rows, rewards)
    assert np.allclose(firm.theta, [1.0, -0.5], atol=1e-6) and np.abs(loose.theta - firm.theta).max() > 1e-3
    assert any("prior" in caveat for caveat in firm.privacy.caveats)
    schema, x = disjoint.schema(2), rng.uniform(-1, 1, 200)
    known = np.array([schema.rows({"x0": value})[1][i % 2] for i, value in enumerate(x)])
    warm = make(features=schema, rows=(known, (x > 0) * 1.0))
    assert np.linalg.norm(warm.theta) > 0
    play(warm, [{"x0": 0.2}] * 40, [1.0] * 40)
    assert warm.sums.steps > 0 and np.isfinite(warm.theta).all()


def test_with_secure_noise_and_actions_that_come_later():
    """Blocks that nobody is offered have no part in the estimate."""
    schema = Schema(arms="disjoint", actions=["a", "b"], max_actions=4, context={"age": Number(0, 100)})
    bandit = joint(features=schema, budget=BUDGET, model="scores", radius=2.0, first=4)
    for t in range(30):
        bandit.observe(bandit.choose({"age": t}), t % 2)
    own = bandit.plan.dim // 4
    assert bandit.sums.steps > 3 and not bandit.theta[2 * own :].any() and bandit.theta[: 2 * own].all()
    bandit.add_action("c")
    assert bandit.theta[: 3 * own].all() and not bandit.theta[3 * own :].any()
