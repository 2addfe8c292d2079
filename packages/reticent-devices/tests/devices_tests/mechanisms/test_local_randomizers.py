"""The randomisers of the local model: their bounds by brute force, their laws, and what a device may send."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logit, ndtr
from scipy.stats import ks_2samp, norm

from reticent.errors import BudgetExceeded
from reticent.model.glm import glm_norm, glm_sensitivity, linearize
from reticent.model.links import IDENTITY, LOGISTIC, PROBIT
from reticent.model.vectors import add_pair
from reticent.privacy import gaussian, randomness
from reticent.privacy.budget import Budget
from reticent_devices.mechanisms import local, randomizers
from reticent_devices.mechanisms.randomizers import (
    CELLS,
    EDGE,
    FINE,
    SHARE,
    UNIT,
    Cap,
    Coin,
    Lattice,
    candidates,
    lift,
    tables,
)


def squared_error(low, high, values):
    """Sum over cells (low, high) in probability of E (value - g)^2 for a normal number g, in closed form."""
    a, b = norm.ppf(low), norm.ppf(high)
    fa, fb = norm.pdf(a), norm.pdf(b)
    edge_a, edge_b = np.where(np.isinf(a), 0.0, a) * fa, np.where(np.isinf(b), 0.0, b) * fb
    p = high - low
    return float(np.sum(p + edge_a - edge_b - 2 * values * (fa - fb) + values**2 * p))


def test_the_law_of_candidates_is_as_near_to_normal_as_the_bound_needs():
    first, outer = tables()
    assert (first == -first[::-1]).all(), "symmetric"
    i, inner = np.arange(2**16), slice(EDGE, 2**16 - EDGE)
    share = EDGE / 2**16
    total = squared_error(i[inner] / 2**16, (i[inner] + 1) / 2**16, first[inner] / UNIT)
    total += 2 * squared_error(i / 2**16 * share, (i + 1) / 2**16 * share, -outer / UNIT)
    assert 0.5 * local.SPREAD < total <= local.SPREAD


def test_candidates_have_the_moments_of_their_table():
    z = candidates(4000, 50) / UNIT
    n = z.size
    assert abs(z.mean()) < 4.5 / math.sqrt(n)  # false alarms: 1e-5
    assert abs(z.var() - 1) < 4.5 * math.sqrt(2 / n)
    assert abs(np.mean(np.abs(z) > 3) - 2 * ndtr(-3.0)) < 4.5 * math.sqrt(2 * ndtr(-3.0) / n)


@pytest.mark.parametrize("size", [2, 6, 21])
def test_the_bound_on_the_cap_holds_for_vectors_of_every_kind_and_is_near(size):
    """Axes, pairs, dense and random directions, with the frequencies of 2e5 candidates each; false alarms: 1e-5."""
    made = local.cap(4.0, 1.0, size - 1)
    q, rng = local.cap_probability(made.threshold, size), np.random.default_rng(1)
    directions = [np.eye(size)[0], np.ones(size), np.eye(size)[0] + np.eye(size)[1], rng.standard_normal(size)]
    z = candidates(200_000, size).astype(np.float64)
    for x in directions:
        x = np.rint(FINE * x / np.linalg.norm(x))
        share = np.mean(z @ x >= made.threshold)
        assert q - 4.5 * math.sqrt(q / len(z)) < share < 1.05 * q + 4.5 * math.sqrt(q / len(z))


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40))
@settings(max_examples=300, deadline=None)
def test_lifting_gives_whole_numbers_of_unit_norm(values):
    x = lift(np.array(values))
    assert (x == np.rint(x)).all() and abs(np.linalg.norm(x) - FINE) <= math.sqrt(x.size) / 2 + 1e-3


def test_lifting_survives_what_is_not_a_number():
    for bad in (np.nan, np.inf):
        assert lift(np.array([bad, 0.0])).tolist() == [0.0, 0.0, FINE]


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0, 8.0])
def test_the_cap_is_calibrated_from_its_integers_and_reaches_the_prototypes_noise(epsilon):
    made = local.cap(epsilon, 1.0, 20)
    assert local.cap_epsilon(made, 20) <= epsilon and local.cap_epsilon(made, 20) > 0.999 * epsilon
    assert local.cap_epsilon(Cap(made.radius, made.chance + SHARE // 500, made.threshold, made.scale), 20) > epsilon
    assert made.scale < {0.2: 13.3, 1.0: 2.56, 4.0: 0.67, 8.0: 0.39}[epsilon]
    assert made.scale < local.lattice(Budget(epsilon, 1e-6), 2.0, 20).sigma


@pytest.mark.parametrize("kind", ["cap", "hemisphere", "gaussian"])
def test_reports_are_unbiased_with_the_stated_noise(kind):
    """20000 reports of one vector by the device's own integers; false alarms: 1e-4. Scales off by a third are seen."""
    made = local.best(Budget(4.0, 1e-6), sensitivity=2.0, radius=1.0, size=3, kind=kind)
    v = np.array([0.6, 0.0, -0.3])
    got = np.array([made.decode(made.encode(v)) for _ in range(20_000)])
    std = made.law.scale
    assert np.abs(got.mean(axis=0) - v).max() < 4.5 * std / math.sqrt(len(got))
    across = got[:, 1].std()
    assert abs(across / std - 1) < 0.03 and not any(abs(across / (wrong * std) - 1) < 0.03 for wrong in (2 / 3, 3 / 2))


