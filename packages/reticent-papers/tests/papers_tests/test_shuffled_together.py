"""Several shuffled sums of the same users: the bound against enumeration, its calibration, and what two users move."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from reticent_papers.mechanisms.together import Part, delta_of, together_epsilon, together_mu
from reticent_papers.shuffle import apart as rounds


def together_delta(parts, epsilon):
    return delta_of(together_mu(parts), [(part.size * part.times, part.coins) for part in parts], epsilon)


def hockey(zero, one, epsilon):
    factor = math.exp(epsilon)
    return max(np.maximum(one - factor * zero, 0).sum(), np.maximum(zero - factor * one, 0).sum())


@pytest.mark.parametrize(("coins", "widths"), [((2000, 1500), (15.0, 7.0)), ((2000, 1001), (18.4, 4.5))])
def test_the_bound_covers_two_sums_that_are_enumerated(coins, widths):
    """Two sums of one number: whole moves, and moves that are rounded at random."""
    laws = []
    for trials, width in zip(coins, widths, strict=True):
        noise = binom.pmf(np.arange(trials + 20), trials, 0.5)
        low, share = math.floor(width), width - math.floor(width)
        laws.append((noise, (1 - share) * np.roll(noise, low) + share * np.roll(noise, low + 1)))
    zero, one = (np.outer(laws[0][world], laws[1][world]) for world in (0, 1))
    parts = [Part(1, 1, (width,), trials) for trials, width in zip(coins, widths, strict=True)]
    for epsilon in (0.5, 1.0, 2.0):
        true = hockey(zero, one, epsilon)
        assert true <= together_delta(parts, epsilon)
    spent = together_epsilon(parts, 0.01)
    assert hockey(zero, one, spent) <= 0.01 < hockey(zero, one, 0.7 * spent)


def test_few_coins_and_no_delta_show_nothing():
    assert together_epsilon([Part(1, 1, (1.0,), 400)], 0.0) == math.inf
    assert together_epsilon([Part(1, 1, (1.0,), 49)], 0.01) == math.inf
    assert together_delta([Part(1, 1, (1.0,), 400)], 1e12) == together_delta([Part(1, 1, (1.0,), 400)], 64.0)
    assert together_delta([Part(9, 10**6, (1e12,), 400)], 64.0) == 1.0


def test_two_users_are_never_farther_apart_than_their_class_and_nearly_attain_it():
    """Random arms, weights and gradients; and for each class the pair at its end."""
    rng, (matrices, gradients) = np.random.default_rng(0), rounds.apart()
    for dim in (1, 2, 4):
        for _ in range(5000):
            x, y = (v / np.linalg.norm(v) for v in rng.standard_normal((2, dim)))
            w, v = rng.random(2) ** rng.choice([0.0, 0.2, 3.0])
            a, b = rng.uniform(-1, 1, 2) if rng.random() < 0.5 else rng.choice([-1.0, 0.0, 1.0], 2)
            k = min(int(abs(x @ y) * rounds.CLASSES), rounds.CLASSES - 1)
            assert np.linalg.norm(w * np.outer(x, x) - v * np.outer(y, y)) <= matrices[k] * (1 + 1e-12)
            assert np.linalg.norm(a * x - b * y) <= gradients[k] * (1 + 1e-12)
    for k in range(rounds.CLASSES):
        x, c = np.array([1.0, 0.0]), (k + 0.5) / rounds.CLASSES
        y = np.array([c, math.sqrt(1 - c * c)])
        far = max(np.linalg.norm(np.outer(x, x) - v * np.outer(y, y)) for v in (0.0, 1.0))
        assert far > 0.98 * matrices[k] and np.linalg.norm(x + y) > 0.98 * gradients[k]
