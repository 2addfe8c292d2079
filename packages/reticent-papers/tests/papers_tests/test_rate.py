"""docs/proofs/rate.md: each lemma against a search that tries to break it, and counterexamples to what is not one."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from reticent import Budget, Simulated
from reticent.model import links
from reticent_papers.joint.glm_ucb import JointGLMUCB, potential, projected
from reticent_papers.joint.secant import SecantContribution, balanced, steepness
from reticent_papers.joint.shapes import SHAPES, misfit

LINKS = ("logistic", "probit")


def contribution(name, radius, dim=2, scale=None):
    link = links.named(name)
    scale = balanced(link, dim, radius) if scale is None else scale
    return SecantContribution(dim=dim, scale=scale, low=0.0, high=1.0, link=link, radius=radius)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("radius", [0.5, 1.0, 2.0])
def test_lemma_1_lines_miss_the_link_by_no_more_than_the_misfit_and_nearly_by_it(name, radius):
    link, rng = links.named(name), np.random.default_rng(0)
    for within in (2 * radius, 0.5, 0.1):
        for longest in (radius, radius / 3):
            q, worst = misfit(name, longest=longest, within=within, radius=radius), 0.0
            z = rng.uniform(-longest, longest, 400) * rng.choice([1.0, 1.0, 0.3], 400)
            for at in np.append(z, [longest, -longest]):
                w = steepness(at, within, radius, link.code)
                t = np.clip(at + within * np.append(rng.uniform(-1, 1, 30), [-1, 1]), -radius, radius)
                t = t[np.abs(t - at) > 1e-5]
                gaps = np.abs(link.mean(t) - float(link.mean(at)) - w * (t - at)) / (w * np.abs(t - at))
                worst = max(worst, float(gaps.max()))
            assert 0.75 * q - 0.01 < worst <= q


def test_lemma_1_where_slopes_are_tiny_the_misfit_is_that_of_slopes():
    for radius in (4.0, 6.0):
        q = misfit("probit", longest=radius, within=2 * radius, radius=radius)
        assert 1 < q <= math.exp(radius**2 / 2) * (1 + 1e-9)
    played = JointGLMUCB(dim=2, link="probit", radius=6.0, horizon=100, budget=Budget(1.0, 1e-6), source=Simulated(0))
    for _ in range(60):
        played.observe(played.choose([[1.0, 0.0], [0.0, 0.0]]), 1.0)
    assert np.isfinite(played.width) and played.width > 0


@pytest.mark.parametrize("name", LINKS)
def test_lemma_1_for_tangents(name):
    """|mu(t) - mu(z) - mu'(z) (t - z)| <= q mu'(z) |t - z|, q = (M c / 2) e^(M c), M = sup |mu''| / mu'."""
    shape, radius = SHAPES[name], 2.0
    m = 1.0 if name == "logistic" else radius
    z = np.linspace(-radius, radius, 201)[:, None]
    for c in (0.05, 0.3, 1.0):
        t = np.clip(z + c * np.linspace(-1, 1, 81), -radius, radius)
        far, gaps = np.abs(t - z), np.abs(shape.mean(t) - shape.mean(z) - shape.slope(z) * (t - z))
        assert np.all(gaps <= m * c / 2 * math.exp(m * c) * shape.slope(z) * far + 1e-12)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("radius", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("wide", [1.0, 2.5])
def test_lemma_2_no_two_users_are_farther_apart_than_the_sensitivity_and_some_nearly_are(name, radius, wide):
    user = contribution(name, radius)
    user = contribution(name, radius, scale=wide * user.scale)
    rng, best = np.random.default_rng(1), 0.0

    def apart(p):
        """Both users, the public estimate and how near it is."""
        theta, rows = p[4:6] * radius / max(1.0, np.linalg.norm(p[4:6])), []
        for x, r in ((p[0:2], p[6]), (p[2:4], p[7])):
            out = np.zeros(user.size)
            user.add(x, r, theta, 2 * radius * min(1.0, abs(p[8])), out)
            rows.append(out)
        return -float(np.linalg.norm(rows[0] - rows[1]))

    for _ in range(25):
        start = np.concatenate([rng.standard_normal(6) * 1.5, rng.choice([-1.0, 2.0], 2), rng.uniform(0, 1, 1)])
        found = minimize(apart, start, method="Nelder-Mead", options={"maxiter": 120})
        best = max(best, -found.fun, -apart(start))
    assert best <= user.sensitivity * (1 + 1e-9)
    assert radius > 1 or best > 0.85 * user.sensitivity  # for larger ones opposite responses are never both long


def test_lemma_2_a_scale_that_the_proof_does_not_cover_is_refused():
    with pytest.raises(ValueError, match="a scale of at least"):
        contribution("logistic", 1.0, scale=0.1)


def people(rng, radius, n, dim=3):
    theta, x = rng.standard_normal(dim), rng.standard_normal((n, dim))
    return radius * theta / np.linalg.norm(theta), x / np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]


