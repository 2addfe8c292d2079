"""ShuffleGLM and ShuffleLinUCB: fused and stepwise, their plans recomputed, and amplification against enumeration."""

import json
import math

import msgspec
import numpy as np
import pytest
from scipy.stats import binom

from core_tests.bandits.test_fused import compare
from lab_tests.raising import raised
from reticent import Budget, Reward, Simulated, Spec, environments
from reticent.errors import NotSecure
from reticent.privacy import gaussian, ledger
from reticent_devices import Shuffler
from reticent_devices.bandits.server import named
from reticent_devices.roles import limits
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_papers import ShuffleGLM, ShuffleLinUCB
from reticent_papers.shuffle.amplification import amplified, largest_local, local_epsilon
from reticent_papers.shuffle.published import calibrate_paper

BUDGET, LOGISTIC = Budget(1.0, 1e-2), environments.ball(link="logistic", dim=3, arms=6, radius=2.0)


FREE = {"budget": Budget(math.inf, 1e-2)}


@pytest.mark.parametrize("options", [{}, {"calibration": "paper"}, {"constants": "paper"}, {"batches": 5}, FREE])
def test_algorithm_1_fused_and_stepwise_are_identical(options):
    compare(Spec(ShuffleGLM, **{"budget": BUDGET, "iterations": 3} | options), LOGISTIC)


@pytest.mark.parametrize("options", [{}, {"first": 250, "variant": "amplification"}, {"first": 30, "growth": 1.5}])
def test_linear_fused_and_stepwise_are_identical(options):
    compare(Spec(ShuffleLinUCB, budget=BUDGET, **options), environments.ball(dim=3, arms=6), horizon=300)
    compare(Spec(ShuffleLinUCB, budget=Budget(math.inf, 0.1), **options), environments.ball(dim=3, arms=6))


def test_algorithm_1_shows_its_parameters_and_its_claim():
    bandit = ShuffleGLM(5, BUDGET, Reward(radius=3.0), horizon=20_000, source=Simulated(0))
    theory = bandit.theory
    assert theory["warm_up"] > 1e6 and theory["lambda_max"] > theory["lambda"]
    assert theory["lambda_min"] >= 20 * 5 * math.log(20_000)  # what Theorem F.1 needs
    lengths = [theory["alpha"]]
    while len(lengths) < bandit.batches - 1:
        lengths.append(theory["alpha"] * math.sqrt(lengths[-1]))
    assert lengths[-1] == pytest.approx(20_000)  # B_2 = alpha, B_k = alpha sqrt(B_{k-1}): the last one fills T
    paper = ShuffleGLM(5, BUDGET, Reward(radius=3.0), horizon=20_000, constants="paper")
    assert paper._plans[0].fit.pull == theory["lambda_max"] > theory["lambda"] == paper._plans[0].fit.ridge
    assert bandit.formula_iterations(1000) > 10
    certificate = bandit.privacy
    assert certificate.epsilon <= 1 + 1e-5 and not certificate.private and "31 times" in str(certificate)
    quoted = ShuffleGLM(5, BUDGET, Reward(radius=3.0), horizon=20_000, calibration="paper", source=Simulated(0))
    assert "quoted" in str(quoted.privacy)
    assert quoted.privacy.releases[0].std > 50 * certificate.releases[0].std
    raised(NotSecure, ShuffleGLM, 5, BUDGET, Reward(radius=3.0), horizon=20_000, calibration="paper").match("quoted")
    wrong = [{"link": "identity"}, {"first": 0}, {"dropout": 1.0}, {"iterations": 0}, {"calibration": "guess"}]
    for options in (*wrong, {"constants": "guess"}):
        with pytest.raises(ValueError, match="Expected"):
            named(ShuffleGLM, **{"features": 2, "horizon": 100, "budget": BUDGET, "source": Simulated(0)} | options)


