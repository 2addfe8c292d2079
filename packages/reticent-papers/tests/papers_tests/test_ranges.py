"""Settings and data at the ends of what floats can hold: refused, or the bound on one user's influence holds."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from devices_tests.model.test_ranges import BUDGET, MANY, RANGES, SAFE, SIZES, Silent, made, moved, people, rewards_of
from lab_tests.raising import raised
from reticent.errors import NotSecure
from reticent.model import links
from reticent_papers import JointGLMRare, JointReweighted, JointSquareCB, ShariffLinUCB, regression
from reticent_papers.joint.glm_rare_descent_kernel import Data, gradients
from reticent_papers.kernels.squarecb import gradient_step
from reticent_papers.mechanisms.sums import with_noise
from reticent_papers.regression.contribution import ReweightedContribution

TWO = {"users": st.tuples(people(), people()), "which": st.tuples(st.integers(0, 4), st.integers(0, 4))}


@MANY
@given(
    rewards=RANGES,
    radius=st.sampled_from(SIZES),
    options=st.sampled_from([{"release": "batched"}, {}, {"calibration": "paper"}]),
    **TWO,
)
def test_one_user_of_a_linear_bandit_too(rewards, radius, options, users, which):
    bandit = made(ShariffLinUCB, rewards=rewards, radius=radius, **options)
    if bandit is None:
        return
    pairs = [(x, rewards_of(*rewards)[i]) for x, i in zip(users, which, strict=True)]
    longest = bandit.contribution.sensitivity / math.sqrt(2)
    assert moved(bandit, *(lambda v, x=x, y=y: bandit.contribution.add(x, y, v) for x, y in pairs), longest) <= 1


@MANY
@given(
    rewards=RANGES,
    radius=st.sampled_from(SIZES),
    **TWO,
    explored=st.tuples(st.booleans(), st.booleans()),
    kappa=st.sampled_from([None, 1e-320, 1.0, 1e30, 1.7e308]),
)
def test_one_user_of_rare_moves_neither_matrices_nor_gradients_by_more(rewards, radius, users, which, explored, kappa):
    bandit = made(JointGLMRare, rewards=rewards, radius=radius, kappa_star=kappa)
    if bandit is None:
        return
    theta, pairs = radius * np.array([0.6, -0.8]), list(zip(users, explored, strict=True))
    assert moved(bandit, *(lambda v, x=x, e=e: bandit.contribution.add(x, e, theta, v) for x, e in pairs), 1.0) <= 1
    sums = []
    for x, i in zip(users, which, strict=True):
        bandit._state.counts[4] = 0
        bandit._learn(np.append(x, 0.0), rewards_of(*rewards)[i])
        data, cell = bandit._state.data, bandit._rule.cell
        one = Data(data.x[:1], data.r[:1], data.explored[:1])
        sums.append(cell * gradients(one, 1, 0, theta, bandit._link.code, cell))
    assert np.linalg.norm(sums[0] - sums[1]) <= bandit._gradient_sensitivity


@MANY
@given(
    rewards=RANGES,
    radius=st.sampled_from(SIZES),
    length_scale=st.sampled_from(SIZES),
    **TWO,
    at=st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_one_step_of_square_cb_moves_its_iterate_by_no_more(rewards, radius, length_scale, users, which, at):
    bandit = made(JointSquareCB, rewards=rewards, radius=radius, length_scale=length_scale, first=10)
    if bandit is None:
        return
    step, ends = float(bandit._state.step[0]), []
    for x, i in zip(users, which, strict=True):
        theta = at * bandit._clip * np.array([0.6, 0.8])
        gradient_step(x, rewards_of(*rewards)[i] / bandit._unit, step, bandit._clip, theta)
        ends.append(theta / step)
    assert np.linalg.norm(ends[0] - ends[1]) <= bandit._releases()[0].sensitivity


@MANY
@given(
    link=st.sampled_from(list(links.BUILT_IN.values())),
    radius=st.sampled_from(SAFE),
    users=st.tuples(people(), people()),
    targets=st.tuples(st.sampled_from([0.0, 1e-320, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])),
    spread=st.tuples(st.sampled_from([1e-6, 1.0, 1e6]), st.sampled_from([1e-6, 1.0, 1e6])),
)
def test_one_row_of_reweighted_regression_moves_each_sum_by_no_more(link, radius, users, targets, spread):
    contribution = ReweightedContribution(dim=2, link=link, radius=radius, offset=radius)
    theta, turn = radius * np.array([0.6, -0.8]) * link.bounded, np.array([[0.8, -0.6], [0.6, 0.8]])
    matrix, sums = turn @ np.diag(spread) @ turn.T, []
    for x, r in zip(users, targets, strict=True):
        x, r = x[None] / max(1.0, np.linalg.norm(x)), np.array([r])
        asked = x, r, matrix, theta
        sums.append([contribution.gram(x, matrix), contribution.gradient(*asked), contribution.closing(*asked)])
    bounds = contribution.gram_sensitivity, contribution.gradient_sensitivity, contribution.closing_sensitivity
    for one, other, bound in zip(*sums, bounds, strict=True):
        assert np.linalg.norm(one - other) <= bound * (1 + 2.0**-10)
    for gram, gradient, _ in sums:
        assert np.linalg.norm(gram) <= 1 + 2.0**-10
        assert np.linalg.norm(gradient) <= contribution.residual * (1 + 2.0**-10)


REGRESSORS = [getattr(regression, name) for name in regression.__all__]


@pytest.mark.parametrize("kind", REGRESSORS, ids=str)
def test_regressors_refuse_them_too_and_serve_what_is_left(kind):
    for targets in ((-1e308, 1e308), (0.0, 1.7e308), (0.0, 1e-300)):
        raised(ValueError, kind, budget=BUDGET, targets=targets).match("Expected targets")
    raised(ValueError, kind, budget=BUDGET, radius=1e308).match("Expected radius")
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.7, 0.7, (12, 2)) * 10.0 ** rng.choice([-320.0, -155.0, -150.0, -75.0, 0.0], (12, 1))
    for unit, radius in itertools.product((1e-30, 1.0, 1e30), (1e-30, 1.0, 1e30)):
        low = (
            0.0
            if kind in (regression.ReweightedGLM, regression.PrivateNewton, regression.OutputPerturbation)
            else -unit
        )
        targets = rng.choice([low, unit], 12)
        fitted = kind(budget=BUDGET, radius=radius, targets=(low, unit), source=Silent()).fit(x, targets)
        assert np.isfinite(fitted.theta_).all()


@pytest.mark.parametrize("kind", [ShariffLinUCB, JointGLMRare, JointReweighted, JointSquareCB], ids=str)
def test_ranges_and_radii_that_floats_cannot_serve_are_refused(kind):
    options = {"dim": 2, "horizon": 40, "budget": BUDGET, "source": Silent()}
    options |= {"first": 10} if kind in (JointReweighted, JointSquareCB) else {}
    for rewards in ((-1e308, 1e308), (0.0, 1.7e308), (0.0, 1e-300), (-5e-324, 0.0), (-1e31, 0.0)):
        raised(ValueError, kind, **options, rewards=rewards).match("Expected rewards")
    for radius in (1e-300, 1e31, 1e308):
        raised(ValueError, kind, **options, radius=radius).match("Expected radius")


def test_a_sum_that_is_no_number_is_not_released():
    for total in (math.nan, math.inf, 1e300):
        raised(NotSecure, with_noise, np.array([0.0, total]), 1.0, 2.0**-10, Silent()).match("2\\^52")
