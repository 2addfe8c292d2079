"""JointGLMRare(constants="code"): what the author's code computes, what it costs, and that attacks convict it."""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from papers_tests.reference import rare
from reticent import Budget, Simulated, Spec, environments
from reticent.data import Exact
from reticent.privacy import gaussian
from reticent_lab import audit
from reticent_papers import JointGLMRare, RSGLinUCB
from reticent_papers.attacks import rare_code as attacks
from reticent_papers.joint import glm_rare_code as as_coded
from reticent_papers.joint.glm_rare_descent_kernel import Data, descend_as_coded
from reticent_papers.references.rs_glin_ucb_kernel import SWITCHES

CODE = {"timing": "published", "constants": "code"}


def build(epsilon=4.0, **options):
    plain = {"dim": 3, "horizon": 5000, "link": "probit", "radius": 2.0, "source": Simulated(0)}
    return JointGLMRare(budget=Budget(epsilon, 0.02), **CODE, **(plain | options))


@pytest.mark.parametrize(
    ("epsilon", "ridge", "most_tau"), [(4.0, 232.80627249, 8), (6.0, 165.56581458, 9), (8.0, 131.94558558, 9)]
)
def test_numbers_are_those_that_its_notebook_prints(epsilon, ridge, most_tau):
    """d = 3, T = 5000, S = 2, where it prints lambda and both cut-offs."""
    code = build(epsilon)._code
    assert code.ridge == pytest.approx(ridge, rel=1e-9) and (code.most_o, code.most_tau) == (3, most_tau)


def test_a_fit_against_its_formula():
    rng, users, d = default_rng(1), 30, 3
    x, r = 0.5 * rng.standard_normal((users, d)), rng.integers(0, 2, users).astype(float)
    x /= np.maximum(1, np.linalg.norm(x, axis=1))[:, None]
    data = Data(Exact(x), Exact(r), Exact(np.zeros(users)))
    mine, batches = np.arange(2, users), np.stack([rng.permutation(28)[:24].reshape(2, 12) for _ in range(5)])
    noise, start = 0.3 * rng.standard_normal((10, d)), rng.standard_normal(d)
    out = descend_as_coded(data, mine, start, noise, batches, 2, 0.2, build()._rule)
    theta, ends, k = start.copy(), [], 0
    for epoch in batches:
        for batch in epoch:
            each = (rare.MEANS["probit"](x[mine[batch]] @ theta) - r[mine[batch]])[:, None] * x[mine[batch]]
            each *= np.minimum(1, 0.2 / np.maximum(np.linalg.norm(each, axis=1), 1e-300))[:, None]
            k += 1
            theta = theta - 10 / math.sqrt(k) * (each.mean(axis=0) + noise[k - 1] / 12 + 2e-5 * theta)
        ends.append(theta)
    assert np.allclose(out, np.mean(ends[2:], axis=0))
    few = descend_as_coded(data, mine, start, noise, batches, 5, 0.2, build()._rule)
    assert np.allclose(few, ends[-1])


def test_the_noise_of_a_fit_reaches_its_epsilon_by_renyi_orders():
    call = Budget(0.5, 1e-3)
    one, two = as_coded.fit(call, 500, 3), as_coded.fit(call, 3000, 3)
    orders = [1.25, 1.5, 1.75, *range(2, 64), 64, 96, 128, 192, 256, 384, 512]
    divergence = [one.epochs * a / (2 * one.sigma**2) for a in orders]
    pairs = zip(divergence, orders, strict=True)
    by_hand = min(rho + math.log1p(-1 / a) - math.log(call.delta * a) / (a - 1) for rho, a in pairs)
    assert by_hand == pytest.approx(0.5, abs=1e-6) and (one.batch, two.batch) == (500, 2048)
    assert two.sigma / math.sqrt(two.epochs) > one.sigma / math.sqrt(one.epochs)  # its bound on sampling costs here
    with pytest.raises(ValueError, match="epsilon that some noise reaches"):
        as_coded.fit(Budget(1e-3, 1e-8), 500, 3)