def test_the_published_descent_has_its_own_steps_and_its_own_bound_on_gradients():
    """Algorithm 7 with E.4: count epsilon^2 n^2 / (d ln^3(n d / delta)), step 2 D / (L sqrt T), L = 2 S + S lambda / n,
    at epsilon / 2 and delta / 2; noise for gradients of norm L."""
    settings = {"features": 5, "radius": 3.0, "horizon": 20_000, "budget": BUDGET, "calibration": "paper"}
    own = named(ShuffleGLM, **settings, iterations=None, source=Simulated(0))
    short = named(ShuffleGLM, **settings, source=Simulated(0))
    plan = max(own._plans, key=lambda plan: plan.users)
    n, count = plan.users, plan.fit.gradients
    assert count == math.ceil(0.25 * n**2 / (5 * math.log(n * 5 / 0.01) ** 3)) > 1000
    bound = 6 + 3 * plan.fit.pull / n
    assert plan.fit.step == pytest.approx(2 * 6 / (bound * math.sqrt(count)))
    assert plan.gradient.sensitivity == bound and short._plans[1].gradient.sensitivity == 1.0
    tight = ShuffleGLM(5, BUDGET, Reward(radius=3.0), horizon=300, first=150, iterations=None)
    assert tight.privacy.epsilon <= 1 + 1e-5, "with exact noise a gradient is bounded by what it is"


@pytest.mark.parametrize("radius", [0.2, 0.3, 3.0])
def test_the_published_noise_is_for_gradients_that_are_sent(radius):
    """|mu(z) - r| reaches mu(S) > 1/2 for z = S and r = 0, more than L = 2 S + S lambda / n for a small S."""
    settings = {
        "features": 2, "radius": radius, "horizon": 50_000, "budget": Budget(10.0, 1e-6),
        "calibration": "paper",
    }  # fmt: skip
    bandit = named(ShuffleGLM, **settings, iterations=None, source=Simulated(1))
    for plan in bandit._plans:
        lipschitz = 2 * radius + radius * plan.fit.pull / plan.users
        assert plan.gradient.sensitivity == max(1.0, lipschitz) > bandit._link.mean(radius)
        assert plan.gradient.reach >= plan.sums.gradient, "cells that the longest gradient takes"
        assert plan.fit.step == pytest.approx(4 * radius / (lipschitz * math.sqrt(plan.fit.gradients))), "as published"
    assert (min(plan.gradient.sensitivity for plan in bandit._plans) == 1.0) == (radius < 0.5)


def test_algorithm_1_as_printed_does_not_leave_its_warm_up():
    """So it plays an optimal design over all arms to the end, whatever it was told."""
    spec = Spec(ShuffleGLM, budget=BUDGET, calibration="paper", constants="paper", iterations=None)
    bandit = spec.build(LOGISTIC, 3000, np.random.SeedSequence(1))
    world, block = LOGISTIC.start(np.random.default_rng(2), 3000), LOGISTIC.block(3000)
    world.fill(block)
    bandit.play(block)
    server = bandit.server
    assert server.theory["warm_up"] > 3000 == server._plans[0].users and len(server._plans) == 1
    assert server.version == 0 and not server.theta.any()
    chosen = block.means[np.arange(3000), block.index]
    assert abs(chosen.mean() - block.means.mean()) < 0.03, "six standard errors of 3000 means are .03"


def test_an_unclipped_weight_is_clipped():
    bandit = ShuffleGLM(2, BUDGET, horizon=100, oracle_kappa_star=50.0, source=Simulated(0))
    assert all(plan.sums.largest == 1 / 50 for plan in bandit._plans[1:])


def clones(local, users, epsilon, delta_cut=1e-12):
    """delta at epsilon of the worst pair that Feldman et al. 2021 reduce to, enumerated: C ~ Bin(n - 1, e^-local), A ~
    Bin(C, 1/2), a bit of bias e^local / (e^local + 1) added to one or the other side."""
    p, tilt = math.exp(-local), math.exp(local) / (math.exp(local) + 1)
    total = 0.0
    low, high = binom.ppf([delta_cut, 1 - delta_cut], users - 1, p)
    for c in range(int(low), int(high) + 1):
        a = np.arange(0, c + 2)  # ones on the first side among c + 1
        plain, shifted = binom.pmf(a, c, 0.5), binom.pmf(a - 1, c, 0.5)
        first, second = tilt * shifted + (1 - tilt) * plain, (1 - tilt) * shifted + tilt * plain
        gap = np.maximum(first - math.exp(epsilon) * second, 0.0).sum()
        total += binom.pmf(c, users - 1, p) * gap
    return total


