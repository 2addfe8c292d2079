"""The non-private references: their estimates, their choices, that they learn, and what they refuse."""

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr

import core_tests.bandits.test_storage as storage
from lab_tests.raising import raised
from reticent import Spec, Uniform, environments, simulate
from reticent.kernels import linalg
from reticent.model import links
from reticent_papers import GLMUCB, GLOC, MLEUCB, BGLinCB, ECOLog, LogisticTS, RSGLinUCB
from reticent_papers.kernels import mle
from reticent_papers.kernels.batched import d_optimal
from reticent_papers.references import ecolog_kernel as ecolog
from reticent_papers.references import glm_ucb_kernel as mean_ucb
from reticent_papers.references import gloc_kernel as gloc

PLAIN = [
    Spec(MLEUCB), Spec(MLEUCB, width_scale=0.0), Spec(GLMUCB, width_scale=0.003), Spec(GLOC, width_scale=0.1),
    Spec(GLOC, index="code", width_scale=0.01), Spec(RSGLinUCB), Spec(BGLinCB, width_scale=0.03), Spec(ECOLog),
    Spec(LogisticTS),
]  # fmt: skip
LOGISTIC_ONLY, KINDS = {"ecolog"}, [MLEUCB, GLMUCB, GLOC, RSGLinUCB, BGLinCB, ECOLog, LogisticTS]


def data(rng, n, d, link, radius=3.0):
    theta = rng.standard_normal(d)
    theta *= radius / np.linalg.norm(theta)
    rows = rng.standard_normal((n, d))
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
    mean = {links.LOGISTIC: expit, links.PROBIT: ndtr, links.IDENTITY: lambda z: z}[link](rows @ theta)
    noise = rng.standard_normal(n) if link == links.IDENTITY else 0.0
    return rows, mean + noise if link == links.IDENTITY else (rng.random(n) < mean) * 1.0


def objectives(rows, values, ridge):
    def quadratic(theta):
        return ridge / 2 * theta @ theta

    def logistic(theta):
        z = rows @ theta
        return np.logaddexp(0, z).sum() - values @ z + quadratic(theta)

    def probit(theta):
        z = rows @ theta
        return -(values @ log_ndtr(z) + (1 - values) @ log_ndtr(-z)) + quadratic(theta)

    def quasi(theta):
        z = rows @ theta
        return (z * ndtr(z) + np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) - values * z).sum() + quadratic(theta)

    def squares(theta):
        z = rows @ theta
        return z @ z / 2 - values @ z + quadratic(theta)

    return {"logistic": logistic, "probit": probit, "quasi": quasi, "squares": squares}


@pytest.mark.parametrize("count", [1, 30, 1000])
@pytest.mark.parametrize(("name", "link", "likelihood"), [
    ("logistic", links.LOGISTIC, True), ("probit", links.PROBIT, True), ("quasi", links.PROBIT, False),
    ("squares", links.IDENTITY, True),
])  # fmt: skip
@pytest.mark.parametrize("start", [0.0, 20.0])
def test_newton_finds_the_optimum_that_scipy_finds(name, link, likelihood, count, start):
    rows, values = data(np.random.default_rng(count), count, 3, link)
    target = objectives(rows, values, 0.3)[name]
    theta, inverse = np.full(3, start), np.empty((3, 3))
    logdet = mle.newton(rows, values, link, 0.3, likelihood, theta, inverse)
    best = minimize(target, np.zeros(3), tol=1e-10)
    assert target(theta) == pytest.approx(mle.objective(rows, values, link, 0.3, likelihood, theta), abs=1e-6)
    assert np.allclose(theta, best.x, atol=2e-4) and logdet == pytest.approx(-np.linalg.slogdet(inverse)[1])


def test_the_efficient_weight_far_out():
    z = np.array([-30.0, -6.1, -5.9, 0.0, 5.9, 6.1, 30.0])
    exact = np.exp(-(z**2) / 2 - np.log(2 * np.pi) / 2 - log_ndtr(z) - log_ndtr(-z))
    found = [mle.efficiency(links.PROBIT, v, ndtr(v), np.exp(-v * v / 2) / np.sqrt(2 * np.pi), True) for v in z]
    assert np.allclose(found, exact, rtol=2e-3)


