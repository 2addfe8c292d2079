"""Sums by fields: the estimate against slow references, written from what its docstrings say."""

import math

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Budget, Simulated
from reticent.features import Category, Number, Schema
from reticent.mechanisms import leaves
from reticent.models import fields
from reticent.models.fields import MARGIN, PEOPLE, ROUNDS, SLOTS, TRUST

SCHEMA = Schema(
    context={"age": Number(0, 100, bins=3), "plan": Category("free", "paid", weight=2.0)},
    cross=[("age", "plan")],
    arms="disjoint",
    actions=("walk", "sleep", "read"),
)
PARTS = SCHEMA.own
OWN = sum(part.size for part in PARTS)
ALL = np.arange(3)


def made(epsilon=1.0, **options):
    budget = Budget(epsilon, 1e-6 if epsilon < math.inf else 0.0)
    options = {"budget": budget, "source": Simulated(0), "first": 50} | options
    return joint(features=SCHEMA, **options).one_pass


def offered(rng, count):
    """(count, 3, OWN + 1): what each of so many people is offered."""
    plans = ["free", "paid", None]
    return np.array(
        [SCHEMA.placed({"age": rng.uniform(0, 100), "plan": plans[rng.integers(3)]})[1] for _ in range(count)]
    )


def summed(algorithm, rows, rewards):
    out, model = np.zeros(algorithm.model.sums.size), algorithm.model
    model.adder(model.blank(ALL)).add(rows, rewards, 0.0, 0.0, out)
    return leaves.part(out, slice(None))


def products(rng, people=40):
    """Of people who all have the constant, by action."""
    x = rng.uniform(0, 0.3, (3, people, OWN))
    x[:, :, 0] = PARTS[0].weight
    return np.einsum("ani,anj->aij", x, x)


# the posterior


def slow_weights(curvature, doubt, moment, std, centre, before):
    """b - A e usual = A theta + noise of covariance (std^2 + doubt usual^2) I + v A, theta ~ N(0, variances); by
    dense matrices."""
    share = PARTS[0].weight
    rate = np.clip(centre + share * moment[:, 0].sum() / curvature[:, 0, 0].sum(), 0.002, 0.998)
    usual, v = (rate - centre) / share, rate * (1 - rate)
    start = np.array([((0.8 if part.names else 0.2) * v / part.weight) ** 2 for part in PARTS])
    prior = start.copy() if before is None else before.copy()

    def posterior():
        found = []
        for A, b, more in zip(curvature, moment, doubt, strict=True):
            precision = np.linalg.inv((std**2 + more * usual**2) * np.eye(OWN) + v * A)
            wide = np.diag(1 / np.repeat(prior, [part.size for part in PARTS]))
            covariance = np.linalg.inv(A @ precision @ A + wide)
            found.append((covariance @ A @ precision @ (b - usual * A[:, 0]), covariance))
        return found

    for _ in range(ROUNDS):
        found = posterior()
        for j, part in enumerate(PARTS):
            those = slice(part.start, part.start + part.size)
            squares = sum((mean[those] ** 2).sum() + np.trace(cov[those, those]) for mean, cov in found)
            prior[j] = (squares + TRUST * start[j]) / (len(found) * part.size + TRUST)
    found = posterior()
    return np.array([mean for mean, _ in found]) + usual * np.eye(OWN)[0], np.array([cov for _, cov in found]), prior


@pytest.mark.parametrize("centre", [0.5, 0.03])
def test_the_posterior_is_that_of_dense_matrices(centre):
    rng = np.random.default_rng(1)
    variances, before = np.zeros(len(PARTS)), None
    for _ in range(2):  # the second release begins with what the first has learnt
        curvature = products(rng)
        moment = np.einsum("aij,aj->ai", curvature, rng.normal(0, 0.1, (3, OWN))) + rng.normal(0, 0.5, (3, OWN))
        doubt = rng.uniform(0, 5, 3)
        theta, covariance = fields.weights(curvature, doubt, moment, 2.0, centre, PARTS, variances)
        mean, spread, before = slow_weights(curvature, doubt, moment, 2.0, centre, before)
        assert np.allclose(theta, mean, rtol=1e-6, atol=1e-9)
        assert np.allclose(covariance, spread, rtol=1e-6, atol=1e-12) and np.allclose(variances, before)


# the curvature