@pytest.mark.parametrize(("local", "users", "delta"), [(1.0, 500, 1e-3), (1.0, 1000, 1e-3), (2.0, 2000, 1e-4)])
def test_the_amplification_bound_covers_its_worst_case(local, users, delta):
    bound = amplified(local, users, delta)
    assert bound < local and clones(local, users, bound) <= delta and clones(local, users, bound / 20) > delta


def test_amplification_is_refused_where_it_fails():
    assert largest_local(20, 1e-2) < 0
    for users in (20, 60):
        raised(ValueError, local_epsilon, BUDGET, users).match("amplification")
    assert amplified(3.0, 20, 1e-2) == 3.0  # shuffling is free, and no more is claimed
    local = local_epsilon(BUDGET, 2000)
    assert local > 1.0 and amplified(local, 2000, 1e-2) <= 1.0
    assert local_epsilon(Budget(10.0, 1e-2), 2000) == pytest.approx(largest_local(2000, 1e-2))
    options = {"features": 2, "horizon": 1000, "budget": BUDGET, "variant": "amplification", "first": 500}
    raised(ValueError, ShuffleLinUCB, **options).match("simulated")
    bandit = ShuffleLinUCB(**options, source=Simulated(0), policy=np.random.default_rng(0))
    assert bandit.privacy.epsilon <= 1.0 and not bandit.privacy.private
    raised(ValueError, ShuffleClient, bandit.billboard()).match("people's data")


def test_the_l1_norm_behind_the_laplace_noise():
    """Never exceeded by 1 + (d - 1) / sqrt 2 and sqrt d; attained at equal entries."""
    rng = np.random.default_rng(0)
    for d in (2, 5, 9):
        i, j = np.triu_indices(d)
        most = 0.0
        for x in [*rng.standard_normal((2000, d)), np.ones(d)]:
            x = x / np.linalg.norm(x)
            norm = np.abs(np.where(i == j, 1.0, math.sqrt(2)) * x[i] * x[j]).sum()
            assert norm <= 1 + (d - 1) / math.sqrt(2) + 1e-12 and np.abs(x).sum() <= math.sqrt(d) + 1e-12
            most = max(most, norm)
        assert most == pytest.approx(1 + (d - 1) / math.sqrt(2))


def test_linear_settings():
    for wrong in ({"horizon": None}, {"variant": "guess"}, {"growth": 0.5}, {"failure": 2.0}):
        with pytest.raises(ValueError, match="Expected"):
            ShuffleLinUCB(**({"features": 2, "horizon": 100, "budget": BUDGET, "source": Simulated(0)} | wrong))


def test_the_published_constants_are_kept_and_large():
    plan = calibrate_paper(Budget(1.0, 1e-6), users=10_000, dim=5, sensitivity=1.0)
    assert plan.reach == 200
    expected = 24e4 * 200**2 * math.log(4 * 26 / 1e-6) ** 2 / 10_000
    assert plan.trials == math.ceil(expected) and plan.bits > 1e8
    central = 1.0 / gaussian.mu(Budget(1.0, 1e-6))
    assert plan.std > 300 * central
    raised(ValueError, calibrate_paper, Budget(16.0, 1e-6), users=10, dim=2, sensitivity=1.0).match("at most 15")


def test_the_shufflers_sensitivity_is_the_servers():
    server = ShuffleLinUCB(3, BUDGET, Reward("identity", range=(-2.0, 1.0)), first=60, horizon=1000)
    document = json.loads(server.billboard())
    assert limits.shuffled_sensitivity(document) == pytest.approx(server.contribution.sensitivity, rel=1e-9)
    Shuffler(server.billboard(), budget=BUDGET)


def test_a_certificate_is_what_the_ledger_computes_from_its_releases():
    document = json.loads(ShuffleGLM(3, Budget(1.0, 1e-6), horizon=20_000, source=Simulated(0)).privacy.json())
    releases = msgspec.convert(document["releases"], list[ledger.Release])
    assert ledger.epsilon_of(releases, document["delta"]) == document["epsilon"] <= 1.0 + 1e-6
    assert document["spent"] == 0.0
