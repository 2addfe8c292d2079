"""LinUCB under joint privacy, as published and with exact calibration."""

import math

import numpy as np
import pytest

from tacit import Budget, Simulated
from tacit.privacy import composition
from tacit_papers import ShariffLinUCB
from tacit_papers.joint.shariff_published import repeated_delta


def published(**options):
    defaults = {"dim": 3, "horizon": 200, "budget": Budget(1.0, 1e-3), "source": Simulated(0), "pending": 50}
    return ShariffLinUCB(**(defaults | options))


@pytest.mark.parametrize(
    "wrong",
    [
        {"horizon": None},
        {"noise": "laplace"},
        {"release": "magic"},
        {"noise": "wishart", "release": "toeplitz"},
        {"calibration": "none"},
        {"shift": 0.0},
        {"failure": 1.0},
        {"width_scale": -1},
        {"noise": "wishart", "budget": Budget(math.inf, 0.1)},
        {"noise": "wishart", "budget": Budget(100.0, 1e-6), "calibration": "paper"},
    ],
    ids=str,
)
def test_bad_settings_of_the_published_one(wrong):
    with pytest.raises(ValueError, match="Expected"):
        published(**wrong)


def test_what_the_published_constants_give():
    assert published(calibration="paper").privacy.epsilon < 0.2  # where 1 was asked for
    assert 0.9 < published(noise="wishart").privacy.epsilon <= 1.0


def test_exact_noise_is_less_than_a_tenth_of_the_published():
    for horizon in (1000, 10**6):
        exact, paper = (published(horizon=horizon, calibration=c) for c in ("exact", "paper"))
        assert exact.mechanism.sigma < paper.mechanism.sigma / 10
        default = published(horizon=horizon, release="batched")
        steps = np.array([float(default.mechanism.leaves)])
        std = default.mechanism.sigma * default.mechanism.gain(steps)[0]
        worst = paper.mechanism.sigma * math.sqrt(horizon.bit_length())
        assert std < worst / 10


@pytest.mark.parametrize("count", [1, 5, 27])
def test_repeated_composition_closed_form_against_dp_accounting(count):
    epsilon = composition.repeated_epsilon(0.2, 1e-4, count, 0.01)
    assert repeated_delta(0.2, 1e-4, count, epsilon) == pytest.approx(0.01, rel=0.02)
    assert repeated_delta(0.2, 1e-4, count, epsilon) <= 0.01 * (1 + 1e-9)  # dp-accounting rounds up


def test_repeated_composition_against_brute_force():
    """Randomised response composed three times, every outcome enumerated."""
    e0, epsilon = 0.7, 0.9
    p = math.exp(e0) / (1 + math.exp(e0))
    total = 0.0
    for k in range(4):
        truth, lie = p**k * (1 - p) ** (3 - k), (1 - p) ** k * p ** (3 - k)
        total += math.comb(3, k) * max(0.0, truth - math.exp(epsilon) * lie)
    assert repeated_delta(e0, 0.0, 3, epsilon) == pytest.approx(total, rel=1e-10)
