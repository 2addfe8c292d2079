"""JointGLMRare: its steps against slow formulas, the ledger, learning."""

import itertools
import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from core_tests.bandits.test_fused import stepwise
from core_tests.reference import linear
from papers_tests.reference import rare
from reticent import Budget, Simulated, Spec, environments, registry
from reticent.errors import BudgetExceeded, HorizonReached, NotSecure
from reticent.mechanisms.saving import arrays
from reticent.model import links
from reticent.privacy import gaussian, ledger
from reticent_papers import JointGLMRare
from reticent_papers.joint import glm_rare_descent_kernel as descents
from reticent_papers.joint import glm_rare_kernel as kernels
from reticent_papers.joint.glm_rare_model import DesignContribution
from reticent_papers.joint.glm_rare_theory import theory

LINKS, TIMINGS = [links.logistic, links.probit], ["strict", "published"]


def build(**options):
    plain = {"dim": 3, "horizon": 300, "budget": Budget(2.0, 0.02), "link": "probit", "radius": 2.0, "pending": 50}
    return JointGLMRare(**({"source": Simulated(0)} | plain | options))


def spd(rng, d, size=1.0):
    a = rng.standard_normal((d, d))
    return size * (a @ a.T + 0.2 * np.eye(d))


def test_contribution_choice_and_matrices_against_their_formulas():
    rng = default_rng(3)
    for trial in range(60):
        d, link = 1 + trial % 4, LINKS[trial % 2]
        V, H = spd(rng, d, 3.0), spd(rng, d, 0.5)
        theta_o, theta_tau = 2 * rng.standard_normal(d), rng.standard_normal(d)
        arms = rng.uniform(-1, 1, (6, d)) / math.sqrt(d)
        bandit = build(dim=d, link=link.name, explore=float(rng.choice([0.3, 1.0, 3.0])), width=0.7)
        design, rule = bandit._state.design, bandit._rule
        design.inverse[:], design.inverse_tau[:] = np.linalg.inv(V), np.linalg.inv(H)
        design.theta_o[:], design.theta_tau[:] = theta_o, theta_tau
        index, explored = rare.choice(arms, V, theta_o, H, theta_tau, rule.explore, 0.7)
        assert bandit._pick(arms[None])[0] == index
        assert bool(kernels.explores(arms[index], design, rule)) == explored
        out, x = np.zeros(d * (d + 1)), 3 * rng.standard_normal(d)
        kernels.add_design(x, explored, theta_o, link.code, 0.2, out)
        assert np.allclose(out, rare.design(x, explored, theta_o, link.name, 0.2))
        noisy, packed = spd(rng, d) - rng.uniform(0, 4) * np.eye(d), np.empty((d, d))
        kernels.raised(linear.svec(noisy), 2.0, 1.5, 0.5, packed)
        assert np.allclose(packed, rare.raised(2 * noisy, 1.5))
        assert kernels.grown(V, H, 2.0) == (np.linalg.eigvalsh(2 * H - V).min() <= 0)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize("explored", [0, 1])
def test_descent_against_its_formula(link, explored):
    rng = default_rng(4)
    bandit = build(link=link.name, shrink=2.0, step=0.9, explore=1.2, iterations=7)
    state, rule = bandit._state, bandit._rule
    for _ in range(200):
        x = rare.ball(rng.standard_normal(3), 1.0)
        kernels.keep(x, float(rng.integers(2)), bool(rng.integers(2)), 0.0, 1.0, state.counts, state.data)
    V, H = spd(rng, 3, 4.0), spd(rng, 3, 3.0)
    state.design.gram[:], state.design.hessian[:] = V, H
    state.design.theta_o[:], start = 0.3 * rng.standard_normal(3), np.array([0.5, -0.2, 0.1])
    noise, out = 3 * rng.standard_normal((7, 3)), start.copy()
    descents.descend(state.data, 200, explored, noise, rule, state.design, out)
    mine = state.data.explored[:200] == explored
    largest = np.linalg.eigvalsh(rule.slope * V if explored else math.e * H).max()
    projections = [lambda theta: rare.ball(theta, 2.0)]
    if not explored:
        projections.insert(0, lambda theta: rare.ellipsoid(theta, state.design.theta_o, V, 1.2))
    x, r = state.data.x[:200][mine], state.data.r[:200][mine]
    shrink = rule.shrink_o if explored else rule.shrink_tau
    expected = rare.descend(x, r, start, noise, link.name, 0.9 / (shrink + largest), shrink, projections)
    assert np.allclose(out, expected, atol=1e-9) and not np.allclose(out, start)


