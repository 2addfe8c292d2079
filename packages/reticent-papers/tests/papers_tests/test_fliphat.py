"""Fliphat: the sensitivity of its sums, its oracle beside a slow one, support, forgetting, noise as claimed."""

import math

import msgspec
import numpy as np
import pytest

from core_tests.bandits.test_fused import compare
from lab_tests.raising import raised
from reticent import Budget, Secure, Simulated, Spec, Uniform, simulate
from reticent.data import Exact
from reticent.errors import BudgetExceeded, NoHorizon
from reticent.privacy import gaussian, ledger
from reticent_lab.environments import sparse
from reticent_papers import Fliphat
from reticent_papers.joint.fliphat import SEEN, largest, moments, products
from reticent_papers.queries import Queries


def build(**options):
    plain = {
        "dim": 6, "horizon": 800, "budget": Budget(1.0, 1e-6), "source": Simulated(1),
        "policy": np.random.default_rng(1),
    }  # fmt: skip
    return Fliphat(**plain | options)


def unit(rng, size=3):
    x = rng.standard_normal(size)
    return x / np.linalg.norm(x)


def test_a_replaced_user_moves_each_sum_by_no_more_than_is_claimed():
    """Searched, and attained for u and for a late reward; v moves by 1, and is charged for a late reward, sqrt 2."""
    rng, bandit = np.random.default_rng(1), build(dim=3)
    claimed = [query.sensitivity for query in bandit._asked.queries]
    worst, late = np.zeros(2), np.zeros(2)
    for _ in range(3000):
        x = np.array([unit(rng), unit(rng)]) * rng.choice([1.0, 0.5, 0.0], (2, 1), p=[0.8, 0.1, 0.1])
        x[1] = -x[0] if rng.random() < 0.2 else x[1]
        y, p = rng.choice([-1.0, 0.3, 1.0], 2), x[0] if rng.random() < 0.2 else unit(rng)
        for k, ask in enumerate((lambda i: moments(x[i], y[i]), lambda i: products(x[i], p))):  # noqa: B023
            sums = [ask(slice(i, i + 1)) for i in range(2)]
            worst[k] = max(worst[k], np.linalg.norm(sums[0] - sums[1]))
            late[k] = max(late[k], math.hypot(*(np.linalg.norm(each) for each in sums)))
    assert 1.99 < worst[0] <= claimed[0] + 1e-12 and 0.98 < worst[1] <= 1 + 1e-12
    assert (late <= np.array(claimed) + 1e-12).all() and late[1] > 1.2


def test_rows_are_cut_to_the_ball_and_rewards_to_their_range():
    bandit, kept = build(first=2, rewards=(0.0, 1.0)), []
    bandit._estimate = lambda x, y, count: kept.append((x, y, count)) or np.zeros(6)
    for reward in (9.0, -9.0):
        bandit._learn(np.full(6, 5.0), reward)
    bandit._state.counts[0] = 2
    bandit._advance()
    ((x, y, count),) = kept
    assert np.allclose(np.linalg.norm(x, axis=1), 1.0) and y.tolist() == [1.0, -1.0] and count == 2
    assert not bandit._state.rows.any() and not bandit._state.values.any() and bandit._state.counts[SEEN] == 0


@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_all_sums_of_an_episode_spend_the_budget_and_no_more(iterations):
    bandit = build(iterations=iterations)
    releases = bandit.privacy.releases
    assert len(releases) == iterations and bandit.privacy.epsilon == pytest.approx(1.0, rel=1e-6)
    assert math.hypot(*(each.mu for each in releases)) == pytest.approx(gaussian.mu(Budget(1.0, 1e-6)))
    share = 1 if iterations == 1 else 0.8**0.5
    assert releases[0].sigma == pytest.approx(2 / (gaussian.mu(Budget(1.0, 1e-6)) * share))
    secure = build(iterations=iterations, source=Secure())
    assert secure.privacy.private and all(each.grid > 0 for each in secure.privacy.releases)


def test_less_noise_than_is_claimed_is_refused(monkeypatch):
    quiet = [msgspec.structs.replace(each, sigma=0.8 * each.sigma) for each in build().privacy.releases]
    raised(BudgetExceeded, ledger.check, quiet, Budget(1.0, 1e-6))
    sigma = Queries.sigma
    monkeypatch.setattr(Queries, "sigma", lambda self, number: 0.8 * sigma(self, number))
    raised(BudgetExceeded, build)