def slow_towards(target, found, std):
    """Pair of fields by pair of fields: what exceeds the noise's part of the squared distance is kept."""
    out = target.copy()
    for one in PARTS[1:]:
        for two in PARTS[1:]:
            a, b = slice(one.start, one.start + one.size), slice(two.start, two.start + two.size)
            apart = found[a, b] - target[a, b]
            numbers = one.size * two.size if one is not two else one.size * (one.size + 1) / 2
            noise = std**2 / 2 * (one.size * two.size + (one.size if one is two else 0))
            keep = max(0.0, 1 - (1 + MARGIN / math.sqrt(numbers)) * noise / (apart**2).sum())
            out[a, b] += keep * apart
    return out


def seen_of(rng, truth, std):
    """What would be released of people with these sums of products, who all have the constant."""
    noise = rng.normal(0, std / math.sqrt(2), truth.shape)
    sums = truth[:, 0] / PARTS[0].weight + rng.normal(0, std, truth.shape[:2])
    return fields.Seen(truth + (noise + noise.swapaxes(1, 2)) / math.sqrt(2), std, sums, std)


def test_products_are_drawn_to_what_was_seen_as_far_as_noise_allows():
    rng = np.random.default_rng(2)
    for std in (0.2, 2.0, 20.0):
        target, seen = products(rng), seen_of(rng, products(rng, 60), std)
        found = fields.towards(target, seen.products, std, PARTS)
        slow = [slow_towards(*pair, std) for pair in zip(target, seen.products, strict=True)]
        assert np.allclose(found, slow, rtol=1e-9, atol=1e-12)


def test_curvature_is_that_of_people_seen_or_of_made_up_ones():
    """With little noise that which was seen, with much nearly the target; and it is always a curvature."""
    rng = np.random.default_rng(3)
    target, truth = products(rng), products(rng, 60)
    signed, apart = np.zeros(OWN, bool), np.mean((truth - target) ** 2)
    for std in (0.01, 1.0, 100.0):
        curvature, doubt = fields.drawn(target, seen_of(rng, truth, std), signed, PARTS)
        assert np.linalg.eigvalsh(curvature).min() > -1e-9 and (doubt >= 0).all()
        if std == 0.01:
            assert np.mean((curvature - truth) ** 2) < 0.01 * apart and doubt.max() < 1e-3
            assert np.allclose(curvature[:, 0], truth[:, 0], atol=0.05)
        if std == 100.0:
            assert np.mean((curvature - target) ** 2) < 0.02 * std**2 and doubt.min() > 0.01


def test_without_noise_the_curvature_is_what_was_summed_whatever_the_target():
    """Also where a value came far more, or far less, often than among the people who are made up, or never."""
    rng, truth = np.random.default_rng(4), products(np.random.default_rng(3), 60)
    truth[0] *= 30.0
    truth[1, 2:] = truth[1, :, 2:] = 0.0
    curvature, doubt = fields.drawn(products(rng), seen_of(rng, truth, 0.0), np.zeros(OWN, bool), PARTS)
    assert np.array_equal(curvature, truth) and not doubt.any()


# what it learns


def test_without_noise_it_recovers_weights():
    """20 000 people, random actions, mean 1/2 + <x, theta>: means within 0.03 (least squares: standard error 0.01)."""
    algorithm, rng = made(math.inf), np.random.default_rng(3)
    rows, theta = np.repeat(offered(rng, 2000), 10, axis=0), rng.uniform(-0.12, 0.12, (3, OWN))
    means = 0.5 + np.einsum("nai,ai->na", rows[..., :-1], theta)
    assert means.min() > 0 and means.max() < 1
    pick, every = rng.integers(3, size=len(rows)), np.arange(len(rows))
    rewards = (rng.random(len(rows)) < means[every, pick]).astype(np.float64)
    released = summed(algorithm, rows[every, pick], rewards)
    estimate = algorithm.estimate(algorithm.blank(ALL), released, 1, ALL)
    told = np.einsum("nai,ai->na", rows[..., :-1], estimate.arrays.theta) + 0.5
    assert np.abs(told - means).max() < 0.06 and np.sqrt(np.mean((told - means) ** 2)) < 0.02
    middle, half = algorithm.model.beliefs(estimate.arrays, rows[0], 0.9)
    assert np.allclose(algorithm.model.mean(middle), told[0]) and (half < 0.1).all()
    nothing = np.array([[*np.zeros(OWN), a] for a in range(3)])
    assert not algorithm.model.beliefs(estimate.arrays, nothing, 0.9)[0].any()  # of weights alone: what a page shows


