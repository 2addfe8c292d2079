"""ShuffleSBLB: what its bits cost, beside the enumerated truth; its sums; its learner, beside a slow one; its claim."""

import functools
import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from core_tests.bandits.test_fused import compare
from lab_tests.raising import raised
from reticent import Budget, Reward, Simulated, Spec, environments
from reticent.errors import BadBillboard, BatchTooSmall, NoHorizon
from reticent.privacy.randomness import Seeded, System
from reticent_devices import Shuffler
from reticent_devices.bandits.server import named
from reticent_papers import ShuffleSBLB
from reticent_papers.mechanisms import flips
from reticent_papers.mechanisms.flips import SHARE, calibrate_flips, epsilon_of, flipped, losses
from reticent_papers.shuffle.sblb_device import SBLBClient

BUDGET, WORLD = Budget(1.0, 1e-6), environments.ball(link="probit", dim=3, arms=6, radius=3.0)


@functools.cache
def count(p, others, ones):
    """The law of the ones that `others` devices send, so many of whom hold a 1."""
    law = np.ones(1)
    for held in [1] * ones + [0] * (others - ones):
        law = np.convolve(law, [1 - p / 2, p / 2] if held == 0 else [p / 2, 1 - p / 2])
    return law


def divergence(pairs, epsilon):
    """Of independent counts, enumerated."""
    first, second = np.ones(1), np.ones(1)
    for one, other in pairs:
        first, second = np.outer(first, one).ravel(), np.outer(second, other).ravel()
    return np.maximum(first - math.exp(epsilon) * second, 0.0).sum()


def truth(p, users, bits, epsilon, sent=lambda _: (1.0, 0.0)):
    """The largest divergence over what others hold; the replaced user's bits are 1 with the probabilities of `sent`."""
    worst = 0.0
    for held in itertools.product(range(users), repeat=bits):
        pairs = []
        for place, ones in enumerate(held):
            chances = [p / 2 + (1 - p) * t for t in sent(place)]
            pairs.append([np.convolve(count(p, users - 1, ones), [1 - a, a]) for a in chances])
        worst = max(worst, divergence(pairs, epsilon))
    return worst


@pytest.mark.parametrize(
    ("p", "users", "bits"), [(0.5, 3, 1), (0.1, 9, 1), (0.5, 5, 2), (0.2, 12, 2), (0.5, 20, 2), (0.7, 6, 3)]
)
def test_the_bound_covers_the_enumerated_truth_and_is_near_it(p, users, bits):
    made = losses(round(p * SHARE), users - 1, bits)
    for epsilon in (0.0, 0.3, 0.7, 1.2, 2.0):
        exact = truth(round(p * SHARE) / SHARE, users, bits, epsilon)
        assert exact <= made.delta(epsilon) <= 1.8 * exact + 1e-9
    half = losses(round(p * SHARE / 2), users - 1, bits)
    assert half.delta(0.3) > made.delta(0.3) and truth(p / 2, users, bits, 0.3) > made.delta(0.3), "half of the coins"


def blanket(p, others, bits, epsilon):
    """What the proof's second step leaves, enumerated without a grid, groups or tails."""
    pair = []
    for n in range(others + 1):
        coins = binom.pmf(np.arange(n + 1), n, 0.5)
        laws = [np.convolve(coins, [1 - a, a]) for a in (1 - p / 2, p / 2)]
        pair.append(binom.pmf(n, others, p) * np.array(laws))
    return divergence([np.concatenate(pair, axis=1)] * bits, epsilon)


@pytest.mark.parametrize(("p", "others", "bits"), [(0.3, 12, 1), (0.5, 7, 2), (0.3, 20, 2), (0.6, 5, 3)])
def test_the_grid_costs_next_to_nothing(p, others, bits):
    made = losses(round(p * SHARE), others, bits)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        exact = blanket(round(p * SHARE) / SHARE, others, bits, epsilon)
        assert exact <= made.delta(epsilon) <= 1.05 * exact + 1e-3


