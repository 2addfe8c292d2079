"""Each erratum's number against another way to compute it, each check where it finds the paper right, and the page."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from reticent import Budget, Simulated
from reticent_devices.bandits.server import named
from reticent_papers import JointGLMRare, LocalOnlineUCB
from reticent_papers.joint.glm_rare_descent_kernel import Data, descend_as_printed
from reticent_papers.joint.glm_rare_kernel import exploit, uncertain
from reticent_papers.outcome import Finding, Outcome
from reticent_papers.reproductions import errata
from reticent_papers.reproductions.errata import joint, lower, others, shuffled, timing

PAGE = Path(__file__).parents[5] / "docs" / "papers" / "errata.md"


def test_end_to_end(tmp_path):
    outcome = errata.reproduce(quick=True, runs=None, out=tmp_path)
    outcome.write(tmp_path)
    assert len(outcome.findings) == len(errata.EVERY) and (tmp_path / "outcome.json").exists()
    assert max(map(len, outcome.table.splitlines())) <= 100
    text = (tmp_path / "outcome.txt").read_text()
    assert "SEEN" not in text and text.count("  [confirmed] ") == len(errata.EVERY)
    holds = Outcome("", outcome.result, [Finding("it holds", "", True)], "", errata=True)
    assert "[NOT CONFIRMED] it holds" in holds.text() and holds.summary().split() == ["0", "of", "1", "confirmed"]


def test_the_page_has_the_tables():
    """To print them anew: `from reticent_papers.reproductions import errata; print(errata.page(errata.checked()))`."""
    assert errata.page(errata.checked()) in PAGE.read_text()


def test_verdicts_follow_what_is_computed(monkeypatch):
    """With the numbers of a right paper each check says that it holds: no verdict is written down."""
    monkeypatch.setattr(timing, "changes_seen", lambda *_: 0)  # as if theta_o were the same in both worlds
    monkeypatch.setattr(timing, "chances_of_a_switch", lambda *_, **__: (0.1, 0.1))
    monkeypatch.setattr(joint, "cost_of_v", lambda kappa_star: 0.3 + kappa_star / 700)
    monkeypatch.setattr(joint, "least_switches", lambda *_: 20)
    monkeypatch.setattr(joint, "delta_of_scales", lambda *_: 1e-9)
    monkeypatch.setattr(joint, "largest_differences", lambda _: (1.0, 1.0))
    monkeypatch.setattr(others, "true_epsilon", lambda claimed, _: claimed)
    monkeypatch.setattr(others, "norm_exceeds", lambda **_: 1e-9)
    monkeypatch.setattr(others, "shifted_eigenvalue", lambda nodes: 5.0)
    monkeypatch.setattr(lower, "least_regret_over_horizon", lambda epsilon, _: epsilon)
    monkeypatch.setattr(lower, "mutual_information", lambda joint: 10.0)
    monkeypatch.setattr(lower, "xor_informations", lambda: (0.7, 0.7))
    monkeypatch.setattr(shuffled, "nu", lambda: 0.1)
    monkeypatch.setattr(shuffled, "batches", lambda *_: [100.0])
    for check in (
        *(joint.line_8, joint.line_11, joint.v_tree, joint.count2, joint.count_of_users, joint.norms),
        *(others.two_numbers, others.long_noise, others.shift),
        *(lower.regime, lower.r3, lower.chain_rule, shuffled.optimiser_error, shuffled.alpha),
    ):
        assert check().holds, check.__name__


def printed_bandit(horizon):
    settings = {"constants": "paper", "timing": "published", "source": Simulated(0)}
    return JointGLMRare(dim=1, horizon=horizon, budget=timing.CLAIM, radius=timing.RADIUS, **settings)


def test_the_attack_runs_the_optimiser_that_the_bandit_has():
    """The average of Lemma U.4's iterates, here for all runs at once, there for one: the same noise, the same theta."""
    n, ones, bandit, asked = 50, 20, printed_bandit(timing.HORIZON), timing.constants()
    steps = math.ceil(n**2 * asked.rho_o + 6 * math.log(timing.HORIZON))
    noise = np.random.default_rng(5).standard_normal((steps, 1))
    sigma = (1 + timing.RADIUS) * math.sqrt(2 * steps / asked.rho_o)  # of a sum
    data = Data(np.ones((n, 1)), (np.arange(n) < ones).astype(float), np.ones(n, np.int64))
    rule, out = bandit._rule._replace(shrink_o=asked.ridge_max, rho_o=asked.rho_o), np.zeros(1)
    descend_as_printed(data, n, 1, sigma * noise, rule, bandit._state.design, out)
    assert timing.optimiser(asked, n, ones, np.random.default_rng(5), 1) == pytest.approx(out, rel=1e-9)
    assert abs(out[0]) > 0.01