@pytest.mark.parametrize("explored", [0, 1])
def test_the_printed_descent_against_its_formula(explored):
    """Lemma U.4 on the mean loss of the n users concerned, from 0: eta = D / (L sqrt steps), D = 2 S, L = 1 + S."""
    rng, bandit = default_rng(4), build(constants="paper", timing="published", link="logistic")
    state, rule = bandit._state, bandit._rule._replace(explore=1.5)
    for _ in range(120):
        x = rare.ball(rng.standard_normal(3), 1.0)
        kernels.keep(x, float(rng.integers(2)), bool(rng.integers(2)), 0.0, 1.0, state.counts, state.data)
    V = spd(rng, 3, 4.0)
    state.design.gram[:], state.design.theta_o[:] = V, 0.3 * rng.standard_normal(3)
    mine = state.data.explored[:120] == explored
    x, r, n = state.data.x[:120][mine], state.data.r[:120][mine], int(mine.sum())
    steps, sigma = descents.printed_length(n, 3, explored, rule)
    asked = bandit.theory()
    rho = asked.rho_o if explored else asked.rho_tau
    assert steps == math.ceil((n**2 * rho + 6 * math.log(300)) / 3)
    assert sigma == pytest.approx(n * math.sqrt(2 * 3.0**2 * steps / (n**2 * rho)))  # on sums, not on means
    noise, out = rng.standard_normal((steps, 3)), np.array([0.5, -0.2, 0.1])
    descents.descend(state.data, 120, explored, noise, rule, state.design, out)
    theta, average = np.zeros(3), np.zeros(3)
    for k in range(steps):
        average += theta / steps
        gradient = ((links.logistic.mean(x @ theta) - r) @ x + noise[k] + asked.ridge_max * theta) / n
        theta = theta - 4.0 / (3.0 * math.sqrt(steps)) * gradient
        theta = rare.ball(theta, 2.0) if explored else rare.ellipsoid(theta, state.design.theta_o, V, 1.5)
    assert np.allclose(out, average, atol=1e-8)


def test_determinants_are_compared_where_asked():
    rng = default_rng(12)
    for _ in range(40):
        new, old = spd(rng, 3), spd(rng, 3)
        assert kernels.doubled(new, old) == (np.linalg.det(new) > 2 * np.linalg.det(old))
    wide, narrow = np.diag([3.0, 0.5]), np.eye(2)
    assert kernels.grown(wide, narrow, 2.0) and not kernels.doubled(wide, narrow)
    for criterion, due in (("directional", True), ("determinant", False)):
        bandit = build(dim=2, criterion=criterion)
        design = bandit._state.design
        design.hessian[:], design.hessian_tau[:] = wide, narrow
        assert kernels.due_tau(bandit._state.counts, design, bandit._rule) == due


PRINTED = {"timing": "published", "constants": "paper"}


@pytest.mark.parametrize(
    "options", [{"timing": "strict"}, {"timing": "published"}, {"release": "tree", "criterion": "determinant"}], ids=str
)
@pytest.mark.parametrize("link", ["logistic", "probit"])
@pytest.mark.parametrize("epsilon", [2.0, math.inf])
def test_fused_and_stepwise_are_identical(options, link, epsilon):
    world = environments.ball(dim=3, arms=6, radius=2.0, link=link)
    spec = Spec(JointGLMRare, budget=Budget(epsilon, 0.02), **options)
    one, two = (spec.build(world, 400, SeedSequence(1)) for _ in range(2))
    block, started = world.block(200), world.start(default_rng(2), 400)
    for _ in range(2):
        started.fill(block)
        one.play(block)
        index, rewards, _ = stepwise(two, block)
        assert np.array_equal(block.index, index) and np.array_equal(block.reward, rewards)
    for a, b in zip(arrays(one._state), arrays(two._state), strict=True):
        assert np.array_equal(a, b)
    assert min(one.recomputations) > 0
    assert one._state.data.explored.any() and not one._state.data.explored.all()