def test_growing_an_inverse():
    rng = np.random.default_rng(0)
    V, x = np.diag([1.0, 2.0, 3.0]), rng.standard_normal(3)
    inverse = np.linalg.inv(V)
    growth = linalg.grow(x, 0.7, inverse)
    assert np.allclose(inverse, np.linalg.inv(V + 0.7 * np.outer(x, x)))
    assert growth == pytest.approx(np.linalg.slogdet(V + 0.7 * np.outer(x, x))[1] - np.log(6))
    assert linalg.square_norm(x, V) == pytest.approx(x @ V @ x)


def test_optimism_in_the_mean():
    rng = np.random.default_rng(1)
    arms, theta = rng.standard_normal((50, 3)), rng.standard_normal(3)
    inverse = np.diag([1.0, 0.1, 2.0])
    values = ndtr(arms @ theta) + 0.4 * np.sqrt(np.einsum("ai,ij,aj->a", arms, inverse, arms))
    assert mean_ucb.mean_optimistic(arms, theta, inverse, links.PROBIT, 0.4) == np.argmax(values)


def test_projection_in_the_norm_of_a_matrix():
    rng = np.random.default_rng(2)
    a = rng.standard_normal((4, 4))
    matrix, theta = a @ a.T + 0.1 * np.eye(4), 3 * rng.standard_normal(4)
    found = theta.copy()
    gloc.project(found, matrix, 1.5)
    assert np.linalg.norm(found) == pytest.approx(1.5)
    away = matrix @ (theta - found)  # optimal: the gradient points outwards along theta
    assert np.allclose(away / np.linalg.norm(away), found / 1.5, atol=1e-6)
    inside = np.array([0.1, 0.2, -0.3, 0.0])
    kept = inside.copy()
    gloc.project(kept, matrix, 1.5)
    assert np.array_equal(kept, inside)


@pytest.mark.parametrize("radius", [50.0, 0.8])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 0.0), (2.0, 1.0)])
def test_the_online_step_is_the_constrained_optimum(radius, a, b):
    rng = default_rng(7)
    root = rng.standard_normal((3, 3))
    matrix, theta, x = root @ root.T + np.eye(3), np.array([0.5, -0.4, 0.3]), np.array([0.6, 0.5, -0.4])
    found = np.empty(3)
    ecolog.online_step(x, theta, matrix, np.linalg.inv(matrix), a, b, radius, found)

    def target(t):
        return (t - theta) @ matrix @ (t - theta) / 2 + a * np.logaddexp(0, x @ t) - b * (x @ t)

    inside = {"type": "ineq", "fun": lambda t: radius**2 - t @ t}
    best = minimize(target, 0.1 * theta, constraints=inside, method="SLSQP", options={"ftol": 1e-14})
    assert np.linalg.norm(found) <= radius * (1 + 1e-9) and np.allclose(found, best.x, atol=1e-5)


def test_the_design_is_nearly_optimal_and_only_on_those_alive():
    """Kiefer and Wolfowitz: the largest |x|^2 under the optimal design is d; ten sweeps come within the factor 2."""
    rng = default_rng(8)
    arms, weights = rng.standard_normal((30, 3)), np.empty(30)
    alive = rng.random(30) < 0.5
    d_optimal(arms, np.ones(30), alive, weights)
    assert weights.sum() == pytest.approx(1) and not weights[~alive].any()
    inverse = np.linalg.inv((arms * weights[:, None]).T @ arms)
    assert np.einsum("ai,ij,aj->a", arms[alive], inverse, arms[alive]).max() < 6
    d_optimal(np.zeros((4, 3)), np.ones(4), np.ones(4, bool), weights[:4])
    assert np.allclose(weights[:4], 0.25)