@pytest.mark.parametrize("theta_o", [-1.2, -1.0, 0.0, 1.2])
def test_a_probe_shows_whether_theta_o_is_small(theta_o):
    bandit, asked = printed_bandit(timing.HORIZON), timing.constants()
    design, widths = bandit._state.design, {"eliminate": asked.explore, "width": asked.width}
    rule = bandit._rule._replace(explore=asked.explore, **widths)
    gram = timing.SHARE * asked.explore**2
    design.inverse[:] = 1 / gram
    design.theta_o[:] = theta_o
    probe = np.array([[0.9], [-0.89]])
    # user i explores, and the probe does not
    assert uncertain(probe, design, rule) < 0 <= uncertain(np.ones((1, 1)), design, rule)
    assert exploit(probe, design, rule) == (theta_o < -asked.explore / math.sqrt(gram))


@pytest.mark.parametrize(("constant", "horizon", "rewarded"), [(25.0, 1 << 26, 0.06), (50.0, 1 << 28, 0.18)])
def test_the_attack_needs_the_raw_arms(constant, horizon, rewarded):
    """Another constant C and another seed: the probes differ if the user between them explored, and else never. All of
    this within what the theorem allows: (67), the cut-off and the horizon."""
    asked, rng = timing.constants(horizon, constant), np.random.default_rng(8)
    assert timing.gamma_needed(asked) <= asked.gamma and timing.FAILURE < timing.CLAIM.delta < 1 / math.e
    assert timing.explorers(asked) + 3 <= min(asked.most_o, horizon) and timing.horizon_of(asked) == horizon
    assert timing.changes_seen(asked, True, 200, rng, rewarded) > 50  # about half of them: fewer in 1e-6 of all cases
    assert timing.changes_seen(asked, False, 200, rng, rewarded) <= 1  # 1e-5 each


def test_one_is_too_small_for_c():
    """(67) does not hold with C = 1: an attack at that constant would be outside of what is claimed."""
    asked = timing.constants(constant=1.0)
    assert timing.gamma_needed(asked) > 3 * asked.gamma


def test_the_bound_on_epsilon():
    """Where the event never comes in one world: Clopper & Pearson's limits, in closed form there."""
    low, high = stats.binomtest(60, 100).proportion_ci(0.999).low, 1 - 0.0005 ** (1 / 100)
    assert timing.least_epsilon(60, 0, 100, 0.02) == pytest.approx(math.log((low - 0.02) / high))
    assert timing.least_epsilon(60, 40, 100, 0.02) < 1 and timing.least_epsilon(0, 0, 100, 0.02) == 0


def test_the_noise_of_prefixes():
    """Of a binary tree: so many nodes as ones in the number of leaves."""
    asked = timing.constants()
    i, gap = timing.HORIZON // 2, 100.0
    nodes = [bin(leaves).count("1") for leaves in (i - 1, i)]
    expected = [stats.norm.sf(gap, scale=asked.sigma_noise * math.sqrt(count)) for count in nodes]
    assert timing.chances_of_a_switch(asked, gap) == pytest.approx(expected)


@pytest.mark.parametrize(("wide", "narrow"), [(1.0, 0.5), (1.0, 2 / 3)])
def test_delta_of_two_scales_by_integration(wide, narrow):
    """One number: the integral of (p - e q)+."""

    def excess(x):
        return max(0.0, stats.norm.pdf(x, scale=wide) - math.e ** (1 / 8) * stats.norm.pdf(x, scale=narrow))

    expected = 2 * integrate.quad(excess, 0, 10, limit=200)[0]
    assert joint.delta_of_scales(1 / 8, wide, narrow, 1) == pytest.approx(expected, rel=1e-4)


def test_cost_of_v_is_what_the_certificate_of_the_printed_bandit_says():
    bandit = JointGLMRare(
        dim=2, horizon=64, budget=Budget(1.0, 0.02), constants="paper", timing="published", source=Simulated(0)
    )
    assert f"epsilon {joint.cost_of_v(4.0):.3g} at delta / 3" in " ".join(str(bandit.privacy).split())


def test_cost_of_v_from_the_law_of_the_noise():
    """Entries on and above the diagonal of (Z + Z') / 2, Z of std 1: std 1 and sqrt(1/2), independent. The likelihood
    ratio of e1 e1' against e2 e2' over all m nodes is Gaussian with this mu."""
    m, kappa_star, delta = 14, 20.0, joint.DELTA
    sigma2 = 72 * m * math.log(32 / delta) ** 2 / kappa_star**2
    shift, precision = np.array([1.0, 0.0, -1.0]), np.array([1.0, 2.0, 1.0])
    mu, epsilon = math.sqrt(m * float(shift**2 @ precision) / sigma2), joint.cost_of_v(kappa_star)
    above = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
    assert above == pytest.approx(delta / 3, rel=1e-3)


def test_switches_by_playing_them():
    """Without noise, five axes one after the other: Criterion II is met at least as often as the bound says."""
    dim, users, leaf, ridge = 5, 400, 0.2, 2.0
    h, h_tau, switches = ridge * np.ones(dim), ridge * np.ones(dim), 0
    for axis in range(dim):
        for _ in range(users):
            if np.any(h > 2 * h_tau):
                h_tau, switches = h.copy(), switches + 1
            h[axis] += leaf
    slope = leaf * math.e
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(joint, "named", lambda _: type("Link", (), {"slope": staticmethod(lambda z: slope)}))
        assert 20 <= joint.least_switches(dim, dim * users, ridge, 0.0) <= switches


