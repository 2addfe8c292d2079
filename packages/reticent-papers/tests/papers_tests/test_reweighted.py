"""Reweighted regression: sensitivities, formulas against slow ones, noise, and what the estimators reach."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chi2

from lab_tests.raising import raised
from reticent import Budget, Simulated
from reticent.model import links
from reticent_papers.kernels.matrices import packed, root, unpacked
from reticent_papers.queries import Queries, Query
from reticent_papers.regression import ReweightedGLM, ReweightedLinear
from reticent_papers.regression import estimate as reweighted
from reticent_papers.regression import theory as reweighted_theory
from reticent_papers.regression.contribution import ReweightedContribution
from reticent_papers.regression.estimate import Normalisation

LINKS = list(links.BUILT_IN.values())


def contribution(link=links.identity, dim=2, radius=1.0, offset=1.0):
    return ReweightedContribution(dim=dim, link=link, radius=radius, offset=offset)


def positive_definite(rng, dim, condition):
    q = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    return (q * np.exp(rng.uniform(0, math.log(condition), dim))) @ q.T


def person(rng, dim, radius=1.0):
    x = rng.standard_normal(dim)
    return x * rng.choice([radius, rng.random(), 1e-6, 0.0], p=[0.5, 0.3, 0.1, 0.1]) / np.linalg.norm(x)


@given(st.integers(0, 10**6), st.sampled_from(LINKS), st.sampled_from([1.0, 3.0, 100.0, 1e6]), st.integers(1, 4))
@settings(max_examples=200)
def test_sensitivities_are_never_exceeded(seed, link, condition, dim):
    """Two people, any public U and theta: none of the three statistics moves by more than its bound."""
    rng = np.random.default_rng(seed)
    each = contribution(link, dim, radius=rng.choice([0.5, 1.0, 3.0]), offset=rng.choice([0.2, 1.0, 3.0]))
    matrix, theta = positive_definite(rng, dim, condition), 3 * rng.standard_normal(dim)
    point = theta if link.bounded else np.zeros(dim)
    a, b = (person(rng, dim)[None] for _ in range(2))
    if rng.random() < 0.5:  # neighbours in the direction that U stretches most
        b = a + 1e-3 * rng.standard_normal(dim) / condition
        b /= max(1.0, np.linalg.norm(b))
    low = 0.0 if link.bounded else -1.0
    r, s = (np.array([rng.choice([low, 1.0])]) for _ in range(2))
    tolerance = 1 + 1e-9
    assert np.linalg.norm(each.gram(a, matrix)) <= np.linalg.norm(a) * tolerance  # Lemma A.5
    assert np.linalg.norm(each.gram(a, matrix) - each.gram(b, matrix)) <= math.sqrt(2) * tolerance
    apart = each.gradient(a, r, matrix, theta) - each.gradient(b, s, matrix, theta)
    assert np.linalg.norm(apart) <= each.gradient_sensitivity * tolerance
    one, two = each.closing(a, r, matrix, point), each.closing(b, s, matrix, point)
    assert np.linalg.norm(one - two) <= each.closing_sensitivity * tolerance
    assert math.hypot(np.linalg.norm(one), np.linalg.norm(two)) <= each.closing_sensitivity * tolerance


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
@pytest.mark.parametrize("exponent", [-320, -170, -164, -162, -161, -158, -155, -150])
def test_covariates_whose_squares_underflow_do_not_exceed_the_sensitivities(link, exponent):
    """A computed norm of 2.23e-162, 1.57e-162, ... is a third of the true one."""
    dim = 20
    each, rng = contribution(link, dim, radius=3.0, offset=3.0), np.random.default_rng(-exponent)
    one, zero, theta = np.ones(1), np.zeros(dim), rng.standard_normal(dim)
    for direction in (np.append(2.23, np.full(dim - 1, 1.57)), rng.standard_normal(dim)):
        x = (direction * 10.0**exponent)[None]
        for matrix in (np.eye(dim), positive_definite(rng, dim, 1e3)):
            assert np.linalg.norm(2 * each.gram(x, matrix)) <= each.gram_sensitivity
            apart = each.gradient(x, one, matrix, theta) - each.gradient(-x, one, matrix, theta)
            assert np.linalg.norm(apart) <= each.gradient_sensitivity * (1 + 1e-9)
            apart = each.closing(x, one, matrix, zero) - each.closing(-x, one, matrix, zero)
            assert np.linalg.norm(apart) <= each.closing_sensitivity * (1 + 1e-9)


@pytest.mark.parametrize("condition", [1.0, 2.0, 8.0, 1000.0])
def test_a_search_comes_near_the_closing_sensitivity(condition):
    each, matrix = contribution(), np.diag([1.0, condition])
    tightness = each.tightness(matrix)
    assert tightness >= 1
    rng, zero = np.random.default_rng(0), np.zeros(2)

    def parts(angle, length, target):
        phi = length * np.array([math.cos(angle), math.sin(angle)])
        u = matrix @ phi / np.linalg.norm(matrix @ phi)
        outer = each.outer_scale * packed(np.outer(u, u))
        return tightness * np.concatenate([each.scale * np.ravel(np.outer(u, phi)), target * u, outer])

    def distance(p):
        return -np.linalg.norm(parts(p[0], p[2], 1.0) - parts(p[1], p[3], p[4]))

    bounds, best = [(-4, 7), (-4, 7), (1e-9, 1), (1e-9, 1), (-1, 1)], 0.0
    for i in range(30):
        start = [*rng.uniform(0, 3, 2) / (1.0 if i % 2 else condition), 1.0, 1.0, rng.choice([-1.0, 1.0])]
        best = max(best, -minimize(distance, start, bounds=bounds, method="Nelder-Mead").fun)
    assert 0.995 * each.closing_sensitivity <= best <= each.closing_sensitivity * (1 + 1e-9)
    x = np.array([[0.6, 0.8]])
    assert np.allclose(each.closing(x, np.ones(1), matrix, zero), parts(math.atan2(0.8, 0.6), 1.0, 1.0))


def test_the_other_sensitivities_are_attained():
    each = contribution(links.logistic, radius=2.0)
    a, b = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    eye = np.eye(2)
    assert np.linalg.norm(each.gram(a, eye) - each.gram(b, eye)) == pytest.approx(math.sqrt(2))
    at = np.array([2.0, 0.0])
    apart = each.gradient(a, np.zeros(1), eye, at) - each.gradient(-a, np.ones(1), eye, at)
    assert np.linalg.norm(apart) <= each.gradient_sensitivity
    apart = each.gradient(a, np.zeros(1), eye, at) - each.gradient(-a, np.zeros(1), eye, -at) * 0
    assert np.linalg.norm(apart) == pytest.approx(each.gradient_sensitivity / 2)
    plain = contribution(radius=1.0)
    both = [plain.gradient(a, np.array([y]), eye, s * a[0]) for y, s in ((-1.0, 1.0), (1.0, -1.0))]
    assert np.linalg.norm(both[0] - both[1]) == pytest.approx(plain.gradient_sensitivity)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_sums_against_a_loop(link):
    rng, each = np.random.default_rng(1), contribution(link, dim=3, radius=2.0)
    x = np.array([person(rng, 3) for _ in range(50)])
    r, theta = rng.random(50), rng.standard_normal(3)
    point = theta if link.bounded else np.zeros(3)
    matrix = positive_definite(rng, 3, 30.0)
    half = root(matrix)
    (gram, jacobian, outer), (gradient, moment) = np.zeros((3, 3, 3)), np.zeros((2, 3))
    for phi, y in zip(x, r, strict=True):
        length = np.linalg.norm(matrix @ phi)
        if length == 0:
            continue
        u = matrix @ phi / length
        z, at = np.clip(phi @ theta, -2, 2), np.clip(phi @ point, -2, 2)
        gram += np.outer(half @ phi, half @ phi) / length
        gradient += (link.mean(z) - y) * u
        jacobian += link.slope(at) * np.outer(u, phi)
        moment += (y - link.mean(at)) * u
        outer += np.outer(u, u)
    assert np.allclose(unpacked(each.gram(x, matrix), 3), gram)
    assert np.allclose(each.gradient(x, r, matrix, theta), gradient)
    scales = {"tightness": each.tightness(matrix), "scale": each.scale, "outer_scale": each.outer_scale}
    found = reweighted.parts(each.closing(x, r, matrix, point), 3, **scales)
    for got, expected in zip(found, (jacobian, moment, outer), strict=True):
        assert np.allclose(got, expected)


def test_the_spectral_step_is_the_papers_and_halves_logarithms():
    """U+ = sym(Sigma^-1/2 U); without noise log eigenvalues of Sigma at least halve (end of section 4.2)."""
    rng = np.random.default_rng(2)
    x = np.array([person(rng, 4) for _ in range(4000)]) * 10.0 ** -np.arange(4)
    each = contribution(dim=4)
    matrix, ridge = np.eye(4), 1e-4
    before = None
    for _ in range(8):
        half, gram = root(matrix), unpacked(each.gram(x, matrix), 4) / len(x)
        sigma = half @ gram @ half + ridge * matrix
        values = np.log(np.linalg.eigvalsh(sigma))
        if before is not None:
            assert before[0] / 2 - 1e-9 <= values[0] and values[-1] <= max(before[-1] / 2, 0) + 1e-9
        before = values
        w, q = np.linalg.eigh(sigma)
        product = (q * w**-0.5) @ q.T @ matrix
        matrix = reweighted.spectral_step(matrix, packed(gram), ridge)
        assert np.allclose(matrix @ matrix, product.T @ product, rtol=1e-8)
    low, high, _ = reweighted.condition(Normalisation(matrix, ridge), x)
    assert 0.95 <= low <= high <= 1.05


def test_a_huge_ridge_passes_the_diagnostic_trivially():
    low, high, ridge = reweighted.condition(Normalisation(np.eye(2) / 100.0, 100.0), np.array([[1.0, 0.0]]))
    assert 0.5 <= low <= high <= 2 and ridge == 100.0


def test_algorithm_12_and_its_bound_against_their_formulas():
    """theta = X^-1 xi with X = mean(u phi') + lambda I; b(phi) = 16 lambda |U phi| + eps |X^-T phi|_W, W = mean(u u') +
    lambda I, eps^2 = 72 ln(6 / (failure failure_0)) / (35 N). All of the second half of the rows, without noise."""
    rng, n = np.random.default_rng(3), 8000
    x = np.array([person(rng, 3) for _ in range(n)])
    y = np.where(rng.random(n) < 0.5 * (1 + x @ [0.5, 0.3, -0.4]), 1.0, -1.0)
    options = {"radius": 1.0, "schedule": "paper", "source": Simulated(0)}
    fitted = ReweightedLinear(budget=Budget(math.inf, 1e-3), **options).fit(x, y)
    matrix, ridge = fitted.normalisation_
    later, fresh = x[n // 2 :], x[:50]
    u = later @ matrix
    u = np.divide(u, np.linalg.norm(u, axis=1)[:, None], out=np.zeros_like(u), where=later.any(axis=1)[:, None])
    back = np.linalg.inv(u.T @ later / (n // 2) + ridge * np.eye(3))
    assert np.allclose(fitted.theta_, back @ (u.T @ y[n // 2 :]) / (n // 2), atol=1e-9)
    outer = u.T @ u / (n // 2) + ridge * np.eye(3)
    error, side = math.sqrt(72 / 35 * math.log(6 * (n // 2) / 0.05**2) / (n // 2)), fresh @ back
    bound = 16 * ridge * np.linalg.norm(fresh @ matrix, axis=1)
    bound += error * np.sqrt(np.einsum("ni,ij,nj->n", side, outer, side))
    assert np.allclose(fitted._result.half_width(fresh, 3.0), bound, rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "rules_out"), [(20_000, False), (pytest.param(2_000_000, True, marks=pytest.mark.full))]
)
def test_the_papers_linear_widths_hold_and_are_wide(rows, rules_out):
    """At (1, 1e-6), d = 5, arms in the ball: no two of them are told apart in epochs of usual length."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((rows, 7))
    x, theta = x[:, :5] / np.linalg.norm(x, axis=1)[:, None], np.full(5, 5**-0.5)
    y = np.where(rng.random(rows) < 0.5 * (1 + x @ theta), 1.0, -1.0)
    fitted = ReweightedLinear(budget=Budget(1.0, 1e-6), radius=1.0, schedule="paper", source=Simulated(1)).fit(x, y)
    middle, half = x[:2000] @ fitted.theta_, fitted._result.half_width(x[:2000], 1.0)
    assert np.all(np.abs(middle - x[:2000] @ theta) <= half)
    assert bool(np.any(middle + half < (middle - half).max())) == rules_out