def test_it_learns_without_exploring_and_its_certificate_claims_nothing():
    """At S = 2 Criterion I is never met, theta_o stays 0, and theta_tau comes from a few fits."""
    world = environments.ball(dim=3, arms=20, radius=2.0, link="probit")
    bandit = Spec(JointGLMRare, budget=Budget(8.0, 0.02), **CODE).build(world, 1500, SeedSequence(1))
    block = world.block(1500)
    world.start(default_rng(2), 1500).fill(block)
    bandit.play(block)
    regret = block.means.max(axis=1) - block.means[np.arange(1500), block.index]
    assert bandit.recomputations[0] == 0 and 1 <= bandit.recomputations[1] <= bandit._rule.most_tau
    assert not bandit._state.data.explored.any() and not bandit._state.design.theta_o.any()
    assert np.array_equal(bandit.theta, bandit._state.design.theta_tau / 2)
    assert regret[-300:].mean() < 0.5 * regret[:300].mean()
    assert not bandit.privacy.private and "fit costs" in str(bandit.privacy)


def test_where_no_noise_reaches_a_calls_epsilon_its_certificate_says_so():
    given = {"link": "probit", "radius": 3.0, **CODE}
    bandit = JointGLMRare(dim=3, horizon=5000, budget=Budget(1.0, 1e-6), source=Simulated(0), **given)
    assert "Nor has it noise for all of its calls" in str(bandit.privacy).replace("\n      ", " ")


def test_where_criterion_1_is_met_it_fits_at_once_and_then_forgets():
    """After the last fit for theta_o users who explore are not kept. V's leaf is x x' / (1 + |x|^2 / lambda)."""
    bandit = build(radius=3.75, dim=2, horizon=64, pending=64)
    ridge, choice = bandit._code.ridge, bandit.choose(np.eye(2))
    bandit.observe(choice, 1.0)
    assert bandit.recomputations == (1, 0) and bandit._state.design.theta_o.any()
    assert bandit._state.counts[4] == 1
    bandit._state.counts[2] = bandit._rule.most_o
    bandit.observe(bandit.choose(np.eye(2)), 1.0)
    assert bandit._state.counts[4] == 1
    silent = build(radius=3.75, dim=2, horizon=64, pending=64)
    silent.mechanism = silent.mechanism.__class__(leaves=64, size=6, sigma=0.0)
    silent._state = silent.init()
    silent.observe(silent.choose(np.eye(2)), 1.0)
    silent.choose(np.eye(2))
    assert silent._state.design.gram[0, 0] == pytest.approx(ridge + 1 / (1 + 1 / ridge))


def test_the_ledger_counts_a_user_in_all_that_it_is_in():
    """Naive composition makes the whole far smaller than the claim; a fit alone costs nearly twice its own."""
    bandit = build()
    code, cost = bandit._code, as_coded.spent(bandit._code, bandit.budget)
    one = as_coded.fit(code.call_tau, 2048, 3)
    every = max(one.mu, as_coded.fit(code.call_tau, 5000, 3).mu)
    design = math.sqrt(code.levels) / code.sigma
    in_two = math.hypot(math.sqrt(2) * design / math.e, math.sqrt(code.most_tau) * every)
    assert cost["II"] == pytest.approx(gaussian.epsilon(in_two, 0.02))
    assert cost["II"] < cost["both"] < cost["I"] < 4.0 and code.call_tau.epsilon == pytest.approx(4 / 3 / 8)
    assert cost["fit"] > 1.8 * code.call_tau.epsilon


def test_attacks_convict_the_code_and_not_what_mends_it():
    """Timing: at its own constants, claimed 1. One fit: claimed 1, and twice the noise would do."""
    assert audit.carry_out(attacks.timing_attack(), runs=200).epsilon_lower > 2
    assert audit.carry_out(attacks.fit_attack(), runs=6000).convicted
    assert not audit.carry_out(attacks.fit_attack(sensitivity=2.0), runs=6000).convicted


def test_what_it_is_compared_with_fits_its_estimate_once():
    world = environments.ball(dim=3, arms=20, radius=2.0, link="probit")
    spec = Spec(RSGLinUCB, constants="compared", failure=0.02, oracle_kappa=18.39)
    bandit = spec.build(world, 600, SeedSequence(1))
    block, started, found = world.block(100), world.start(default_rng(2), 600), []
    for _ in range(6):
        started.fill(block)
        bandit.play(block)
        found.append(bandit._state.switched.theta.copy())
    assert 11 <= bandit.warmed <= 15 and bandit.switches == 1  # its code counts 13 on its own instance
    assert found[0].any() and all(np.array_equal(found[0], each) for each in found)
    assert np.array_equal(bandit._state.switched.inverse, bandit._state.current.inverse)
    assert bandit._state.counts[SWITCHES] == 1