def test_the_determinant_test_fires_again_and_again():
    """H is compared with a copy of itself at the last switch: about log det H / log 1.5 switches, late ones too."""
    world = environments.ball(dim=3, arms=10, radius=2.0, link="probit")
    bandit = Spec(RSGLinUCB).build(world, 4000, SeedSequence(1))
    fill, block, switches = world.start(default_rng(2), 4000).fill, world.block(1000), []
    for _ in range(4):
        fill(block)
        bandit.play(block)
        switches.append(bandit.switches)
    assert switches[0] > 10 and (np.diff(switches) >= 2).all()
    assert not np.shares_memory(bandit._state.current.inverse, bandit._state.switched.inverse)
    assert 0 < bandit.warmed < 100
    paper = Spec(RSGLinUCB, constants="paper").build(world, 1000, SeedSequence(1))
    paper.play(block)
    assert paper.warmed == 1000 and paper.switches == 0


def test_batches_close_on_a_public_schedule():
    world = environments.ball(dim=3, arms=10, radius=2.0, link="logistic")
    bandit = Spec(BGLinCB, width_scale=0.1, batches=3).build(world, 1000, SeedSequence(1))
    block = world.block(1000)
    world.start(default_rng(2), 1000).fill(block)
    bandit.play(block)
    assert bandit.closed == 2 and list(bandit._ends) == [52, 425, 1000]


@pytest.mark.parametrize("link", ["logistic", pytest.param("probit", marks=pytest.mark.full)])
def test_they_learn(link):
    """Regret at most a third of uniform play, which is far from what each reaches."""
    world = environments.ball(dim=3, arms=10, radius=3.0, link=link)
    specs = [spec for spec in PLAIN if link == "logistic" or spec.name not in LOGISTIC_ONLY]
    rows = simulate([Spec(Uniform), *specs], world, horizon=2000, runs=3, seed=5).rows
    uniform = rows[0]["regret_mean"]
    for row in rows[1:]:
        assert row["regret_mean"] < uniform / 3, row


def test_the_best_reference_is_within_what_prototypes_reached():
    world = environments.ball(dim=3, arms=20, radius=3.0, link="probit")
    row = simulate([Spec(MLEUCB)], world, horizon=5000, runs=4, seed=6).rows[0]
    assert row["regret_mean"] < 14


def test_kappa_is_the_worst_case_unless_it_is_given():
    for kind in (GLMUCB, GLOC, RSGLinUCB, BGLinCB):
        settings = {"dim": 3, "horizon": 100, "link": "probit", "radius": 3.0}
        assert kind(**settings).kappa == pytest.approx(np.sqrt(2 * np.pi) * np.exp(4.5))
        assert kind(**settings, oracle_kappa=5.0).kappa == 5.0


WRONG = [{"dim": 0}, {"horizon": 0}, {"radius": -1.0}, {"link": "cloglog"}, {"rewards": (1.0, 0.0)}, {"batches": 0}]
WRONG += [{"width_scale": -1.0}, {"failure": 1.0}, {"oracle_kappa": 0.0}, {"index": "mine"}, {"constants": "mine"}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [*WRONG, {"ridge": 0.0}])
def test_bad_settings(kind, bad):
    if next(iter(bad)) not in kind.__dataclass_fields__:
        bad = {"dim": True}
    raised(ValueError, kind, **{"dim": 3, "horizon": 100} | bad).match("^Expected")


def test_ecolog_is_for_logistic_rewards():
    raised(ValueError, ECOLog, dim=3, link="probit").match("^Expected link")


@pytest.mark.parametrize("kind", [MLEUCB, GLMUCB, RSGLinUCB, BGLinCB, LogisticTS])
def test_those_that_keep_data_need_a_horizon(kind):
    raised(ValueError, kind, dim=3).match("Expected a horizon")


@pytest.mark.parametrize("spec", [Spec(Uniform), *PLAIN], ids=lambda s: s.label)
def test_saved_and_loaded_they_go_on_alike(spec, tmp_path):
    options = spec.options | ({"policy": default_rng(3)} if "policy" in spec._names else {})
    made = spec.kind(dim=3, horizon=110, pending=9, rewards=(-1.0, 1.0), **options)
    storage.test_a_loaded_bandit_goes_on_bit_by_bit(made, tmp_path)
    assert not made.privacy.private and made.privacy.epsilon is None
