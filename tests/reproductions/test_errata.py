"""Each erratum's number against another way to compute it, and the page that tells of them."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from tacit import Budget, Simulated
from tacit.experiments.outcome import Finding, Outcome
from tacit.papers import LocalOnlineUCB
from tacit.papers.reproductions import errata
from tacit.papers.reproductions.errata import joint, lower, others, shuffled

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"


def test_end_to_end(tmp_path):
    """Whether two runs convict is no matter here: a full test has as many as it takes."""
    outcome = errata.reproduce(quick=True, runs=2, out=tmp_path)
    outcome.write(tmp_path)
    assert len(outcome.findings) == 20 and (tmp_path / "outcome.json").exists()
    assert max(map(len, outcome.table.splitlines())) <= 100
    text = (tmp_path / "outcome.txt").read_text()
    assert "SEEN" not in text and text.count("  [confirmed] ") == sum(not finding.seen for finding in outcome.findings)
    holds = Outcome("", outcome.result, [Finding("it holds", "", True)], "", errata=True)
    assert "[NOT CONFIRMED] it holds" in holds.text() and holds.summary().split() == ["0", "of", "1", "confirmed"]


def test_the_page_has_every_number():
    """Those of attacks depend on the number of runs, and are on the page of the attack."""
    text = PAGE.read_text()
    for erratum in errata.every(runs=2):
        if not erratum.where.startswith("Algorithm 2"):
            assert not erratum.holds
            for number in (erratum.printed, erratum.computed):
                assert number.replace("<= ", "").replace(" times", "").replace("delta ", "") in text, erratum.where


def test_the_attack_needs_the_raw_context():
    assert sum(joint.later_users_notice(True, run) for run in range(20)) >= 5  # .65 each: chance of fewer below 1e-4
    assert not any(joint.later_users_notice(False, run) for run in range(20))
    assert joint.least_epsilon(60, 0, 100) > 1.5 and joint.least_epsilon(60, 40, 100) < 1


@pytest.mark.parametrize(("wide", "narrow"), [(1.0, 0.5), (1.0, 2 / 3)])
def test_delta_of_two_scales_by_integration(wide, narrow):
    """One number: the integral of (p - e q)+."""

    def excess(x):
        return max(0.0, stats.norm.pdf(x, scale=wide) - math.e ** (1 / 8) * stats.norm.pdf(x, scale=narrow))

    expected = 2 * integrate.quad(excess, 0, 10, limit=200)[0]
    assert joint.delta_of_scales(1 / 8, wide, narrow, 1) == pytest.approx(expected, rel=1e-4)


def test_rho_of_v_from_the_law_of_the_noise():
    """Entries on and above the diagonal of (Z + Z') / 2, Z of std 1: std 1 and sqrt(1/2), independent."""
    shift = np.array([1.0, 0.0, -1.0])  # x x' - y y' for x = e1, y = e2: entries 11, 12, 22
    precision = 1 / np.array([1.0, 0.5, 1.0])
    per_node = float(shift**2 @ precision) / 2
    diagonal = np.array([1.0, 1.0, -1.0]) / math.sqrt(1.5)  # a shift of the same Frobenius norm, off the diagonal
    assert float(diagonal**2 @ precision) / 2 == pytest.approx(per_node * (1 + 2 + 1) / 1.5 / 2)
    for kappa_star, delta in ((4.0, 0.02), (9.5, 1e-6)):
        claimed = 1 / (144 * math.log(3 / delta))
        real = per_node / (72 * math.log(32 / delta) ** 2 / kappa_star**2)
        assert joint.rho_of_v(kappa_star, delta) == pytest.approx(real / claimed)


def test_switches_of_p4_exceed_the_cut_off_only_where_noise_is_small():
    settings = {"dim": 50, "horizon": 10**6, "link": "logistic", "radius": 1.0, "failure": 0.01}
    for epsilon, exceeds in ((1.0, False), (8.0, True)):
        theory = joint.theory(budget=Budget(epsilon, 0.01), **settings)
        assert (joint.most_switches(50, 10**6, theory.ridge) > theory.most_tau) == exceeds


def test_batches_of_the_main_text_end_at_the_horizon():
    for count in (3, 4, 5):
        assert shuffled.batches(20_000, count, 1 - 2.0 ** (1 - count))[-1] == pytest.approx(20_000)
        assert shuffled.batches(20_000, count, 1 - 2.0**-count)[-1] < 15_000


def test_lambda_min_is_large_enough_with_eight():
    settings = {"dim": 5, "horizon": 20_000, "epsilon": 1.0, "delta": 1e-2, "kappa_star": 4.0}
    assert shuffled.smallest_eigenvalue(**settings, constant=8.0) >= 20 * 5 * math.log(20_000)


def test_the_repair_of_r3():
    """TV(P, Q)^2 <= KL(P | M) + KL(Q | M), on random pairs, where the printed inequality fails for some."""
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(300):
        p, q = rng.dirichlet([0.2] * 4, 2) + 1e-12
        p, q = p / p.sum(), q / q.sum()
        m = (p + q) / 2
        halves = lower.kl(p, m) + lower.kl(q, m)
        assert (np.abs(p - q).sum() / 2) ** 2 <= halves + 1e-9 <= 2 * math.log(2) + 1e-9
        broken += lower.kl(p, q) > 2 * halves
    assert broken > 100


def test_one_coordinate_by_simulation():
    rng, runs = np.random.default_rng(1), 4000
    exact = lower.OneCoordinate(50)
    right = rng.random(runs) < 0.5  # +e_j is the better arm
    sums = rng.binomial(lower.TRIALS, 0.5 + np.where(right, 1, -1) * lower.GAP / 2)
    plays_plus = sums + rng.laplace(size=runs) > lower.TRIALS / 2
    rest = lower.ROUNDS - lower.TRIALS
    regret = lower.GAP * (lower.TRIALS * ~right + rest * (plays_plus != right))
    assert regret.mean() == pytest.approx(exact.regret, abs=4 * regret.std() / math.sqrt(runs))  # 6e-5 to be wrong
    assert exact.regret == lower.OneCoordinate(2).regret and exact.claimed > 10 * exact.most


def test_true_epsilon_is_what_the_certificate_prints():
    settings = {"dim": 5, "horizon": 100, "rewards": (-1.0, 1.0), "calibration": "paper", "source": Simulated(0)}
    for epsilon in (1.0, 10.0):
        bandit = LocalOnlineUCB(budget=Budget(epsilon, 0.1), **settings)
        assert others.true_epsilon(epsilon, 0.1) == pytest.approx(bandit.privacy.epsilon, rel=2e-3)


def test_norms_by_simulation():
    draws = np.random.default_rng(0).standard_normal((20_000, 20))
    limit = 2 * math.log(2 * 10 / 0.5)
    seen = float(np.mean((draws**2).sum(axis=1) > limit))
    assert others.norm_exceeds(dim=20, horizon=10, failure=0.5) == pytest.approx(seen, abs=0.01)


def test_the_shifted_wishart_is_positive_with_all_nodes_and_negative_with_one():
    settings = {"dim": 5, "levels": 11, "horizon": 1024, "epsilon": 1.0, "delta": 0.1, "failure": 0.01}
    mean = others.shifted_eigenvalue(**settings)
    k = 6 + math.ceil(224 * 11 * math.log(880) * math.log(20))
    law = [stats.wishart(df=nodes * k, scale=np.eye(5)).rvs(random_state=0) for nodes in (1, 11)]
    one, all_of_them = (np.linalg.eigvalsh(matrix) - (k - mean) for matrix in law)
    assert one.max() < 0 < all_of_them.min() and one.mean() == pytest.approx(mean, rel=0.01)