def test_groups_of_coins_only_add_to_delta(monkeypatch):
    for chance, others, bits in ((SHARE // 2, 400, 9), (SHARE // 9, 2000, 5)):
        losses.cache_clear()
        grouped = [losses(chance, others, bits).delta(e) for e in (0.2, 0.6, 1.0)]
        monkeypatch.setattr(flips, "GROUPS", 10**6)
        losses.cache_clear()
        each = [losses(chance, others, bits).delta(e) for e in (0.2, 0.6, 1.0)]
        monkeypatch.undo()
        assert all(a <= b * (1 + 1e-9) <= 1.05 * a + 2e-9 for a, b in zip(each, grouped, strict=True))
    losses.cache_clear()


def test_convolutions_by_transforms_are_those_by_sums():
    up, down, _ = flips.outcomes(0.3, 50)
    masses, low = flips._on_grid(up, down, np.log(up / down), 0.05)
    out, lost = flips._power(masses, low, 5, 400)
    slow, start = np.ones(1), 0
    for _ in range(5):
        slow, start = np.convolve(slow, masses), start + low
    whole, cut = flips._window(slow, start, 400)
    assert np.abs(out - whole).sum() + abs(lost - cut) < flips.ROUNDING / 100


@pytest.mark.parametrize(("epsilon", "users", "bits"), [(1.0, 293, 9), (4.0, 293, 9), (1.0, 4, 5), (0.1, 1000, 27)])
def test_coins_are_as_many_as_needed(epsilon, users, bits):
    chance = calibrate_flips(Budget(epsilon, 1e-6), honest=users, bits=bits)
    assert epsilon * 0.999 < epsilon_of(chance, users, bits, 1e-6) <= epsilon * (1 + 1e-6)
    assert epsilon_of(round(0.95 * chance), users, bits, 1e-6) > epsilon
    assert epsilon_of(chance, users - 1, bits, 1e-6) > epsilon
    assert epsilon_of(chance, users, bits + 1, 1e-6) > epsilon
    assert epsilon_of(chance, users, bits, 1e-6) <= bits * math.log(2 * SHARE / chance - 1) + 1e-5, "local privacy"


def test_what_cannot_be_shown_is_not():
    assert epsilon_of(0, 100, 9, 1e-6) == epsilon_of(SHARE // 2, 0, 9, 1e-6) == math.inf
    assert epsilon_of(SHARE // 2, 10**6, 9, 1e-6) == epsilon_of(SHARE // 2, 100, 9, 1e-10) == math.inf
    for wrong in ({"honest": 10**6}, {"bits": 10**6}):
        raised(ValueError, calibrate_flips, BUDGET, **{"honest": 100, "bits": 9} | wrong).match("Expected at most")


@pytest.mark.parametrize("dim", [1, 2])
def test_real_data_stay_below_the_claim(dim):
    """Every pair of some hundred data, beside the worst bits: bounded vectors can do less than the proof allows for."""
    server = ShuffleSBLB(dim, Budget(1.0, 0.05), Reward("identity", range=(-1.0, 1.0)), horizon=100, first=4)
    chance, client = json.loads(server.billboard())["plan"]["chance"], SBLBClient(server.billboard())
    angles = [(math.cos(a), math.sin(a)) for a in np.linspace(0, 2 * math.pi, 9)] if dim == 2 else [(1.0,), (0.0,)]
    data = [client.values(np.array(x), r) for x in angles for r in (-1.0, 1.0)] + [np.full(client.parameters.size, 0.5)]
    worst = 0.0
    for one, other in itertools.permutations(data[:: 1 + (dim == 2)], 2):
        held, pairs = [3 * (b > a) for a, b in zip(one, other, strict=True)], []
        for ones, a, b in zip(held, one, other, strict=True):
            sent = [chance / SHARE / 2 + (1 - chance / SHARE) * v for v in (a, b)]
            pairs.append([np.convolve(count(chance / SHARE, 3, ones), [1 - t, t]) for t in sent])
        worst = max(worst, divergence(pairs, 1.0))
    assert 0 < worst < 0.05


def test_the_condition_of_theorem_5_does_not_give_its_claim():
    """Corollary 9's p at the largest epsilon it is for: (3) holds with 385 users, and one bit alone tells more."""
    T, d, delta, users, epsilon = 5000, 3, 1e-6, 385, 1 / (27 * 5000**0.25)
    p = 1 - epsilon ** (2 / 3) * T ** (1 / 6)
    assert p == pytest.approx(8 / 9) and users * p >= 14 * math.log(8 * T / delta)
    spread = math.log(8 * T / delta) * math.sqrt(2 * T * math.log(2 * T / delta))
    square = (epsilon * users / (32 * d * (d + 3) * spread)) ** 2
    assert math.sqrt((2 + square) ** 2 - 4) >= 1 - 2 * p + 2 * math.sqrt(2 * math.log(2 * T / delta) / users) + square
    coins = binom.pmf(np.arange(users), users - 1, 0.5)  # of others with x = 0: one bit in two is 1, coin or not
    pair = [np.convolve(coins, [1 - a, a]) for a in (1 - p / 2, p / 2)]  # of users with (x, r) = (e_1, 1) and (-e_1, 1)
    assert divergence([pair], epsilon) > 2600 * delta > delta + 1 / T
    assert epsilon_of(round(p * SHARE), users, 9, delta) == pytest.approx(0.133, abs=1e-3)


class Fixed(System):
    """Every uniform number is this one."""

    def __init__(self, value):
        self.value = value

    def uniforms(self, count):
        return np.full(count, self.value)


@settings(max_examples=100, deadline=None)
@given(st.floats(-1, 2), st.integers(1, 5), st.integers(1, SHARE - 1))
def test_a_bit_is_never_surer_than_the_coins_allow(value, bits, chance):
    """With every uniform number below p / 2 all bits are 1, with every one from 1 - p / 2 on none is."""
    half = chance / SHARE / 2
    for uniform, ones in ((half - 2.0**-53, bits), (1 - half, 0)):
        assert flipped(np.array([value]), Fixed(uniform), chance=chance, bits=bits).tolist() == [ones]


@pytest.mark.parametrize("bits", [1, 3])
def test_the_sums_are_unbiased_and_have_the_stated_noise(bits):
    """2000 batches; the mean is within five standard errors of the truth, and would not be with another p."""
    server = ShuffleSBLB(2, Budget(2.0, 1e-3), Reward("identity", range=(-2.0, 1.0)), horizon=1000, first=40, bits=bits)
    plan, client = server.analyzer.plan(0), SBLBClient(server.billboard())
    x, reward, users = np.array([0.6, -0.7]), -1.5, 80_000
    values = client.values(x, reward)
    exact = np.array([0.36, -0.42, 0.49, -0.75 * 0.6, 0.75 * 0.7]) / 2
    assert np.allclose(values - 0.5, exact)
    chance = json.loads(server.billboard())["plan"]["chance"]
    many = flipped(np.tile(values, users), Seeded(np.random.default_rng(1)), chance=chance, bits=bits)
    sums = many.reshape(users, 5).sum(axis=0)
    mean = (sums - users * bits / 2) / plan.scale / users
    error = server.privacy.releases[0].std / math.sqrt(plan.users * users)
    assert np.abs(mean - exact).max() < 5 * error
    wrong = bits * (1 - 1.2 * chance / SHARE)
    assert np.abs((sums - users * bits / 2) / wrong / users - exact).max() > 5 * error
    spread = many.reshape(users, 5).std(axis=0) / plan.scale
    assert (spread <= error * math.sqrt(users) * 1.02).all()


def slow(server, batches):
    """Algorithm 1 with (7) and (8), from the counts of each batch."""
    d, m, users, lam, failure = server.dim, server.bits, server.first, server.ridge, 1 / server.horizon
    p = json.loads(server.billboard())["plan"]["chance"] / SHARE
    largest = max(abs(end) for end in server.rewards)
    V, B, t = lam * np.eye(d), np.zeros(d), 0
    theta, inverse, det, beta, before = np.zeros(d), np.linalg.inv(V), np.linalg.det(V), None, lam
    for sums in batches:
        t += users
        U = np.zeros((d, d))
        U[np.triu_indices(d)] = sums[: d * (d + 1) // 2]
        U, logs = U + np.triu(U, 1).T, math.log(2 * t / failure)
        ridge = server.width_scale * math.sqrt(8 * t * logs) * (1 / m + 2 / ((1 - p) * m**0.5)) + lam
        B = B + sums[-d:] / (m * (1 - p)) - users / (2 * (1 - p))
        V = V + U / (m * (1 - p)) - users / (2 * (1 - p)) + 2 * (ridge - before) * np.eye(d)
        before = ridge
        if np.linalg.eigvalsh(V)[0] > 0 and np.linalg.det(V) >= 1.5 * det:
            theta, inverse, det = largest * np.linalg.inv(V) @ B, np.linalg.inv(V), np.linalg.det(V)
            noise = 2 * math.sqrt(p * (1 - p / 2) * t * m * logs) + 8 * logs / 3 + math.sqrt(8 * t * logs) / m
            own = server.subgaussian / largest * math.sqrt(8 * logs + d * math.log(3 + t / ridge))
            prior = server.radius / largest * math.sqrt(3 * ridge)
            beta = largest * server.width_scale * (own + prior + d / math.sqrt(ridge) * noise)
    return theta, inverse, beta


@pytest.mark.parametrize("options", [{}, {"bits": 4}, {"width_scale": 0.01, "range": (-2.0, 1.0)}, {"ridge": 3.0}])
def test_the_learner_is_algorithm_1(options):
    rng, plain = np.random.default_rng(3), {"features": 3, "radius": 3.0, "subgaussian": 0.5, "source": Simulated(0)}
    server = named(ShuffleSBLB, **plain, horizon=2000, budget=Budget(4.0, 1e-3), first=100, **options)
    plan, batches, renewed = server.analyzer.plan(0), [], 0
    for _ in range(12):
        sums = rng.binomial(plan.users * plan.trials, 0.5 + 0.1 * rng.random(plan.size))
        batches.append(sums)
        before = server.theta
        server._close(plan.users, sums, plan)
        renewed += not np.array_equal(before, server.theta)
        theta, inverse, beta = slow(server, batches)
        assert np.allclose(server.theta, theta) and np.allclose(server._state.posterior.inverse, inverse)
        assert beta is None or server._state.held[1] == pytest.approx(beta)
    assert 1 <= renewed < 12, "by the determinant, not by every batch"


@pytest.mark.parametrize("options", [{}, {"bits": 3, "first": 40}, {"width_scale": 0.01, "first": 60}])
def test_fused_and_stepwise_are_identical(options):
    compare(Spec(ShuffleSBLB, budget=Budget(1.0, 1e-2), **options), WORLD)
    compare(Spec(ShuffleSBLB, budget=Budget(math.inf, 1e-2), **options), WORLD)


def test_it_learns_without_coins_and_narrow_widths():
    bandit = Spec(ShuffleSBLB, budget=Budget(math.inf, 0.1), width_scale=0.01, first=100).build(
        WORLD, 4000, np.random.SeedSequence(1)
    )
    world, block = WORLD.start(np.random.default_rng(2), 4000), WORLD.block(2000)
    means = []
    for _ in range(2):
        world.fill(block)
        bandit.play(block)
        means.append(block.regret.mean())
    assert max(means) < 0.2 * block.means.std()


def test_the_claim_and_who_checks_it():
    server = ShuffleSBLB(3, BUDGET, Reward("identity", 3.0), horizon=5000)
    assert server.first == 293 and server.ridge == math.sqrt(5000)
    assert server.privacy.private and 0.999 < server.privacy.epsilon <= 1 + 1e-6
    assert Shuffler(server.billboard(), budget=BUDGET).epsilon <= 1 + 1e-6
    document = json.loads(server.billboard())
    assert SBLBClient(server.billboard(), budget=BUDGET).cost.epsilon <= 1 + 1e-6
    for plan in ({"chance": document["plan"]["chance"] * 9 // 10}, {"minimum": 250}, {"malicious": 30}, {"bits": 2}):
        board = json.dumps(document | {"plan": document["plan"] | plan}).encode()
        raised(BadBillboard, SBLBClient, board).match("Expected coins that give the claimed epsilon")
        raised(BadBillboard, Shuffler, board, budget=BUDGET).match("Expected a batch of epsilon")
    for plan in ({"chance": 0}, {"epsilon": None}):
        with pytest.raises(BadBillboard, match="people's data"):
            SBLBClient(json.dumps(document | {"plan": document["plan"] | plan}).encode())
    raised(BadBillboard, SBLBClient, server.billboard(), budget=Budget(0.5, 1e-6)).match("Expected epsilon at most 0.5")
    assert not ShuffleSBLB(3, BUDGET, horizon=5000, source=Simulated(0)).privacy.private


def test_who_stays_away_or_lies_is_planned_for():
    plain = ShuffleSBLB(2, Budget(1.0, 1e-3), horizon=1000, first=60)
    server = ShuffleSBLB(2, Budget(1.0, 1e-3), horizon=1000, first=60, dropout=0.1, malicious=0.2)
    assert server.analyzer.plan(0).scale < plain.analyzer.plan(0).scale, "more coins of those who are left"
    for few in (53, 54):
        shuffler = Shuffler(server.billboard(), minimum=1)
        for _ in range(few):
            client = server.device()
            shuffler.add(client.randomize(client.choose([[0.6, 0.0], [0.0, 0.9]]), 1.0))
        if few < 54:
            raised(BatchTooSmall, server.observe, shuffler.close())
        else:
            server.observe(shuffler.close())
    assert server.users == 54 and 0.99 < server.privacy.spent <= 1 + 1e-6


def test_settings():
    for wrong in ({"bits": 0}, {"threshold": 0.0}, {"failure": 2.0}, {"ridge": 0.0}, {"calibration": "central"}):
        with pytest.raises(ValueError, match="Expected"):
            named(ShuffleSBLB, **{"features": 2, "horizon": 100, "budget": BUDGET} | wrong)
    raised(NoHorizon, ShuffleSBLB, 2, BUDGET)
    raised(ValueError, ShuffleSBLB, 2, Budget(1.0, 0.0), horizon=100).match("delta")