def test_the_tight_ridge_is_the_smallest_that_the_induction_allows():
    c, error = 1.1, 0.03
    ridge = reweighted_theory.tight_ridge(error, c)
    assert ridge - error == pytest.approx((ridge + error) / c**2)
    assert reweighted_theory.growing_ridge(20, error) == pytest.approx(45 * error)


def test_the_growing_ridge_begins_at_five_and_ends_at_the_result(monkeypatch):
    """lambda_0, lambda_1, ... = 5, 7, ... eps_N in (13); lambda_K = (2 K + 5) eps_N goes with U_(K)."""
    used, step = [], reweighted.spectral_step
    monkeypatch.setattr(reweighted, "spectral_step", lambda u, h, ridge: (used.append(ridge), step(u, h, ridge))[1])
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-0.5, 0.5, (3000, 2)), rng.integers(0, 2, 3000)
    options = {"link": "logistic", "schedule": "paper", "source": Simulated(0)}
    fitted = ReweightedGLM(budget=Budget(8.0, 1e-3), radius=1.0, **options).fit(x, y)
    error = used[0] / 5
    assert np.allclose(used, [(2 * k + 5) * error for k in range(len(used))]) and len(used) > 2
    assert fitted.normalisation_.ridge == pytest.approx((2 * len(used) + 5) * error)


