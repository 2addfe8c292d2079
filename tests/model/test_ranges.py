"""Settings and data at the ends of what floats can hold: refused, or the bound on one user's influence holds."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Budget, JointGLM, JointLinUCB, LocalIRLS, Simulated
from tacit.errors import NotSecure
from tacit.mechanisms.grid import LENGTH_SLACK, on_grid
from tacit.mechanisms.sums import with_noise
from tacit.mechanisms.toeplitz import Toeplitz
from tacit.mechanisms.tree import Tree
from tacit.model import links
from tacit_papers import JointGLMRare, JointReweighted, JointSquareCB, ShariffLinUCB
from tacit_papers.joint.glm_rare_descent_kernel import Data, gradients
from tacit_papers.kernels.squarecb import gradient_step
from tacit_papers.regression import (
    ImproperSGD,
    OutputPerturbation,
    PrivateNewton,
    PrivateRidge,
    ReweightedGLM,
    ReweightedLinear,
)
from tacit_papers.regression.contribution import ReweightedContribution

BUDGET = Budget(1.0, 1e-3)
SAFE = [1e-30, 1e-12, 0.3, 1.0, 3.0, 1e12, 1e30]
SIZES = [5e-324, 1e-300, 1e-160, *SAFE, 1e154, 1e308, 1.7e308]
ENDS = [0.0, *SIZES, *(-size for size in SIZES)]
RANGES = st.lists(st.sampled_from(ENDS), min_size=2, max_size=2, unique=True).map(lambda ends: tuple(sorted(ends)))
MANY = settings(max_examples=250)  # about half of the settings are refused


class Silent:
    """Whole numbers without noise, so that what is released is the sum."""

    private = True
    description = "known"

    def expect(self, need, cells):
        pass

    def integers(self, count, size, cells):
        return np.zeros((count, size), np.int64)


@st.composite
def people(draw, dim=2):
    """Arms of any length down to the smallest floats, along an axis or not; more of those whose squares are denormal:
    a length that is computed from them is wrong by up to all of it."""
    length = draw(st.sampled_from([0.0, 5e-324, 1e-310, 1e-150, 1e-149, 1e-75, 1e-9, 0.3, 1.0, 1 + 1e-9]))
    length = draw(st.one_of(st.just(length), st.floats(-163, -148).map(lambda power: 10.0**power)))
    angle = draw(st.sampled_from([0.0, math.pi / 4, 1.0, 2.0, math.pi, 5.0]))
    return length * np.array([math.cos(angle), math.sin(angle), *[0.0] * (dim - 2)])


def rewards_of(low, high):
    return [low, high, low / 2 + high / 2, np.nextafter(low, high), min(max(0.0, low), high)]


def made(kind, **options):
    """The bandit, or None if its settings are refused: by ValueError, and nothing else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return kind(**({"dim": 2, "horizon": 40, "budget": BUDGET, "source": Silent(), "pending": 5} | options))
        except ValueError:
            return None


def moved(bandit, one, other, longest=math.inf):
    """How far apart two contributions are, over what is allowed; neither is longer than `longest`."""
    grid, encoded = bandit.mechanism, []
    for add in (one, other):
        v = np.zeros(bandit.contribution.size)
        add(v)
        assert np.linalg.norm(v) <= longest * (1 + LENGTH_SLACK)
        encoded.append(grid.encode(v))
    apart = np.linalg.norm(encoded[0].astype(float) - encoded[1].astype(float)) * grid.cell
    return apart / grid.sensitivity(bandit.contribution.sensitivity)


LINK = links.given(lambda z: 0.5 + z / 64, lambda z: np.full_like(z, 1 / 64), steepest=1 / 64)


@MANY
@given(
    rewards=RANGES,
    radius=st.sampled_from(SIZES),
    link=st.sampled_from([*links.NAMES, LINK]),
    users=st.tuples(people(), people()),
    which=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    seed=st.integers(0, 100),
)
def test_one_user_of_a_glm_moves_its_sums_by_no_more_than_is_claimed(rewards, radius, link, users, which, seed):
    bandit = made(JointGLM, rewards=rewards, radius=radius, link=link, first=5)
    if bandit is None:
        return
    rng, posterior = np.random.default_rng(seed), bandit._state.estimate
    posterior.theta[:] = radius * rng.choice([-1.0, 0.0, 0.6], 2) / 2
    posterior.inverse[:] = np.diag(rng.choice([0.0, 1e-300, 1.0, radius**2], 2))
    pairs = [(x, rewards_of(*rewards)[i]) for x, i in zip(users, which, strict=True)]
    adds = [lambda v, x=x, y=y: bandit.contribution.add(x, y, posterior.theta, posterior.inverse, v) for x, y in pairs]
    assert moved(bandit, *adds, bandit.contribution.norm) <= 1


