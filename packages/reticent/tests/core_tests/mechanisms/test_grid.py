"""Mechanisms on integers: the same sums, the noise that is claimed, sensitivity with rounding, any order, overflow."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.made import any_kind, joint
from reticent import Bandit, Budget, Secure, Simulated
from reticent.algorithms import irls
from reticent.errors import HorizonReached
from reticent.mechanisms.discounted import Discounted
from reticent.mechanisms.grid import COEFFICIENT_BITS, LENGTH_SLACK
from reticent.mechanisms.opening import opened
from reticent.mechanisms.recursive_grid import on_integers
from reticent.model import links
from reticent.model.glm import GLMContribution
from reticent.model.linear import LinearContribution
from reticent.testing import stage

LEAVES = 40
MECHANISMS = {
    "square root": lambda n=LEAVES, size=3: Discounted(leaves=n, size=size, sigma=0.0, discount=1.0),
    "discounted": lambda n=LEAVES, size=3: Discounted(leaves=n, size=size, sigma=0.0, discount=0.97),
}


class Given:
    """Noise that the test knows: a source of whole numbers."""

    private = True
    description = "known"

    def __init__(self, numbers=lambda count, size: np.zeros((count, size), np.int64)):
        self.numbers = numbers

    def expect(self, need, cells):
        pass

    def integers(self, count, size, cells):
        return self.numbers(count, size)


def add(grid, state, v):
    grid.absorb(state, lambda out: out.__iadd__(v))


def run(grid, leaves, source):
    state, out = grid.init(source), []
    for leaf in leaves:
        for v in leaf:
            add(grid, state, v)
        out.append(grid.release(state, source).copy())
    return np.array(out)


@pytest.mark.parametrize("name", MECHANISMS)
def test_without_noise_it_is_the_sum_of_what_was_rounded(name):
    rng, grid = np.random.default_rng(0), on_integers(MECHANISMS[name](), sensitivity=2.0, mu=1.0)
    leaves = rng.uniform(-0.5, 0.5, (LEAVES, 4, 3))
    expected, total = [], np.zeros(3)
    for leaf in leaves:
        total = grid.fading * total + grid.cell * sum(np.rint(v / grid.cell) for v in leaf)
        expected.append(total)
    assert np.allclose(run(grid, leaves, Given()), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", MECHANISMS)
def test_noise_and_column_norm_from_the_matrices_in_use(name):
    grid = on_integers(MECHANISMS[name](), sensitivity=2.0, mu=1.0)
    B = decoder(grid)
    assert np.allclose(np.sqrt((B**2).sum(axis=1)), grid.gain(np.arange(1.0, LEAVES + 1)))
    C = np.linalg.solve(B, np.tril(grid.fading ** np.subtract.outer(np.arange(LEAVES), np.arange(LEAVES))))
    whole = np.rint(C[:, 0] * 2**COEFFICIENT_BITS)
    assert np.abs(C[:, 0] * 2**COEFFICIENT_BITS - whole).max() < 1e-6  # dyadic numbers indeed
    assert np.linalg.norm(whole) / 2**COEFFICIENT_BITS == pytest.approx(grid.column_norm, rel=1e-12)
    assert np.linalg.norm(C, axis=0).max() <= grid.column_norm * (1 + 1e-9)
    assert C.min() > -1e-9  # late contributions need that


def decoder(grid):
    """B: each unit of noise is sent through the mechanism by itself."""
    columns, used = [], sum(grid._draws(t) for t in range(LEAVES))
    for which in range(used):
        position = iter(range(used))

        def unit(count, size, position=position, which=which):
            return np.array([[1 if next(position) == which else 0] * size for _ in range(count)])

        columns.append(run(grid, np.zeros((LEAVES, 1, 3)), Given(unit))[:, 0] / grid.step)
    return np.array(columns).T


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_noise_has_the_law_that_is_claimed(name):
    """The variance of each release within 5 standard errors (false alarm 5e-6); a sigma a third off is rejected."""
    grid, source, runs = on_integers(MECHANISMS[name](8, 20), sensitivity=2.0, mu=1.0), Secure(), 25
    out = np.array([run(grid, np.zeros((8, 1, 20)), source) for _ in range(runs)])
    expected = grid.sigma * grid.gain(np.arange(1.0, 9))
    ratio, error = (out**2).mean(axis=(0, 2)) / expected**2, math.sqrt(2 / (runs * 20))
    assert np.abs(ratio - 1).max() < 5 * error and np.abs(ratio / (3 / 2) ** 2 - 1).min() > 5 * error


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.3, 1.0, 4.0]))
@settings(max_examples=200)
def test_sensitivity_with_rounding_is_never_exceeded(seed, size, bound):
    rng = np.random.default_rng(seed)
    grid = on_integers(MECHANISMS["square root"](4, size), sensitivity=bound, mu=1.0)
    v, w = rng.standard_normal((2, size))
    v *= bound / 2 / np.linalg.norm(v) * rng.choice([1.0, rng.random()])
    w *= bound / 2 / np.linalg.norm(w) * rng.choice([1.0, rng.random()])
    if rng.random() < 0.5:
        w = -v
    moved = grid.cell * np.linalg.norm(grid.encode(v) - grid.encode(w))
    assert moved <= grid.sensitivity(bound) and moved <= np.linalg.norm(v - w) + grid.cell * math.sqrt(size)
    assert grid.sensitivity(bound) <= bound * (1 + 1.1 / 2**14)


def test_the_allowance_for_rounding_is_nearly_attained():
    grid = on_integers(MECHANISMS["square root"](4, 25), sensitivity=1.0, mu=1.0)
    step = grid.cell * np.ones(25)
    v, w = 100.5 * step * (1 + 1e-12), -100.5 * step * (1 + 1e-12)
    extra = grid.cell * np.linalg.norm(grid.encode(v) - grid.encode(w)) - np.linalg.norm(v - w)
    assert 0.99 * grid.cell * 5 < extra <= grid.cell * 5


@pytest.mark.parametrize("dim", [1, 5])
def test_contributions_of_bandits_stay_within_their_bound_and_its_slack(dim):
    """What floats compute overshoots by roundings only: a thousandth of the slack that is allowed for."""
    rng, linear = np.random.default_rng(1), LinearContribution(dim=dim, scale=1.3, low=-1.0, high=2.0)
    glm = GLMContribution(dim=dim, link=links.logistic, scale=2.0, low=0.0, high=1.0)
    largest, at = 0.0, irls.prior(dim, 3.0)
    for _ in range(2000):
        x = rng.standard_normal(dim) * 10 ** rng.uniform(-9, 3)
        for c, rest in ((linear, (2.0,)), (glm, (float(rng.integers(2)), at.theta, at.inverse))):
            v = np.zeros(c.size)
            c.add(x, *rest, v)
            largest = max(largest, math.sqrt(2) * np.linalg.norm(v) / c.sensitivity)
    assert largest <= 1 + LENGTH_SLACK / 1000


def test_order_and_workers_do_not_matter():
    """Sums of floats depend on the order; these do not, bit by bit."""
    rng = np.random.default_rng(2)
    grid = on_integers(MECHANISMS["square root"](), sensitivity=2.0, mu=1.0)
    vectors, states = rng.uniform(-0.5, 0.5, (3000, 3)), [grid.init(Given()) for _ in range(3)]
    for v in vectors:
        add(grid, states[0], v)
    for v in vectors[rng.permutation(3000)]:
        add(grid, states[1], v)
    parts = np.array_split(rng.permutation(3000), 7)  # seven workers
    states[2].open[:] = sum(sum(grid.encode(vectors[i]) for i in part) for part in parts)
    assert np.array_equal(states[0].open, states[1].open) and np.array_equal(states[0].open, states[2].open)
    assert len({grid.release(s, Given()).tobytes() for s in states}) == 1
    assert vectors.sum(axis=0).tobytes() != vectors[rng.permutation(3000)].sum(axis=0).tobytes()


@pytest.mark.parametrize("name", MECHANISMS)
def test_sums_as_large_as_can_be_are_exact(name):
    """Against Python's whole numbers, with sums at the capacity, where 64 bits do not hold C X."""
    rng, grid = np.random.default_rng(3), on_integers(MECHANISMS[name](), sensitivity=2.0, mu=1.0)
    state, noise = grid.init(Given()), rng.integers(-(2**45), 2**45, (LEAVES, 3))
    rows = iter(noise)
    sums = rng.integers(-(2**61) // LEAVES, 2**61 // LEAVES, (LEAVES, 3))
    source, whole = Given(lambda count, size: next(rows)[None]), [int(m) for m in grid.encoder_cells]
    for t in range(LEAVES):
        state.open[:] = sums[t]
        grid.release(state, source)
        y = [sum(whole[t - s] * int(sums[s, j]) for s in range(t + 1)) + int(noise[t, j]) for j in range(3)]
        assert np.allclose(state.noise.table[t] / grid.step, np.array(y, float), rtol=1e-15, atol=0)
    assert abs(y[0]) > 2**63


def test_overflow_is_an_error_before_it_happens():
    bandit = joint(features=2, horizon=10**15, budget=Budget(1.0, 1e-6))
    mechanism = bandit.plan.mechanism
    assert 10**12 < mechanism.capacity < 10**15
    most = 190 * 193 // 2  # numbers for d = 190
    assert on_integers(MECHANISMS["square root"](2, most), sensitivity=1.0, mu=1.0).capacity > 10**12
    before = opened(bandit.sums.state.prefix).open.copy()
    bandit.sums.state.counts[:2] = mechanism.capacity, 10**15
    with pytest.raises(HorizonReached, match="overflow"):
        bandit.choose(np.eye(2))
    assert np.array_equal(opened(bandit.sums.state.prefix).open, before)
    longest = np.zeros(bandit.one_pass.learnt.contribution.size)
    longest[0] = mechanism.longest
    assert 0 < int(np.abs(mechanism.encode(longest)).max()) * mechanism.capacity < 2**62
    grid = on_integers(MECHANISMS["square root"](1), sensitivity=1.0, mu=1.0)
    with pytest.raises(HorizonReached, match="all been released"):
        run(grid, np.zeros((2, 1, 3)), Given())


@pytest.mark.parametrize("link", ["logistic", "identity"])
def test_the_secure_bandit_learns_like_the_simulated_one(link):
    """600 rounds of two arms, epsilon = 50: both find the arm that pays. The noise is not seeded: over 200 seeds of the
    simulated one the estimate had a standard deviation of .09 (logistic) and .002, so .8 apart is beyond 6 of those of
    a difference."""
    thetas = []
    for source in (Secure(), Simulated(0)):
        policy = np.random.default_rng(4)
        bandit = joint(features=2, budget=Budget(50.0, 1e-3), link=link, radius=2.0, source=source, policy=policy)
        for _ in range(600):
            choice = bandit.choose(np.eye(2))
            bandit.observe(choice, float(choice.index == 0))
        thetas.append(bandit.theta[0])
    assert abs(thetas[0] - thetas[1]) < 0.8 and min(thetas) > 0.3


def shift(kind, user, rounds, **options):
    """Everything that is released, over sigma, where the first `rounds` users are `user` and nobody else answers: the
    noise is zero, so the difference between two users is what the noise has to hide."""
    given = {"features": 2, "horizon": 64, "budget": Budget(1.0, 1e-3), "source": Given()}
    bandit = any_kind(kind, **given, rounds=rounds, **options)
    mine = [bandit.choose([user[0]], person="ada") for _ in range(rounds)]
    for choice in mine:  # rewards that come together join one step: the worst case
        bandit.observe(choice, user[1])
    for _ in range(64 - rounds):
        bandit.choose([[0.0, 0.0]], person="nobody")
    return opened(bandit.memory.learner.state.prefix).noise.table.ravel() / stage.mechanism(bandit).sigma, bandit


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize(("kind", "options"), [(Bandit, {"first": 4})], ids=str)
def test_what_a_person_moves_is_at_most_what_is_claimed_and_near_it(kind, options, rounds):
    """mu of the certificate against the difference of two people's releases, over a grid of pairs of people."""
    low = 0.0 if kind is Bandit else -1.0
    people = [(r * np.array([math.cos(a), math.sin(a)]), y) for r in (0.01, 1.0) for a in np.linspace(0, math.pi, 13)
              for y in (low, 1.0)]  # fmt: skip
    moved = [shift(kind, person, rounds, **options) for person in people]
    claimed = math.hypot(*(entry.mu for entry in moved[0][1].privacy.releases))
    largest = max(np.linalg.norm(a[0] - b[0]) for a in moved for b in moved)
    assert 0.9 * claimed < largest <= claimed * (1 + 1e-9)