def test_proposition_4_3_is_vacuous_at_one_hundred_thousand_rows():
    """Its lambda at N = 1e5 is above 1, where I / lambda passes the diagnostic for any covariates."""
    count, steps = 100_000, reweighted_theory.spectral_steps(100_000)
    people = count // steps
    error = reweighted_theory.sampling_error(math.sqrt(2) / 0.268 / people, 5, people, steps)
    assert reweighted_theory.growing_ridge(steps, error) > 1


def test_projection_is_the_nearest_point_of_the_ellipsoid():
    rng = np.random.default_rng(3)
    matrix, w = positive_definite(rng, 3, 50.0), rng.standard_normal(3)
    near = reweighted.project(w, matrix, 1.0)
    assert np.linalg.norm(matrix @ near) == pytest.approx(1.0)
    constraint = {"type": "ineq", "fun": lambda v: 1 - np.sum((matrix @ v) ** 2)}
    slow = minimize(lambda v: np.sum((v - w) ** 2), np.zeros(3), constraints=constraint, tol=1e-12)
    assert np.allclose(near, slow.x, atol=1e-4)
    inside = np.linalg.solve(matrix, [0.1, 0.2, 0.3])
    assert reweighted.project(inside, matrix, 1.0) is inside


@pytest.mark.parametrize("size", [0.3, 3.0])
def test_the_closed_form_is_the_best_linear_estimate_in_the_ball(size):
    """Against a solver: |m - J (theta - p)|^2 in C^-1 plus |theta|^2 / r^2; inside |theta| <= r and on its edge."""
    rng = np.random.default_rng(5)
    matrix, spread, outer = positive_definite(rng, 3, 10.0), positive_definite(rng, 3, 4.0), np.eye(3) / 3
    jacobian, point, truth = spread @ np.linalg.inv(matrix), 0.1 * rng.standard_normal(3), np.array([size, 0.0, 0.0])
    moment, settings = jacobian @ (truth - point), {"radius": 1.0, "offset": 0.7, "variance": 2e-3}
    fit = reweighted.close(Normalisation(matrix, 0.0), point, jacobian, moment, outer, stds=(0.01, 0.02), **settings)
    weights = np.linalg.inv(2e-3 * outer + (0.02**2 + 0.007**2) * np.eye(3))

    def cost(theta):
        rest = moment - jacobian @ (theta - point)
        return rest @ weights @ rest + theta @ theta

    ball = {"type": "ineq", "fun": lambda theta: 1 - theta @ theta}
    slow = minimize(cost, np.zeros(3), constraints=ball, tol=1e-14)
    assert np.allclose(fit.theta, slow.x, atol=1e-5)
    assert bool(np.linalg.norm(fit.theta) > 1 - 1e-6) == (size > 1)
    doubt = np.linalg.inv(jacobian.T @ weights @ jacobian + np.eye(3))
    assert np.allclose(fit.bias, doubt @ doubt) and np.allclose(fit.spread + doubt @ doubt, doubt)