def test_where_the_cut_off_holds():
    settings = {"dim": 50, "budget": Budget(8.0, 0.01), "link": "logistic", "radius": 1.0, "failure": 0.005}
    for horizon, exceeds in ((10**10, False), (10**12, True)):
        asked = joint.theory(horizon=horizon, constant=timing.CONSTANT, **settings)
        assert (joint.least_switches(50, horizon, asked.ridge, asked.explore) > asked.most_tau) == exceeds


def test_batches_of_the_main_text_end_at_the_horizon():
    for count in (3, 4, 5):
        assert shuffled.batches(20_000, count, 1 - 2.0 ** (1 - count))[-1] == pytest.approx(20_000)
        assert shuffled.batches(20_000, count, 1 - 2.0**-count)[-1] < 15_000


def test_lambda_min_is_large_enough_with_eight():
    """(20), (22) and (23) with R = 1: what the page says of the constant under the O of sigma."""
    d, t, batches, delta, noise = 5, 20_000, 4, 0.01, math.log(25 / 0.01) / 4
    up, down = (2 * math.sqrt(math.log(2 * k * batches * t / delta)) + 4 * math.sqrt(d) for k in (d, 1))
    assert noise * up < 8 * noise * down <= 8 * noise * up


def test_the_repair_of_r3():
    """For V uniform on two bits and random channels to X: the sum of TV_j^2 is at most 2 sum I(V_j; X), which is at
    most 2 I(V; X), where the printed inequalities fail for some."""
    rng, broken = np.random.default_rng(0), 0
    for _ in range(200):
        law = rng.dirichlet([0.1] * 4, 4) + 1e-12
        table = law / law.sum(axis=1, keepdims=True) / 4  # rows: V = 00, 01, 10, 11
        together, apart, distances, divergences = lower.mutual_information(table), 0.0, 0.0, 0.0
        for first in ((0, 1), (0, 2)):
            rows = [table[list(first)].sum(axis=0), table[[k for k in range(4) if k not in first]].sum(axis=0)]
            apart += lower.mutual_information(np.array(rows))
            p, q = 2 * rows[0], 2 * rows[1]
            distances += (np.abs(p - q).sum() / 2) ** 2
            divergences += lower.kl(p, q)
        assert distances <= 2 * apart + 1e-9 and apart <= together + 1e-9
        broken += divergences > 4 * together
    assert broken > 20


def test_one_coordinate_by_simulation():
    rng, runs = np.random.default_rng(1), 4000
    exact = lower.OneCoordinate(50)
    right = rng.random(runs) < 0.5  # +e_j is the better arm
    sums = rng.binomial(lower.TRIALS, 0.5 + np.where(right, 1, -1) * lower.GAP / 2)
    plays_plus, rest = sums + rng.laplace(size=runs) > lower.TRIALS / 2, lower.ROUNDS - lower.TRIALS
    regret = lower.GAP * (lower.TRIALS * ~right + rest * (plays_plus != right))
    assert regret.mean() == pytest.approx(exact.regret, abs=4 * regret.std() / math.sqrt(runs))  # 6e-5 to be wrong
    assert exact.regret == lower.OneCoordinate(2).regret and exact.claimed > 10 * exact.most


def test_true_epsilon_is_what_the_certificate_prints():
    settings = {"features": 5, "horizon": 100, "range": (-1.0, 1.0), "calibration": "paper", "source": Simulated(0)}
    for epsilon in (1.0, 10.0):
        bandit = named(LocalOnlineUCB, budget=Budget(epsilon, 0.1), **settings)
        assert others.true_epsilon(epsilon, 0.1) == pytest.approx(bandit.privacy.epsilon, rel=2e-3)


def test_norms_by_simulation():
    draws = np.random.default_rng(0).standard_normal((20_000, 20))
    limit = 2 * math.log(2 * 10 / 0.5)
    seen = float(np.mean((draws**2).sum(axis=1) > limit))
    assert others.norm_exceeds(dim=20, horizon=10, failure=0.5) == pytest.approx(seen, abs=0.01)


def test_the_shifted_wishart_is_positive_with_all_nodes_and_negative_with_one():
    k = 6 + math.ceil(224 * 11 * math.log(880) * math.log(20))
    assert max(bin(leaves).count("1") for leaves in range(1024)) == 10
    for nodes in (1, 10, 11):
        mean = others.shifted_eigenvalue(nodes)
        matrix = stats.wishart(df=nodes * k, scale=np.eye(5)).rvs(random_state=0)
        values = np.linalg.eigvalsh(matrix) - (nodes * k - mean)
        assert values.mean() == pytest.approx(mean, rel=0.05) and (values > 0).all() == (nodes == 11)