@pytest.mark.parametrize("size", [1, 5, 3000])
def test_a_cap_takes_the_same_work_for_every_vector_and_whatever_is_sent(size, monkeypatch):
    made, calls = local.cap(4.0, 1.0, size), []
    monkeypatch.setattr(randomizers, "candidates", lambda rows, size: (calls.append(rows), candidates(rows, size))[1])
    works = set()
    for vector in (np.zeros(size), np.eye(size)[0], -np.eye(size)[0], np.full(size, 0.5 / math.sqrt(size))):
        for _ in range(20):
            calls.clear()
            assert len(made.encode(vector)) == 2 * size
            works.add(tuple(calls))
            assert sum(calls) == made.rows + made.others
            assert max(calls) * (size + 1) <= max(randomizers.PORTION, made.others * (size + 1))
    assert len(works) == 1


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0, 8.0])
@pytest.mark.parametrize("size", [1, 20, 200])
def test_the_curves_are_those_of_scipy(epsilon, size):
    """The odds of p and of the least q, and the grid's cost, from scipy; one part in a million off is another curve."""
    made, eta = local.cap(epsilon, 1.0, size), np.logspace(-5, -1, 400)
    shortest = FINE - math.sqrt(size + 1) / 2 - 1e-3
    q = np.max(norm.sf(made.threshold / (UNIT * shortest) + eta) - randomizers.SPREAD / eta**2)
    p = (made.chance + 1) / SHARE
    assert local.cap_epsilon(made, size) == pytest.approx(logit(p) - logit(q), rel=1e-9)

    noise, delta = local.lattice(Budget(epsilon, 1e-6), 2.0, size), 1e-6
    mu = 2.0 / noise.sigma + math.sqrt(size) / CELLS
    slack = 2 * size * (randomness.RATIO + (randomness.FARTHEST / CELLS) ** 2 / 24)
    stray = randomness.STRAY + 2 * norm.sf(randomness.FARTHEST)
    left = (delta - (2 + math.exp(epsilon)) * size * stray) * math.exp(-slack)
    expected = gaussian.epsilon(mu, left) + slack
    assert local.lattice_epsilon(noise, 2.0, size, delta) == pytest.approx(expected, rel=1e-6)
    assert gaussian.epsilon(1.000001 * mu, left) + slack != pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("epsilon", "size"), [(0.1, 20), (1.0, 5), (8.0, 5), (8.0, 230), (16.0, 3000)])
def test_fixed_numbers_of_candidates_are_enough(epsilon, size):
    """f_x and h_x of the docstring, by the bounds of q_x that the guarantee rests on."""
    made = local.cap(epsilon, 1.0, size)
    least = local.cap_probability(made.threshold, size + 1)
    assert (1 - 2 * least) ** made.rows < 1e-3 and min(0.5, 1.15 * made.nominal) ** made.others <= 1 / SHARE
    assert local.cap_epsilon(type("Starved", (Cap,), {"others": 3})(**vars(made)), size) == math.inf


def test_a_cap_is_sent_as_often_as_its_guarantee_says():
    """6000 reports each; 4.5 standard errors, at most .03: false alarms 2e-5. cap_epsilon has the share by integers."""
    made, vector = local.cap(4.0, 1.0, 3), np.array([1.0, 0.0, 0.0])
    for chance, least in ((0, 0.0), (SHARE, 0.999), (made.chance, 0.999 * made.chance / SHARE)):
        some = Cap(made.radius, chance, made.threshold, made.scale)
        sent = np.array(
            [int(np.frombuffer(some.encode(vector), "<i2")[0]) * FINE >= made.threshold for _ in range(6000)]
        )
        error = 4.5 * math.sqrt(chance / SHARE * (1 - chance / SHARE) / sent.size)
        assert least - error <= sent.mean() <= chance / SHARE + error