def test_the_closed_forms_spread_is_that_of_its_errors():
    """3000 noisy equations: variances within 13 % (a standard error is 2.6 %), where 2/3 and 3/2 would be found."""
    rng = np.random.default_rng(6)
    matrix, truth, jacobian = np.eye(2), np.array([0.3, -0.2]), np.diag([0.5, 0.05])
    settings, errors = {"stds": (1e-6, 0.02), "radius": 50.0, "offset": 1.0, "variance": 1e-3}, []
    for _ in range(3_000):
        moment = jacobian @ truth + rng.standard_normal(2) * math.sqrt(1e-3 / 2 + 0.02**2)
        fit = reweighted.close(Normalisation(matrix, 0.0), np.zeros(2), jacobian, moment, np.eye(2) / 2, **settings)
        errors.append(fit.theta - truth)
    assert np.allclose(np.var(errors, axis=0), np.diag(fit.spread), rtol=0.13)
    assert np.all(np.abs(np.mean(errors, axis=0)) <= 5 * np.sqrt(np.diag(fit.spread) / len(errors)))


def test_the_symmetrised_jacobian_is_the_nearest_one():
    rng = np.random.default_rng(4)
    matrix, symmetric = positive_definite(rng, 3, 10.0), positive_definite(rng, 3, 5.0)
    exact = symmetric @ np.linalg.inv(matrix)
    assert np.allclose(reweighted.symmetrised(exact, matrix), exact)
    noisy = exact + 0.01 * rng.standard_normal((3, 3))
    ours = reweighted.symmetrised(noisy, matrix)
    assert np.allclose(ours @ matrix, (ours @ matrix).T)
    inverse, basis = np.linalg.inv(matrix), []
    for i in range(3):
        for j in range(i, 3):
            e = np.zeros((3, 3))
            e[i, j] = e[j, i] = 1.0
            basis.append(np.ravel(e @ inverse))
    coefficients = np.linalg.lstsq(np.array(basis).T, noisy.ravel(), rcond=None)[0]
    assert np.allclose(ours.ravel(), coefficients @ np.array(basis))