def slow(x, y, count, noises, stds, sparsity, iterations, longest):
    """The oracle, number by number: a gradient step on the whole loss, in which what is within its noise off p is 0."""
    d = x.shape[1]
    u = [sum(x[i, j] * y[i] for i in range(len(y))) / count + noises[0][j] for j in range(d)]

    def keep(vector):
        places = sorted(range(d), key=lambda j: -abs(vector[j]))[:sparsity]
        return [vector[j] if j in places else 0.0 for j in range(d)]

    theta = keep(u)
    for k in range(1, iterations):
        norm = math.sqrt(sum(t * t for t in theta))
        p = [t / norm for t in theta]
        gram_p = [sum(x[i, j] * (x[i] @ p) for i in range(len(y))) / count for j in range(d)]
        v = [gram_p[j] + noises[k][j] for j in range(d)]
        c = max(sum(a * b for a, b in zip(p, v, strict=True)), stds[k])
        z = min(max(sum(a * b for a, b in zip(p, u, strict=True)) / c, 0.0), longest)
        v = [b if abs(b - c * a) > 2 * math.sqrt(math.log(d)) * stds[k] else c * a for a, b in zip(p, v, strict=True)]
        theta = keep([z * p[j] + (u[j] - z * v[j]) / c for j in range(d)])
    norm = math.sqrt(sum(t * t for t in theta))
    return np.array(theta) * min(1.0, longest / norm)


@pytest.mark.parametrize("epsilon", [2.0, 50.0, math.inf])
def test_the_oracle_is_the_slow_one(monkeypatch, epsilon):
    rng, told = np.random.default_rng(4), []
    bandit, answer = build(iterations=4, sparsity=2, budget=Budget(epsilon, 1e-6)), Queries.release

    def release(self, number, total, count, source):
        out = answer(self, number, total, count, source)
        told.append(out - total / count)
        return out

    monkeypatch.setattr(Queries, "release", release)
    x = np.array([unit(rng, 6) for _ in range(300)])
    y = np.sign(x @ [0.9, 0, 0, -0.4, 0, 0] + rng.uniform(-1, 1, 300))
    theta = bandit._estimate(Exact(x), Exact(y), 310)
    stds = [bandit._asked.std(k, 310) for k in range(4)]
    assert np.allclose(theta, slow(x, y, 310, told, stds, 2, 4, 1.0)) and (theta != 0).sum() <= 2


def test_without_noise_iterations_find_the_support_where_one_does_not():
    """Feature 2 only comes with 0: the largest of u have it, iterations drop it, and fit least squares on the rest."""
    rng = np.random.default_rng(5)
    z = rng.uniform(-1, 1, (20_000, 4))
    z[:, 2] = 0.7 * z[:, 0] + 0.7 * z[:, 2]
    x, truth = z / 2, np.array([0.9, 0.35, 0.0, 0.0])
    y = np.sign(x @ truth + rng.uniform(-1, 1, len(x)))
    plain = {"dim": 4, "sparsity": 2, "budget": Budget(math.inf, 0.1)}
    once, often = (build(**plain, iterations=k)._estimate(Exact(x), Exact(y), len(x)) for k in (1, 100))
    assert np.flatnonzero(once).tolist() == [0, 2] and np.flatnonzero(often).tolist() == [0, 1]
    fit = np.linalg.lstsq(x[:, :2], y, rcond=None)[0]
    assert np.allclose(often[:2], fit, atol=1e-3)


def test_ties_and_small_vectors():
    assert largest(np.array([1.0, -2.0, 2.0, 0.5]), 2).tolist() == [0, -2, 2, 0]
    assert largest(np.array([1.0, 1.0, 1.0]), 2).tolist() == [1, 1, 0]
    assert largest(np.array([1.0]), 5).tolist() == [1]


def test_any_arm_before_the_first_release_and_the_best_one_after():
    bandit, rng = build(first=50, horizon=200), np.random.default_rng(6)
    shown = []
    for t in range(120):
        arms = rng.uniform(-0.4, 0.4, (4, 6))
        choice = bandit.choose(arms)
        assert choice.propensity == (0.25 if t < 50 else 1.0)
        if t >= 50:
            assert choice.index == int((arms @ bandit.theta).argmax())
        else:
            shown.append(choice.index)
        bandit.observe(choice, 1.0)
    assert set(shown) == {0, 1, 2, 3} and bandit.closed == 1


def test_fused_and_stepwise_are_identical():
    compare(Spec(Fliphat, budget=Budget(4.0, 1e-4), first=30), sparse(dim=20, arms=5))


def test_it_learns_where_few_features_matter():
    world = sparse(dim=50, arms=10)
    specs = [Spec(Uniform), Spec(Fliphat, budget=Budget(8.0, 1e-4)), Spec(Fliphat, budget=Budget(math.inf, 1e-4))]
    uniform, private, plain = (row["regret_mean"] for row in simulate(specs, world, horizon=6000, runs=3, seed=1).rows)
    assert plain < 0.6 * uniform and private < 0.85 * uniform


def test_settings_are_checked():
    raised(NoHorizon, build, horizon=None)
    for wrong in ({"sparsity": 0}, {"iterations": 0}, {"link": "logistic"}):
        raised(ValueError, build, **wrong).match("Expected")
