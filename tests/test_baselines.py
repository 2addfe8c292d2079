"""The non-private references: their estimates, their choices, that they learn, and what they refuse."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr

from tacit import GLMUCB, GLOC, MLEUCB, Spec, Uniform, environments, simulate
from tacit.bandits.storage import _leaves
from tacit.experiments.spec import kebab
from tacit.kernels import gloc, linalg, links, mean_ucb, mle

PLAIN = [
    Spec(MLEUCB),
    Spec(MLEUCB, width_scale=0.0),
    Spec(GLMUCB, width_scale=0.003),
    Spec(GLOC, width_scale=0.1),
    Spec(GLOC, index="code", width_scale=0.01),
]


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
@pytest.mark.parametrize(
    ("name", "link", "likelihood"),
    [
        ("logistic", links.LOGISTIC, True),
        ("probit", links.PROBIT, True),
        ("quasi", links.PROBIT, False),
        ("squares", links.IDENTITY, True),
    ],
)
@pytest.mark.parametrize("start", [0.0, 20.0])
def test_newton_finds_the_optimum_that_scipy_finds(name, link, likelihood, count, start):
    rows, values = data(np.random.default_rng(count), count, 3, link)
    target = objectives(rows, values, 0.3)[name]
    theta, inverse = np.full(3, start), np.empty((3, 3))
    logdet = mle.newton(rows, values, link, 0.3, likelihood, theta, inverse)
    best = minimize(target, np.zeros(3), tol=1e-10)
    assert target(theta) == pytest.approx(mle.objective(rows, values, link, 0.3, likelihood, theta), abs=1e-6)
    assert np.allclose(theta, best.x, atol=2e-4)
    assert logdet == pytest.approx(-np.linalg.slogdet(inverse)[1])


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


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_they_learn(link):
    """Regret at most a third of uniform play, which is far from what each reaches."""
    world = environments.ball(dim=3, arms=10, radius=3.0, link=link)
    specs = [spec for spec in PLAIN if link == "logistic" or spec.name not in LOGISTIC_ONLY]
    rows = simulate([Spec(Uniform), *specs], world, horizon=2000, runs=3, seed=5).rows
    uniform = rows[0]["regret_mean"]
    for row in rows[1:]:
        assert row["regret_mean"] < uniform / 3, row


LOGISTIC_ONLY = {"ecolog"}


def test_the_best_reference_is_within_what_prototypes_reached():
    world = environments.ball(dim=3, arms=20, radius=3.0, link="probit")
    row = simulate([Spec(MLEUCB)], world, horizon=5000, runs=4, seed=6).rows[0]
    assert row["regret_mean"] < 14


def test_names():
    names = {
        "Uniform": "uniform", "MLEUCB": "mle-ucb", "GLMUCB": "glm-ucb", "GLOC": "gloc", "RSGLinUCB": "rs-glin-ucb",
        "BGLinCB": "b-glin-cb", "ECOLog": "ecolog", "LogisticTS": "logistic-ts", "JointGLM": "joint-glm",
        "JointGLMRare": "joint-glm-rare", "JointLinUCB": "joint-lin-ucb", "LinUCB": "lin-ucb",
    }  # fmt: skip
    assert {name: kebab(name) for name in names} == names


def test_kappa_is_the_worst_case_unless_it_is_given():
    for kind in (GLMUCB, GLOC):
        settings = {"dim": 3, "horizon": 100, "link": "probit", "radius": 3.0}
        assert kind(**settings).kappa == pytest.approx(np.sqrt(2 * np.pi) * np.exp(4.5))
        assert kind(**settings, oracle_kappa=5.0).kappa == 5.0


@pytest.mark.parametrize("kind", [MLEUCB, GLMUCB, GLOC])
@pytest.mark.parametrize(
    "bad",
    [
        {"dim": 0},
        {"horizon": 0},
        {"radius": -1.0},
        {"link": "cloglog"},
        {"rewards": (1.0, 0.0)},
        {"width_scale": -1.0},
        {"failure": 1.0},
        {"oracle_kappa": 0.0},
        {"growth": 0.5},
        {"index": "mine"},
    ],
)
def test_bad_settings(kind, bad):
    if next(iter(bad)) not in kind.__dataclass_fields__:
        bad = {"dim": True}
    with pytest.raises(ValueError, match="^Expected"):
        kind(**{"dim": 3, "horizon": 100} | bad)


@pytest.mark.parametrize("kind", [MLEUCB, GLMUCB])
def test_those_that_keep_data_need_a_horizon(kind):
    with pytest.raises(ValueError, match="Expected a horizon"):
        kind(dim=3)


@pytest.mark.parametrize("spec", [Spec(Uniform), *PLAIN], ids=lambda s: s.label)
def test_saved_and_loaded_they_go_on_alike(spec, tmp_path):
    options = spec.options | ({"policy": np.random.default_rng(3)} if "policy" in spec._names else {})
    one = spec.kind(dim=3, horizon=60, pending=5, **options)
    rng = np.random.default_rng(4)

    def rounds(bandit, rng):
        picks = []
        for _ in range(30):
            choice = bandit.choose(rng.uniform(-0.5, 0.5, (4, 3)))
            picks.append(choice.index)
            bandit.observe(choice, float(rng.random() < 0.5))
        return picks

    rounds(one, rng)
    one.save(tmp_path / "bandit")
    two = spec.kind.load(tmp_path / "bandit")
    again = np.random.default_rng(9)
    assert rounds(one, np.random.default_rng(9)) == rounds(two, again)
    for a, b in zip(_leaves(one._state), _leaves(two._state), strict=True):
        assert np.array_equal(a, b)
    assert not one.privacy.private and one.privacy.epsilon is None