def test_algorithm_2_as_printed_explores_in_every_round():
    """Its cut-offs and widths are beyond any horizon. By the fused loop and step by step, with the tree's noise."""
    world = environments.ball(dim=3, arms=6, radius=2.0, link="logistic")
    spec = Spec(JointGLMRare, budget=Budget(8.0, 0.02), **PRINTED)
    one, two = (spec.build(world, 60, SeedSequence(1)) for _ in range(2))
    block = world.block(60)
    world.start(default_rng(2), 60).fill(block)
    one.play(block)
    assert np.array_equal(stepwise(two, block)[0], block.index)
    for a, b in zip(arrays(one._state), arrays(two._state), strict=True):
        assert np.array_equal(a, b)
    assert one._state.data.explored.all() and one.recomputations == (60, 0)
    asked, rule = one.theory(), one._rule
    assert one.mechanism.levels == asked.levels == 7
    assert one.mechanism.sigma == asked.sigma_noise == pytest.approx(math.sqrt(72 * 7) * math.log(32 / 0.02) / (4 * 8))
    assert (rule.ridge, rule.explore, rule.width) == (asked.ridge, asked.explore, asked.width)
    assert rule.most_o > 60 and rule.most_tau == math.ceil(asked.most_tau)


def test_calls_wait_until_the_choices_have_doubled():
    """Else noise makes H grow, and all calls are over while there is next to nothing to estimate from."""
    world = environments.ball(dim=5, arms=6, radius=3.5, link="logistic")
    bandit = Spec(JointGLMRare, budget=Budget(2.0, 0.02)).build(world, 3000, SeedSequence(3))
    started, block, times = world.start(default_rng(4), 3000), world.block(10), []
    for t in range(0, 3000, 10):
        before = bandit.recomputations[1]
        started.fill(block)
        bandit.play(block)
        times += [t] * (bandit.recomputations[1] - before)
    assert times[-1] > 1000 and len(times) > 3
    assert all(later >= 2 * earlier - 10 for earlier, later in itertools.pairwise(times))


def test_batches_and_the_horizon():
    bandit, rng = build(horizon=40), default_rng(7)
    arms = rng.uniform(-0.5, 0.5, (20, 4, 3))
    arms[3, 0, 0] = math.nan
    choices = bandit.choose_many(arms)
    assert set(choices.refused) == set(bandit.observe_many(choices, np.ones(20))) == {3}
    assert bandit._state.counts[kernels.DATA] == 19
    bandit.choose_many(arms)  # the horizon
    with pytest.raises(HorizonReached):
        bandit.choose(arms[0])


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_ledger_adds_up_to_the_budget(epsilon, share):
    bandit = build(budget=Budget(epsilon, 1e-3), share=share, most_o=5, most_tau=9, iterations=4)
    trees, descent = bandit.privacy.releases
    total = gaussian.mu(Budget(epsilon, 1e-3))
    assert bandit.privacy.epsilon == pytest.approx(epsilon) and trees.mu**2 == pytest.approx(share * total**2)
    assert descent.mu**2 == pytest.approx((1 - share) * total**2)
    for calls, sigma in ((5, bandit._sigma_o), (9, bandit._sigma_tau)):  # both kinds have the same budget
        assert bandit.gradients.sensitivity * math.sqrt(calls * 4) / sigma == pytest.approx(descent.mu)
    assert bandit.privacy.spent == 0.0
    rng = default_rng(8)
    for _ in range(60):
        bandit.observe(bandit.choose(rng.uniform(-0.5, 0.5, (4, 3))), 1.0)
    assert 0 < bandit.privacy.spent < epsilon


def test_calls_stop_at_the_cut_offs_and_the_budget_is_never_exceeded(monkeypatch):
    for timing in TIMINGS:
        bandit = build(timing=timing, budget=Budget(50.0, 0.02), most_o=1, most_tau=2, ridge=2.0, explore=4.0)
        rng = default_rng(9)
        for _ in range(300):
            bandit.observe(bandit.choose(rng.uniform(-0.57, 0.57, (4, 3))), float(rng.integers(2)))
        assert bandit.recomputations == (1, 2)
    bandit = build()
    monkeypatch.setattr(DesignContribution, "sensitivity", 1.5)
    with pytest.raises(BudgetExceeded):
        ledger.check(bandit._after(300, 4, 8), bandit.budget)


def test_certificates():
    strict, published = build().privacy, build(timing="published").privacy
    assert strict.epsilon == pytest.approx(2.0)
    assert not strict.private  # simulated noise
    assert not any("timing leak" in caveat for caveat in strict.caveats) and published.private is False
    assert published.epsilon is None and any("timing leak" in caveat for caveat in published.caveats)
    printed = build(**PRINTED).privacy
    assert printed.private is False and printed.epsilon is None and "T_o, which is raw" in str(printed.caveats)
    assert build(budget=Budget(math.inf, 0.1)).privacy.epsilon is None


