"""Settings and data at the ends of what floats can hold: refused, or the bound on one user's influence holds."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.made import any_kind, joint
from reticent import Bandit, Budget, Simulated
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import LENGTH_SLACK, on_grid
from reticent.model import links
from reticent.testing import stage
from reticent_devices import LocalIRLS
from reticent_devices.bandits.server import named

BUDGET, SAFE = Budget(1.0, 1e-3), [1e-30, 1e-12, 0.3, 1.0, 3.0, 1e12, 1e30]
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
    common = {"horizon": 40, "budget": BUDGET, "source": Silent(), "pending": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return any_kind(kind, **({"features": 2} | common | options))
        except ValueError:
            return None


def moved(bandit, one, other, longest=math.inf):
    """How far apart two contributions are, over what is allowed; neither is longer than `longest`."""
    grid, encoded = stage.mechanism(bandit), []
    contribution = (bandit.one_pass.learnt if isinstance(bandit, Bandit) else bandit).contribution
    for add in (one, other):
        v = np.zeros(contribution.size)
        add(v)
        assert np.linalg.norm(v) <= longest * (1 + LENGTH_SLACK)
        encoded.append(grid.encode(v))
    apart = np.linalg.norm(encoded[0].astype(float) - encoded[1].astype(float)) * grid.cell
    return apart / grid.sensitivity(contribution.sensitivity)


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
    bandit = made(Bandit, range=rewards, radius=radius, link=link, first=5)
    if bandit is None:
        return
    rng, posterior = np.random.default_rng(seed), bandit.sums.state.estimate
    contribution = bandit.one_pass.learnt.contribution
    posterior.theta[:] = radius * rng.choice([-1.0, 0.0, 0.6], 2) / 2
    posterior.inverse[:] = np.diag(rng.choice([0.0, 1e-300, 1.0, radius**2], 2))
    pairs = [(x, rewards_of(*rewards)[i]) for x, i in zip(users, which, strict=True)]
    adds = [lambda v, x=x, y=y: contribution.add(x, y, posterior.theta, posterior.inverse, v) for x, y in pairs]
    assert moved(bandit, *adds, contribution.norm) <= 1


def test_ranges_and_radii_that_floats_cannot_serve_are_refused():
    options = {"features": 2, "horizon": 40, "budget": BUDGET, "first": 10, "source": Silent()}
    for rewards in ((-1e308, 1e308), (0.0, 1.7e308), (0.0, 1e-300), (-5e-324, 0.0), (-1e31, 0.0)):
        with pytest.raises(ValueError, match="Expected range"):
            joint(**options, range=rewards)
    for radius in (1e-300, 1e31, 1e308):
        with pytest.raises(ValueError, match="Expected radius"):
            joint(**options, radius=radius)


def test_servers_refuse_them_too():
    for options in ({"range": (-1e308, 1e308)}, {"range": (0.0, 1e-300)}, {"radius": 1e308}):
        with pytest.raises(ValueError, match="Expected r"):
            named(LocalIRLS, features=2, budget=BUDGET, horizon=100, source=Simulated(0), **options)


@MANY
@given(
    v=st.lists(
        st.sampled_from([math.nan, math.inf, -math.inf, 1.7e308, -1e300, 1e19, 1e3, 1.0, 0.5, -0.5, 0.0, 5e-324]),
        min_size=3,
        max_size=3,
    ),
    bound=st.sampled_from([1e-30, 0.3, 1.0, 4.0, 1e30]),
    mu=st.sampled_from([1e-9, 1.0]),
)
def test_whatever_comes_a_grid_is_moved_by_no_more_than_a_user(v, bound, mu):
    """NaN, infinities and what is too long count as nothing; what a user can add is rounded and else left alone."""
    grid = on_grid(Discounted(leaves=4, size=3, sigma=0.0, discount=1.0), sensitivity=bound, mu=mu)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = grid.encode(np.array(v))
    assert grid.cell * np.linalg.norm(encoded.astype(float)) <= grid.sensitivity(bound)
    length = math.hypot(*v)
    if length <= bound:
        assert np.array_equal(encoded, np.rint(np.array(v) / grid.cell))
    elif not length <= bound * (1 + 1e-8):
        assert not encoded.any()


@pytest.mark.parametrize("options", [{}, {"model": "scores"}, {"base_rate": 0.1}, {"window": 2}])
def test_tiny_features_fail_in_nobodys_call_whatever_errors_the_program_raises(options):
    bandit = joint(features=4, budget=BUDGET, first=4, **options)
    with np.errstate(under="raise"):
        for t in range(12):
            choice = bandit.choose(1e-308 * np.eye(4))
            assert bandit.observe(choice, float(t % 2)) and 0 <= choice.propensity <= 1 and bandit.choices == t + 1