def test_lemmas_3_and_6_what_is_left_over_of_lines_is_bounded_by_past_errors():
    """|R|_{A^-1} <= sqrt(sum q^2 |d|^2_H) for random users, estimates and steps; a search nearly attains it."""
    rng, closest = np.random.default_rng(2), 0.0
    link, radius = links.named("logistic"), 1.5
    for trial in range(60):
        theta, dim = people(rng, radius, 1)[0], 3
        gram, left, squares = np.zeros((dim, dim)), np.zeros(dim), 0.0
        for _ in range(rng.integers(1, 6)):
            at, n = people(rng, rng.uniform(0, radius), 1)[0], int(rng.integers(1, 20))
            x = people(rng, radius, n)[1] if trial % 2 else np.repeat(people(rng, radius, 1)[1], n, axis=0)
            z, t = x @ at, x @ theta
            q = misfit("logistic", longest=float(np.linalg.norm(at)), within=float(np.abs(t - z).max()), radius=radius)
            within = float(np.abs(t - z).max())
            w = np.array([steepness(float(one), within, radius, link.code) for one in z])
            part = (x * w[:, None]).T @ x
            gram += part
            left += ((link.mean(t) - link.mean(z) - w * (t - z))[:, None] * x).sum(axis=0)
            squares += q**2 * (theta - at) @ part @ (theta - at)
        matrix = gram + 1e-6 * np.eye(dim)
        norm = math.sqrt(left @ np.linalg.solve(matrix, left))
        assert norm <= math.sqrt(squares) * (1 + 1e-9) + 1e-12
        closest = max(closest, norm / math.sqrt(squares))
    assert closest > 0.5


def test_lemma_4_the_potential_is_never_exceeded_and_nearly_attained():
    rng, closest = np.random.default_rng(3), 0.0
    for dim in (1, 2, 5):
        bandit = JointGLMUCB(dim=dim, horizon=10**4, budget=Budget(1.0, 1e-6), source=Simulated(0))
        m, floor = bandit.contribution.link.steepest, bandit.bounds.floor
        for trial in range(40):
            longest, matrix, total, choices = float(rng.choice([5, 50, 2000])), floor * np.eye(dim), 0.0, 0.0
            for step in range(int(rng.integers(1, 60))):
                n = longest if trial % 2 else rng.uniform(0, longest)
                axis = np.eye(dim)[step % dim] if trial % 3 else np.linalg.qr(rng.standard_normal((dim, dim)))[0][0]
                part = m * n * np.outer(axis, axis)
                total += float(np.trace(np.linalg.solve(matrix, part)))
                matrix, choices = matrix + part, choices + n
            bound = potential(dim, m / floor * choices, m / floor * longest)
            assert total <= bound * (1 + 1e-9)
            closest = max(closest, total / bound)
    assert closest > 0.9


def test_lemma_5_a_projection_moves_nobody_away_who_is_in_the_ball():
    rng = np.random.default_rng(4)
    for _ in range(200):
        basis = rng.standard_normal((3, 3))
        matrix, theta = basis @ basis.T + 0.01 * np.eye(3), 3 * rng.standard_normal(3)
        found, inside = projected(theta, matrix, 1.0), rng.standard_normal(3)
        inside *= rng.uniform(0, 1) / np.linalg.norm(inside)
        before, after = theta - inside, found - inside
        assert np.linalg.norm(found) <= 1 + 1e-9
        assert after @ matrix @ after <= before @ matrix @ before * (1 + 1e-6)


# what is not so


def test_a_constant_discount_at_each_directional_doubling_lets_the_directions_take_turns_for_ever():
    """Criterion II closes a period when some direction has doubled. With a constant discount at each closing the number
    of periods, and of users who have to explore, grows like T where contexts take turns; without, like log T; and so
    again with a discount of 1 - 1 / (2 d)."""

    def periods(discount, rounds, dim=4, start=10.0, small=0.05):
        """(closings, rounds whose arm was uncertain: |x|^2_{A^-1} >= small)."""
        matrix, since, closings, uncertain, turn = np.full(dim, start), np.full(dim, start), 0, 0, 0
        for _ in range(rounds):
            uncertain += 1 / matrix[turn] >= small
            matrix[turn] += 1.0
            if matrix[turn] > 2 * since[turn]:
                matrix = np.maximum(discount * matrix, start)
                since, closings, turn = matrix.copy(), closings + 1, (turn + 1) % dim
        return closings, uncertain

    short, long = periods(0.5, 4000), periods(0.5, 16_000)
    assert long[0] > 3.8 * short[0] > 300 and long[1] > 3.8 * short[1] > 100
    for discount in (1.0, 1 - 1 / 8):
        short, long = periods(discount, 4000), periods(discount, 16_000)
        assert long[0] < 1.5 * short[0] < 150 and long[1] == short[1] < 150


def test_tangents_from_far_away_overshoot_so_that_one_pass_does_not_settle():
    """One direction, no noise, rewards at their means, new people in each step, |theta*| <= S = 8: with tangents at 0,
    then at what follows, the estimate leaves for the other end and comes back, and the remainder is never smaller than
    the error that it came from: a tangent's misfit there is far above 1. With lines of joint.secant it settles."""
    shape, truth, radius = SHAPES["logistic"], 2.0, 8.0

    def far(slope, steps=40):
        theta, curvature, moment = -4.0, 1e-9, 0.0
        for step in range(steps):
            w, n = slope(theta), 1.3**step
            curvature += n * w
            moment += n * (float(shape.mean(np.array(truth)) - shape.mean(np.array(theta))) + w * theta)
            theta = min(max(moment / curvature, -radius), radius)
        return abs(theta - truth)

    assert far(lambda theta: float(shape.slope(np.array(theta)))) > 1.0
    assert far(lambda theta: steepness(theta, 2 * radius, radius, links.named("logistic").code)) < 0.1
    tangent = float(shape.slope(np.array(-4.0)))
    assert abs(float(shape.mean(np.array(truth)) - shape.mean(np.array(-4.0))) / 6.0 - tangent) / tangent > 5