WRONG = [{"link": "identity"}, {"link": "cauchit"}, {"timing": "loose"}, {"release": "batched"}, {"criterion": "trace"}]
WRONG += [{"constants": "paper"}, PRINTED | {"ridge": 1.0}, PRINTED | {"budget": Budget(math.inf, 0.02)}]
WRONG += [{"radius": 0.0}, {"horizon": None}, {"ridge": 0.0}, {"explore": -1.0}, {"width": -0.1}, {"shrink": -1.0}]
WRONG += [{"most_o": 0}, {"most_tau": 1.5}, {"iterations": 0}, {"step": 0.0}, {"share": 1.0}, {"kappa_star": 0.0}]


@pytest.mark.parametrize("wrong", [*WRONG, {"rewards": (1.0, 1.0)}], ids=str)
def test_bad_settings(wrong):
    with pytest.raises(ValueError, match="Expected"):
        build(**wrong)


def test_a_long_horizon_with_secure_noise_takes_the_tree():
    """As the error advises."""
    options = {"dim": 2, "horizon": 20_000, "budget": Budget(2.0, 0.02), "pending": 2}
    with pytest.raises(NotSecure, match="release='tree'"):
        JointGLMRare(**options)
    bandit = JointGLMRare(**options, release="tree")
    bandit.observe(bandit.choose(np.eye(2)), 1.0)
    assert bandit.privacy.private and bandit.privacy.epsilon <= 2.0 * (1 + 1e-9)


def test_weights_are_clipped_to_a_declared_kappa_star_and_to_nothing_else():
    steepest = float(links.probit.slope(0.0))
    for star, slope in ((None, steepest), (10.0, 0.1), (1.0, steepest)):
        bandit = build(kappa_star=star)
        assert bandit.contribution.slope == pytest.approx(slope)
        out = np.zeros(bandit.contribution.size)
        bandit.contribution.add(np.array([1.0, 0.0, 0.0]), False, np.zeros(3), out)
        assert out[6] == pytest.approx(1.0)
    assert build(radius=2.0).mechanism.sigma == build(radius=4.0).mechanism.sigma  # kappa plays no part


def test_theoretical_parameters_are_the_papers():
    bandit = build(horizon=5000, budget=Budget(4.0, 0.02), radius=3.0)
    values = bandit.theory(failure=0.01)
    log_t, log_d = math.log(5000 / 0.01), math.log(50)
    star = math.sqrt(2 * math.pi)
    noise = 100 * math.sqrt(3) * log_d * math.log(5000) * (math.sqrt(log_t) + math.sqrt(3)) / (4 * star)
    assert values.ridge == pytest.approx(1.25 * 3 * log_t + noise)
    assert values.kappa == pytest.approx(1 / links.probit.slope(3.0))
    assert values.most_o == pytest.approx(8 * 3 * values.kappa * values.gamma**2 * math.log(5000))
    assert values.most_tau == pytest.approx(4 * math.log2(1 + 5000 / 3))
    assert values.ridge_min < values.ridge < values.ridge_max and "gamma" in str(values)
    assert theory(dim=3, horizon=5000, budget=Budget(8, 0.02), link="probit", radius=3.0).ridge < values.ridge
    assert registry.load(*registry.bandits()["joint-glm-rare"]) is JointGLMRare


@pytest.mark.parametrize(
    ("timing", "epsilon", "share"), [("strict", 4.0, 0.1), ("strict", 8.0, 0.08), ("published", 8.0, 0.3)]
)
@pytest.mark.parametrize("radius", [2.0, 3.0])
def test_it_learns(timing, epsilon, share, radius):
    """Mean regret of 8 runs of 5000 rounds against uniform play."""
    world, ratios = environments.ball(dim=3, arms=20, radius=radius, link="probit"), []
    for seed in range(8):
        bandit = Spec(JointGLMRare, budget=Budget(epsilon, 0.02), timing=timing).build(world, 5000, SeedSequence(seed))
        started, block, regret, uniform = world.start(default_rng(seed), 5000), world.block(500), 0.0, 0.0
        for _ in range(10):
            started.fill(block)
            bandit.play(block)
            regret += block.regret.sum()
            uniform += (block.means.max(axis=1) - block.means.mean(axis=1)).sum()
        ratios.append(regret / uniform)
    assert np.mean(ratios) < share
