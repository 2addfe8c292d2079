"""JointGLMUCB: its sets hold theta*, its width is what is proven, and it learns."""

import math

import numpy as np
import pytest

from reticent import Budget, Simulated, Spec, Uniform, environments, simulate
from reticent.model import links
from reticent_papers import JointGLMUCB
from reticent_papers.joint.glm_ucb import MISFIT, REMAINDER, WIDTH, WITHIN


def played(bandit, theta, rounds, rng, arms=None):
    """The largest of |<x, theta* - theta>| over what was said of it, in all steps and along all axes."""
    link, worst, steps = links.named(bandit.link), 0.0, -1
    for _ in range(rounds):
        offered = rng.standard_normal((5, bandit.dim)) if arms is None else arms(rng)
        offered = offered / np.maximum(1.0, np.linalg.norm(offered, axis=1))[:, None]
        choice = bandit.choose(offered)
        if bandit._steps != steps:
            steps, error = bandit._steps, theta - bandit.theta
            matrix = bandit._state.estimate.matrix
            worst = max(worst, math.sqrt(error @ matrix @ error) / bandit.width)
            within = bandit._state.estimate.numbers[WITHIN]
            assert np.linalg.norm(error) <= within + 1e-9
        bandit.observe(choice, float(rng.random() < link.mean(float(offered[choice.index] @ theta))))
    return worst


@pytest.mark.parametrize(("link", "radius", "epsilon"), [("logistic", 1.0, 4.0), ("probit", 0.7, math.inf)])
def test_the_confidence_set_holds_in_all_steps(link, radius, epsilon):
    """failure .1, and a third of what is proven is seen, so that no run fails. With a tenth of the width, all do."""
    rng, theta, found = np.random.default_rng(0), radius * np.array([0.6, -0.8]), []
    for seed in range(3):
        budget = Budget(epsilon, 1e-6)
        settings = {"dim": 2, "link": link, "radius": radius, "horizon": 1000, "failure": 0.1}
        bandit = JointGLMUCB(budget=budget, source=Simulated(seed), **settings)
        found.append(played(bandit, theta, 1000, rng))
    assert max(found) < 1 and min(found) > 0.1


@pytest.mark.full
@pytest.mark.parametrize("epsilon", [1.0, 4.0, math.inf])
@pytest.mark.parametrize("world", ["ball", "turns", "fixed"])
def test_no_set_of_ten_long_runs_fails(epsilon, world):
    """failure .1: with sets as wide as they may be, one run of ten would fail."""
    for seed in range(10):
        rng, count = np.random.default_rng([9, seed]), iter(range(10**6))
        theta, fixed = rng.standard_normal(3), rng.standard_normal((8, 3))

        def arms(drawn, fixed=fixed, count=count):
            axis = np.eye(3)[(next(count) // 700) % 3]
            return {"ball": drawn.standard_normal((8, 3)), "turns": np.stack([axis, -axis]), "fixed": fixed}[world]

        budget = Budget(epsilon, 1e-6)
        bandit = JointGLMUCB(dim=3, horizon=5000, budget=budget, failure=0.1, source=Simulated(seed))
        assert played(bandit, theta / np.linalg.norm(theta), 5000, rng, arms) < 1


def test_directions_that_come_late_are_covered_too():
    """First one direction alone, then the other: the curvature of a step is large beside what was there before."""

    def arms(rng):
        arms.count += 1
        axis = np.eye(2)[int(arms.count > 600)]
        return np.stack([axis, -axis])

    arms.count = 0
    bandit = JointGLMUCB(dim=2, horizon=1200, budget=Budget(math.inf, 1e-6), failure=0.1, source=Simulated(0))
    assert played(bandit, np.array([0.7, 0.7]), 1200, np.random.default_rng(1), arms) < 1


def test_lines_get_closer_and_what_they_have_missed_adds_up():
    bandit = JointGLMUCB(dim=1, horizon=4000, budget=Budget(math.inf, 1e-6), failure=0.1, source=Simulated(0))
    numbers, rng, seen = bandit._state.estimate.numbers, np.random.default_rng(2), []
    for _ in range(4000):
        choice = bandit.choose([[1.0], [-1.0]])
        bandit.observe(choice, float(rng.random() < links.named("logistic").mean(0.8 * (1 - 2 * choice.index))))
        seen.append(numbers.copy())
    seen = np.array(seen)
    assert np.all(np.diff(seen[:, REMAINDER]) >= 0) and seen[-1, REMAINDER] > 0
    assert seen[-1, WITHIN] < 0.5 and seen[-1, MISFIT] < seen[:, MISFIT].max()
    assert seen[-1, WIDTH] >= math.sqrt(seen[-1, REMAINDER])


def test_intervals_are_of_mean_rewards_and_as_wide_as_the_ball_at_first():
    bandit = JointGLMUCB(dim=2, horizon=100, rewards=(0.0, 2.0), budget=Budget(1.0, 1e-6))
    (low, high), nothing = bandit.intervals([[1.0, 0.0], [0.0, 0.0]])
    assert (low, high) == pytest.approx((2 / (1 + math.e), 2 / (1 + math.exp(-1)))) and nothing == (1.0, 1.0)
    with pytest.raises(ValueError, match="Expected arms of shape"):
        bandit.intervals([[1.0]])


def test_it_is_private_and_learns():
    served = JointGLMUCB(dim=2, horizon=100, budget=Budget(1.0, 1e-6))
    served.observe(served.choose([[0.6, 0.0], [0.0, 0.9]]), 1.0)
    assert served.privacy.private and abs(served.privacy.epsilon - 1) < 1e-6
    specs = [Spec(JointGLMUCB, budget=Budget(8.0, 1e-2)), Spec(Uniform)]
    world = environments.ball(dim=2, arms=5, link="logistic")
    rows = simulate(specs, world, horizon=1000, runs=2, seed=0).rows
    assert rows[0]["regret_mean"] < rows[1]["regret_mean"] / 2


@pytest.mark.parametrize(("wrong", "message"), [
    ({"link": "identity"}, "link"), ({"growth": 1.0}, "growth above 1"), ({"failure": 0.0}, "failure"),
    ({"width_scale": -1.0}, "width_scale"),
])  # fmt: skip
def test_what_it_refuses(wrong, message):
    with pytest.raises(ValueError, match=message):
        JointGLMUCB(**({"dim": 2, "horizon": 100, "budget": Budget(1.0, 1e-6)} | wrong))