@MANY
@given(
    rewards=RANGES,
    radius=st.sampled_from(SIZES),
    kind=st.sampled_from([(JointLinUCB, {}), (ShariffLinUCB, {}), (ShariffLinUCB, {"calibration": "paper"})]),
    users=st.tuples(people(), people()),
    which=st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_one_user_of_a_linear_bandit_too(rewards, radius, kind, users, which):
    bandit = made(kind[0], rewards=rewards, radius=radius, **kind[1])
    if bandit is None:
        return
    pairs = [(x, rewards_of(*rewards)[i]) for x, i in zip(users, which, strict=True)]
    longest = bandit.contribution.sensitivity / math.sqrt(2)
    assert moved(bandit, *(lambda v, x=x, y=y: bandit.contribution.add(x, y, v) for x, y in pairs), longest) <= 1


@MANY
@given(
    rewards=RANGES,
    radius=st.sampled_from(SIZES),
    users=st.tuples(people(), people()),
    which=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    explored=st.tuples(st.booleans(), st.booleans()),
    kappa=st.sampled_from([None, 1e-320, 1.0, 1e30, 1.7e308]),
)
def test_one_user_of_rare_moves_neither_matrices_nor_gradients_by_more(rewards, radius, users, which, explored, kappa):
    bandit = made(JointGLMRare, rewards=rewards, radius=radius, kappa_star=kappa)
    if bandit is None:
        return
    theta = radius * np.array([0.6, -0.8])
    pairs = list(zip(users, explored, strict=True))
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
    users=st.tuples(people(), people()),
    which=st.tuples(st.integers(0, 4), st.integers(0, 4)),
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
    theta = radius * np.array([0.6, -0.8]) * link.bounded
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    matrix, sums = turn @ np.diag(spread) @ turn.T, []
    for x, r in zip(users, targets, strict=True):
        x, r = x[None] / max(1.0, np.linalg.norm(x)), np.array([r])
        sums.append(
            [
                contribution.gram(x, matrix),
                contribution.gradient(x, r, matrix, theta),
                contribution.closing(x, r, matrix, theta),
            ]
        )
    bounds = contribution.gram_sensitivity, contribution.gradient_sensitivity, contribution.closing_sensitivity
    for one, other, bound in zip(*sums, bounds, strict=True):
        assert np.linalg.norm(one - other) <= bound * (1 + 2.0**-10)
    for gram, gradient, _ in sums:
        assert np.linalg.norm(gram) <= 1 + 2.0**-10
        assert np.linalg.norm(gradient) <= contribution.residual * (1 + 2.0**-10)


@pytest.mark.parametrize("kind", [JointGLM, JointLinUCB, JointGLMRare, JointReweighted, JointSquareCB], ids=str)
def test_ranges_and_radii_that_floats_cannot_serve_are_refused(kind):
    options = {"dim": 2, "horizon": 40, "budget": BUDGET, "first": 10, "source": Silent()}
    if kind is JointGLMRare:
        del options["first"]
    for rewards in ((-1e308, 1e308), (0.0, 1.7e308), (0.0, 1e-300), (-5e-324, 0.0), (-1e31, 0.0)):
        with pytest.raises(ValueError, match="Expected rewards"):
            kind(**options, rewards=rewards)
    for radius in (1e-300, 1e31, 1e308):
        with pytest.raises(ValueError, match="Expected radius"):
            kind(**options, radius=radius)


REGRESSORS = [ReweightedLinear, ReweightedGLM, PrivateRidge, PrivateNewton, OutputPerturbation, ImproperSGD]


@pytest.mark.parametrize("kind", REGRESSORS, ids=str)
def test_regressors_refuse_them_too_and_serve_what_is_left(kind):
    for targets in ((-1e308, 1e308), (0.0, 1.7e308), (0.0, 1e-300)):
        with pytest.raises(ValueError, match="Expected targets"):
            kind(budget=BUDGET, targets=targets)
    with pytest.raises(ValueError, match="Expected radius"):
        kind(budget=BUDGET, radius=1e308)
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.7, 0.7, (12, 2)) * 10.0 ** rng.choice([-320.0, -155.0, -150.0, -75.0, 0.0], (12, 1))
    for unit, radius in itertools.product((1e-30, 1.0, 1e30), (1e-30, 1.0, 1e30)):
        low = 0.0 if kind in (ReweightedGLM, PrivateNewton, OutputPerturbation) else -unit
        targets = rng.choice([low, unit], 12)
        fitted = kind(budget=BUDGET, radius=radius, targets=(low, unit), source=Silent()).fit(x, targets)
        assert np.isfinite(fitted.theta_).all()


def test_servers_refuse_them_too():
    for options in ({"rewards": (-1e308, 1e308)}, {"rewards": (0.0, 1e-300)}, {"radius": 1e308}):
        with pytest.raises(ValueError, match="Expected r"):
            LocalIRLS(dim=2, budget=BUDGET, horizon=100, source=Simulated(0), **options)


@MANY
@given(
    v=st.lists(
        st.sampled_from([math.nan, math.inf, -math.inf, 1.7e308, -1e300, 1e19, 1e3, 1.0, 0.5, -0.5, 0.0, 5e-324]),
        min_size=3,
        max_size=3,
    ),
    kind=st.sampled_from([Tree, Toeplitz]),
    bound=st.sampled_from([1e-30, 0.3, 1.0, 4.0, 1e30]),
    mu=st.sampled_from([1e-9, 1.0]),
)
def test_whatever_comes_a_grid_is_moved_by_no_more_than_a_user(v, kind, bound, mu):
    """NaN, infinities and what is too long count as nothing; what a user can add is rounded and else left alone."""
    grid = on_grid(kind(leaves=4, size=3, sigma=0.0), sensitivity=bound, mu=mu)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = grid.encode(np.array(v))
    assert grid.cell * np.linalg.norm(encoded.astype(float)) <= grid.sensitivity(bound)
    length = math.hypot(*v)
    if length <= bound:
        assert np.array_equal(encoded, np.rint(np.array(v) / grid.cell))
    elif not length <= bound * (1 + 1e-8):
        assert not encoded.any()


def test_a_sum_that_is_no_number_is_not_released():
    for total in (math.nan, math.inf, 1e300):
        with pytest.raises(NotSecure, match="2\\^52"):
            with_noise(np.array([0.0, total]), 1.0, 2.0**-10, Silent())
