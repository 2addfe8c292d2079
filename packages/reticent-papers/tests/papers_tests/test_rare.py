"""What a user of JointGLMRare adds to its matrices and its gradients: sensitivities, searched for and attained."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from papers_tests.reference import rare
from reticent.model import links
from reticent_papers.joint.glm_rare_model import DesignContribution, GradientContribution

LINKS = [links.logistic, links.probit]


@given(st.sampled_from(LINKS), st.sampled_from([0.05, 0.3, 1.0]), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=300)
def test_design_sensitivity_is_never_exceeded(link, slope, dim, seed):
    """Whatever comes in, whichever matrix a user is in, and for a contribution that is missing."""
    rng, contribution = np.random.default_rng(seed), DesignContribution(dim=dim, link=link, slope=slope)
    users = np.zeros((2, contribution.size))
    for out in users:
        x = rng.standard_normal(dim) * 10 ** rng.uniform(-6, 3)
        contribution.add(x, bool(rng.integers(2)), rng.standard_normal(dim) * rng.uniform(0, 5), out)
    bound = contribution.sensitivity * (1 + 1e-9)
    assert np.linalg.norm(users[0] - users[1]) <= bound
    assert math.hypot(*np.linalg.norm(users, axis=1)) <= bound


def test_design_sensitivity_is_attained_within_and_between_the_matrices():
    contribution = DesignContribution(dim=2, link=links.probit, slope=float(links.probit.slope(0.0)))
    for explored in [(True, True), (False, False), (True, False)]:
        users = np.zeros((2, contribution.size))
        for x, flag, out in zip(np.eye(2), explored, users, strict=True):
            contribution.add(x, flag, np.zeros(2), out)
        assert np.linalg.norm(users[0] - users[1]) == pytest.approx(contribution.sensitivity)


def gradient_of(link, theta, x, r):
    return (link.mean(float(x @ theta)) - r) * x


@given(st.sampled_from(LINKS), st.sampled_from([0.1, 1.0, 3.0, 6.0]), st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=300)
def test_gradient_sensitivity_is_never_exceeded(link, radius, dim, seed):
    rng, contribution = np.random.default_rng(seed), GradientContribution(link=link, radius=radius)
    theta, pair = rare.ball(rng.standard_normal(dim) * rng.uniform(0, 2 * radius), radius), []
    for _ in range(2):
        x = rare.ball(rng.standard_normal(dim) * rng.uniform(0, 2), 1.0)
        pair.append(gradient_of(link, theta, x, rng.choice([0.0, 1.0, rng.uniform()])))
    assert max(map(np.linalg.norm, pair)) <= contribution.largest * (1 + 1e-12)
    assert np.linalg.norm(pair[0] - pair[1]) <= contribution.sensitivity
    assert contribution.sensitivity >= math.sqrt(2) * contribution.largest  # in T_o in one world, outside in the other


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize("radius", [2.0, 3.0, 5.0])
def test_gradient_sensitivity_is_nearly_attained(link, radius):
    contribution, theta = GradientContribution(link=link, radius=radius), np.array([radius, 0.0])

    def distance(p):
        a, b = (gradient_of(link, theta, np.array([math.cos(f), math.sin(f)]), r) for f, r in ((p[0], 0), (p[1], 0)))
        return -np.linalg.norm(a - b)

    starts = [[u, v] for u in np.linspace(0, math.pi, 5) for v in np.linspace(0, -math.pi, 5)]
    best = max(-minimize(distance, s, method="Nelder-Mead").fun for s in starts)
    best = max(best, math.sqrt(2) * contribution.largest)  # or a user who moves between the two sets is the worst
    assert 0.99 * contribution.sensitivity <= best <= contribution.sensitivity