def test_simulated_reports_have_the_law_of_real_ones():
    """Kolmogorov and Smirnov along the vector and across it, 8000 reports each; false alarms: 1e-4 each."""
    made = local.cap(3.0, 1.0, 4)
    v, rng = np.array([0.5, 0.5, 0.0, 0.0]), np.random.default_rng(3)
    real = np.array([made.decode(made.encode(v)) for _ in range(8000)])
    simulated = np.array([made.simulate(v, rng) for _ in range(8000)])
    for direction in (v, np.array([0.0, 0.0, 1.0, 0.0])):
        assert ks_2samp(real @ direction, simulated @ direction).pvalue > 1e-4
    assert ks_2samp(real @ v, 1.3 * (simulated @ v)).pvalue < 1e-4


def test_lattice_noise_is_calibrated_by_the_exact_curve_and_the_stated_distance():
    budget = Budget(1.0, 1e-6)
    made, ideal = local.lattice(budget, 2.0, 20), 2.0 / gaussian.mu(budget)
    assert ideal <= made.sigma < 1.001 * ideal and local.lattice_epsilon(made, 2.0, 20, 1e-6) <= 1.0
    assert local.lattice_epsilon(Lattice(0.99 * made.sigma), 2.0, 20, 1e-6) > 1.0
    with pytest.raises(BudgetExceeded):
        local.lattice(Budget(1.0, 1e-18), 2.0, 20)


def test_a_large_epsilon_is_calibrated_or_named():
    """At 30 the sampler alone costs a delta of 6e-4: a little more noise makes up for that at .1, and none at 1e-6."""
    made = local.lattice(Budget(30.0, 0.1), 2 * math.sqrt(2), 4)
    assert 29.9 < local.lattice_epsilon(made, 2 * math.sqrt(2), 4, 0.1) <= 30
    with pytest.raises(BudgetExceeded, match="got epsilon 30 and delta 1e-06: at that epsilon the sampler .* 0.0006"):
        local.lattice(Budget(30.0, 1e-6), 2 * math.sqrt(2), 4)


def test_randomised_response_has_the_chance_it_says():
    made = local.coin(1.0)
    assert local.coin_epsilon(made) <= 1.0 < local.coin_epsilon(made) + 1e-8
    got = np.array([made.decode(made.encode(0.25)) for _ in range(20_000)])
    assert abs(got.mean() - 0.25) < 4.5 * got.std() / math.sqrt(len(got))  # false alarms: 1e-5
    assert len(set(got)) == 2


@pytest.mark.parametrize("made", [local.cap(1.0, 1.0, 3), Lattice(0.5), Coin(3 * 2**30), randomizers.Open()])
def test_randomizers_survive_json(made):
    assert randomizers.from_document(json.loads(json.dumps(randomizers.document(made)))) == made


@pytest.mark.parametrize(("link", "most"), [(LOGISTIC, 0.5), (PROBIT, 2 / math.sqrt(2 * math.pi)), (IDENTITY, 1.0)])
@pytest.mark.parametrize("scale", [0.4, 1.0, 2.5])
def test_contributions_never_leave_their_bounds_and_nearly_reach_them(link, most, scale):
    """Random users, and the worst pair by hand: the magnitude of the curvature varies independently of the rest."""
    rng = np.random.default_rng(0)
    radius, sensitivity = glm_norm(scale * most), glm_sensitivity(scale * most)
    found, widest, size = 0.0, 0.0, 9
    for theta_size in (0.0, 0.5, 3.0):
        theta, made = np.array([theta_size, 0.0, 0.0]), []
        for _ in range(1500):
            x = rng.standard_normal(3)
            x *= rng.choice([1.0, 0.9, 0.01, rng.random()]) / np.linalg.norm(x)
            if rng.random() < 0.5:
                x = np.array([0.0, 1.0, 0.0]) * rng.choice([1.0, 1e-6, -1.0, -1e-6])
            y = float(rng.choice([0.0, 1.0, rng.random()]))
            y = 2 * y - 1 if link == IDENTITY else y
            blend, out = float(rng.choice([0.0, 0.6, 1.0])), np.zeros(size)
            weight, response = linearize(x, y, theta, 1e-12 * np.eye(3), link, blend)
            add_pair(x, scale * weight, response, out)
            made.append(out)
        vectors = np.array(made)
        widest = max(widest, float(np.linalg.norm(vectors, axis=1).max()))
        for row in vectors[:300]:
            found = max(found, float(np.linalg.norm(vectors - row, axis=1).max()))
    assert widest <= radius * (1 + 1e-12) and found <= sensitivity * (1 + 1e-12) and widest > 0.999 * radius
    assert found > 0.97 * sensitivity