# people that are made up


def folded(algorithm, posterior, step, chosen, live=ALL):
    released = summed(algorithm, offered(np.random.default_rng(4), 60)[:, 0], np.ones(60))
    posterior.people[:] = algorithm.model._people(released)
    algorithm.model._estimator(posterior, step, live, algorithm.course, chosen)
    return posterior


def copied(posterior):
    return type(posterior)(*(part.copy() for part in posterior))


def test_random_arms_are_shared_by_all():
    """The first step has 50 people: as many in the targets, each action a third of them."""
    algorithm = made()
    posterior = folded(algorithm, algorithm.model.blank(ALL), 1, 0)
    assert np.allclose(posterior.target[:, 0, 0], 50 / 3 * PARTS[0].weight ** 2)
    assert np.allclose(posterior.target[0], posterior.target[2]) and posterior.folded.tolist() == [1, 0]
    trace = np.trace(posterior.target, axis1=1, axis2=2).sum()
    assert 0.5 * 50 < trace <= 50 + 1e-9  # nobody is longer than 1


def test_a_release_counts_once_whatever_is_live():
    algorithm = made()
    once = folded(algorithm, algorithm.model.blank(ALL), 1, 0)
    again = folded(algorithm, copied(once), 1, 0, np.array([0, 2]))
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    assert folded(algorithm, copied(once), 2, 0).target[:, 0, 0].sum() > 1.9 * once.target[:, 0, 0].sum()
    released = summed(algorithm, offered(np.random.default_rng(5), 60)[:, 1], np.ones(60))
    first = algorithm.estimate(algorithm.blank(ALL), released, 1, ALL)
    same = algorithm.estimate(first, released, 1, ALL)
    assert all(np.array_equal(a, b) for a, b in zip(first.arrays, same.arrays, strict=True))


def test_they_choose_by_the_estimate_that_the_people_of_the_step_had():
    """Each remembered estimate prefers another action: that one has the people; without a draw, all of them."""
    algorithm = made()
    for chosen, step in ((1, 4), (2, 4), (3, 4), (SLOTS - 2, SLOTS), (1, SLOTS + 6)):
        posterior = algorithm.model.blank(ALL)
        posterior.spread[:] = 0.0
        for slot in range(SLOTS):
            posterior.past[slot, slot % 3, 0] = 1.0
        target = folded(algorithm, posterior, step, chosen).target[:, 0, 0]
        assert np.argmax(target) == max(chosen, step - SLOTS) % SLOTS % 3 and np.count_nonzero(target) == 1


def test_draws_spread_people_over_actions():
    """Equal estimates, equal spread: each of three actions has a third of 1000 people, within 4.5 standard errors."""
    algorithm = made()
    posterior = algorithm.model.blank(ALL)
    posterior.spread[:] = 0.1
    target = folded(algorithm, posterior, 2, 1).target[:, 0, 0]
    share = target / target.sum()
    assert np.abs(share - 1 / 3).max() < 4.5 * math.sqrt(2 / 9 / PEOPLE) and len(set(share)) > 1


def test_people_of_an_earlier_bandit_are_counted_by_what_was_released():
    """And those who come then choose by its estimate, not at random."""
    algorithm = made()
    posterior = folded(algorithm, algorithm.model.blank(ALL), 0, 0)
    assert posterior.target[:, 0, 0].sum() == pytest.approx(60 * PARTS[0].weight ** 2)
    posterior.past[0, 1, 0], posterior.spread[:] = 1.0, 0.0
    before = posterior.target.copy()
    moved = (folded(algorithm, posterior, 1, 0).target - algorithm.plan.mechanism.fading * before)[:, 0, 0]
    assert np.argmax(moved) == 1 and np.abs(np.delete(moved, 1)).max() < 1e-9


def test_an_action_that_was_not_there_is_taken_for_a_usual_one():
    algorithm, live = made(), np.array([0, 2])
    rows = offered(np.random.default_rng(6), 60)[:, 0]
    estimate = algorithm.estimate(algorithm.blank(live), summed(algorithm, rows, np.zeros(60)), 1, live)
    past = estimate.arrays.past[1]
    assert past[1, 0] == pytest.approx(past[[0, 2], 0].mean()) and past[1, 0] < 0 and not past[1, 1:].any()
    assert not estimate.arrays.theta[1].any() and not estimate.arrays.spread[1].any()