def queries(model="joint", split=False, epsilon=1.0):
    asked = (Query("a", "a", 2, 2.0, 0.25), Query("b", "b", 3, 0.5, 0.75))
    return Queries(queries=asked, budget=Budget(epsilon, 1e-5), relation="replace rows", model=model, split=split)


def test_queries_spend_the_budget_and_no_more():
    for model, split in (("joint", False), ("joint", True), ("local", True)):
        assert queries(model, split).epsilon == pytest.approx(1.0, rel=1e-6)
    together, apart = queries(), queries(split=True)
    assert [r.mu**2 for r in together.releases()] == pytest.approx(
        [0.25 * apart.releases()[0].mu ** 2, 0.75 * apart.releases()[0].mu ** 2]
    )
    assert queries(epsilon=math.inf).epsilon == math.inf and queries(epsilon=math.inf).sigma(0) == 0
    assert together.rows(1, 10) == slice(0, None) and together.people(1, 10) == 10  # late rows are not cut
    assert apart.rows(0, 10) == slice(0, 2) and apart.rows(1, 10) == slice(2, 10)
    raised(ValueError, apart.people, 0, 3).match("Expected more rows")
    raised(ValueError, queries, "local").match("split=True")
    with pytest.raises(ValueError, match="add up to 1"):
        Queries(queries=(Query("a", "a", 2, 2.0, 0.5),), budget=Budget(1, 0.1), relation="replace rows")


@pytest.mark.parametrize(("model", "split"), [("joint", False), ("joint", True), ("local", True)])
def test_the_noise_is_as_large_as_it_says(model, split):
    """6000 draws against the chi-square quantiles of 1e-6 on each side; 2/3 and 3/2 of sigma would be rejected."""
    asked, source = queries(model, split), Simulated(5)
    draws = np.array([asked.release(1, np.zeros(3), 1000, source) for _ in range(2000)]).ravel()
    people = 750 if split else 1000
    std = asked.sigma(1) * (math.sqrt(people) if model == "local" else 1) / people
    assert asked.std(1, 1000) == pytest.approx(std)
    low, high = chi2.ppf([1e-6, 1 - 1e-6], draws.size)
    statistic = np.sum(draws**2) / std**2
    assert low < statistic < high
    assert not low < statistic * 1.5**2 < high and not low < statistic / 1.5**2 < high
