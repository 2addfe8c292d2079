"""The theorems' regret bounds against other ways to compute them, their limits, and the papers' tables."""

import math
from pathlib import Path

import numpy as np
import pytest

from reticent import Budget, registry
from reticent.model.links import named
from reticent_lab import plain
from reticent_papers import bounds
from reticent_papers.bounds import drawn, rates
from reticent_papers.bounds import drawn as lines
from reticent_papers.joint.glm_rare_theory import theory

PAGE = Path(__file__).parents[4] / "docs" / "papers" / "bounds.md"
LOGISTIC, BUDGET = {"kappa": 20.0, "kappa_star": 4.0, "radius": 1.0}, Budget(1.0, 1e-6)


def power(of, at, factor=1.01):
    """The exponent with which a function grows there."""
    return math.log(of(at * factor) / of(at)) / math.log(factor)


# Sarmasarkar 2026


def test_j8_is_k1_with_the_widths_of_j1():
    """Theorem K.1 with beta and gamma as JointGLMRare's `theory` has them, and mu' <= 1 / kappa*."""
    for dim, horizon, epsilon, star in ((3, 5000, 1.0, 4.0), (40, 10**6, 0.2, 4.0), (5, 10**4, 8.0, 0.5)):
        budget = Budget(epsilon, 0.01)
        settings = {"dim": dim, "horizon": horizon, "budget": budget, "radius": 2.0, "kappa_star": star}
        widths = theory(**settings, link="logistic", failure=0.005)
        slow = math.sqrt(dim) * widths.width * math.sqrt(horizon / star) * math.sqrt(math.log(horizon))
        slow += widths.most_o / 8  # kappa d R^2 gamma^2 log T
        assert bounds.joint_glm_rare(**settings, kappa=widths.kappa, failure=0.005) == pytest.approx(slow)


def test_6_2_is_the_leading_part_of_j8():
    """Per sqrt T and up to the hidden factors: the same powers of d, epsilon and kappa* for a huge horizon."""
    for budget in (Budget(1e-3, 1e-6), Budget(1e9, 1e-6)):
        settings = {"horizon": 10**60, "budget": budget}

        def full(dim, settings=settings):
            return bounds.joint_glm_rare(dim=round(dim), **settings, **LOGISTIC)

        def rate(dim, settings=settings):
            return bounds.joint_glm_rare_rate(dim=round(dim), **settings, kappa_star=4.0)

        assert power(full, 10**4, 2) == pytest.approx(power(rate, 10**4, 2), abs=0.02)


def test_table_1_of_sarmasarkar():
    """sqrt(T / epsilon) for both algorithms: for long horizons and small epsilon, up to logarithms."""
    for which in (bounds.shuffle_glm, bounds.shuffle_glm_rate, bounds.joint_glm_rare):
        in_t = power(lambda t, f=which: f(dim=5, horizon=round(t), budget=Budget(0.01, 0.1), **LOGISTIC), 10**60, 1e20)
        in_e = power(lambda e, f=which: f(dim=5, horizon=10**60, budget=Budget(e, 0.1), **LOGISTIC), 1e-8)
        assert in_t == pytest.approx(0.5, abs=0.02) and in_e == pytest.approx(-0.5, abs=0.03)


def test_theorem_5_1_term_by_term():
    settings = {"dim": 7, "horizon": 1000, "kappa": 8.0, "kappa_star": 4.0, "radius": 0.5}
    root = math.sqrt(math.log(1000))
    terms = 7**1.5 * math.sqrt(250), 7**1.25 * math.sqrt(250), 49 * 10 * math.exp(1.5) * 2
    assert bounds.shuffle_glm_rate(**settings, budget=BUDGET) == pytest.approx(sum(terms) * root)
    quarter = terms[0], terms[1] * 2, terms[2] * 4 ** (2 / 3)
    assert bounds.shuffle_glm_rate(**settings, budget=Budget(0.25, 1e-6)) == pytest.approx(sum(quarter) * root)


def test_e3_has_the_powers_of_d_that_it_prints():
    """Three leading terms, each alone where the others are small, for T that swamps the third root's."""
    huge = {"horizon": 10**200, "kappa": 1e-9, "radius": 1e-9}

    def grows(star, epsilon):
        given = {"budget": Budget(epsilon, 0.4), "kappa_star": star, **huge}
        return power(lambda d: bounds.shuffle_glm(dim=round(d), **given), 10**6, 4)

    assert grows(1e9, 4.0) == pytest.approx(1.5, abs=0.01)  # d^3/2
    assert grows(1e-12, 1e-9) == pytest.approx(1.25, abs=0.04)  # d (d + L)^1/4, and a logarithm
    at = {"dim": 10, "budget": Budget(1.0, 0.1), "kappa_star": 4.0}
    short = {"horizon": 10**4, "radius": 5.0}
    assert power(lambda k: bounds.shuffle_glm(kappa=k, **at, **short), 1e6) == pytest.approx(1 / 3, abs=0.01)


# Improved rate


def test_corollary_3_6_crosses_over_at_its_threshold():
    settings = {"dim": 5, "horizon": 10**8, "epsilon": 1.0}
    slow = bounds.local_online_ucb_rate(**settings)
    assert bounds.local_online_ucb_rate(**settings, eigenvalue=0.01) == pytest.approx(slow)  # T^-1/4
    assert bounds.local_online_ucb_rate(**settings, eigenvalue=0.02) == pytest.approx(slow / 2)
    for eigenvalue, goal in ((0.0, 0.75), (0.5, 0.5)):  # the first line has the powers of the second
        full = power(
            lambda t, e=eigenvalue: bounds.local_online_ucb(dim=5, horizon=round(t), budget=BUDGET, eigenvalue=e),
            10**60,
            1e20,
        )
        assert full == pytest.approx(goal, abs=0.04)  # and logarithms


def test_remark_3_7():
    """Below d T^3/5 of Chowdhury & Zhou from lambda_min of about T^-1/10 on."""
    shuffled = next(rate for rate in rates.RATES if rate.bandit == "ShuffleLinUCB")
    for horizon in (10**6, 10**10):
        edge = horizon**-0.1 / math.sqrt(5)
        for factor, better in ((0.9, False), (1.1, True)):
            local = bounds.local_online_ucb_rate(dim=5, horizon=horizon, epsilon=1.0, eigenvalue=edge * factor)
            assert (local < shuffled.value(d=5, T=horizon)) == better


def test_e1_covers_its_epochs():
    """The sum over epochs 1, 2, 4, ... of their own bounds is at most 2^(5/8) / (2^(5/8) - 1) times the last."""
    total, log = 0.0, math.log(2**20) ** 1.5
    for m in range(20):
        total += log * math.sqrt(5) * ((2**m) ** 0.75 + (2**m) ** 0.625)
    whole = bounds.local_anytime_ucb(dim=5, horizon=2**20, epsilon=1.0)
    assert whole / 3 < total < whole * 2**0.625 / (2**0.625 - 1)


def test_theorem_4_1_by_hand_and_at_its_edge():
    settings = {"dim": 4, "horizon": 2**24, "epsilon": 2.0}  # T^-1/8 = 1/8
    assert bounds.local_combiner(**settings, eigenvalue=0.125) == pytest.approx(2 * 2**12 * 64 / 2)
    assert bounds.local_combiner(**settings, eigenvalue=0.1249) == pytest.approx(2 * (2**20 + 2**17 / 2))


# Chen et al. 2025


def test_proposition_3_1_has_its_worst_eigenvalue():
    """min(1 / (lambda (epsilon T)^2), lambda) is largest at lambda = 1 / (epsilon T); local: 1 / (epsilon sqrt T)."""
    grid = np.geomspace(1e-8, 1, 161)
    for model, worst in (("joint", 1e-5), ("local", 10**-2.5)):
        values = [bounds.regression_lower(model=model, eigenvalue=g, rounds=10**5, budget=BUDGET) for g in grid]
        at = grid[int(np.argmax(values))]
        assert worst / 4 <= at <= worst * 4 and 1e-3 * worst < max(values) <= worst * 1.01
    strict = bounds.regression_lower(model="joint", eigenvalue=1e-3, rounds=10**5, budget=Budget(1.0, 0.0))
    theta = 2 / 3  # over epsilon T lambda
    assert strict == pytest.approx(math.exp(-2) * theta**2 / 8 / (1e-3 * 1e10), rel=1e-3)


def test_a_private_mean_is_above_proposition_3_1():
    """The best that we know: the sum of phi y with Laplace noise of scale 2 / epsilon, over lambda T, clipped."""
    rng, rounds, eigenvalue, epsilon = np.random.default_rng(0), 1000, 0.5, 0.05
    budget = Budget(epsilon, 0.0)
    lower = bounds.regression_lower(model="joint", eigenvalue=eigenvalue, rounds=rounds, budget=budget)
    errors = []
    for theta in (-1.0, 0.0, 0.5):
        plus = rng.binomial(rounds, eigenvalue * (1 + theta) / 2, 4000)
        minus = rng.binomial(rounds, eigenvalue * (1 - theta) / 2, 4000)
        estimate = np.clip((plus - minus + rng.laplace(0, 2 / epsilon, 4000)) / (eigenvalue * rounds), -1, 1)
        errors.append(eigenvalue * np.mean((estimate - theta) ** 2))
    assert lower < max(errors) < 3000 * lower  # 8 / .0075: what the two constants leave between them


def test_theorems_5_1_and_5_3_cross_and_table_1_of_chen():
    """Privacy is for free once T is above sigma^2 (1 + sqrt d)^2; powers as in Table 1, with d_A = d or 1."""
    dim, sigma = 9, math.sqrt(2 * math.log(1.25e6))
    free = {"dim": dim, "budget": Budget(math.inf, 1e-6)}
    for factor, ratio in ((0.25, 3.0), (1.0, 2.0)):
        horizon = math.ceil(factor * (sigma * 4) ** 2)
        private = bounds.joint_reweighted(dim=dim, horizon=horizon, budget=BUDGET)
        assert private / bounds.joint_reweighted(horizon=horizon, **free) == pytest.approx(ratio, rel=0.02)
    table = {rate.bandit: rate for rate in rates.RATES}
    big, small = 10**8, 10**4
    for name, of in (("JointReweighted", bounds.joint_reweighted), ("LocalReweighted", bounds.local_reweighted)):
        mine = of(dim=big, horizon=10**30, budget=BUDGET) / of(dim=small, horizon=10**30, budget=BUDGET)
        listed = table[name].value(d=big, T=1e30) / table[name].value(d=small, T=1e30)
        assert mine == pytest.approx(listed, rel=0.05)
    few = bounds.joint_reweighted_linear(dim=7, arms=2, horizon=10**12, budget=BUDGET, spanned=1)
    assert few == pytest.approx(math.sqrt(7e12 * math.log(2)), rel=0.01)  # sqrt(d T), as without privacy


def test_theorem_6_4_and_proposition_6_1():
    for model, goal in (("joint", 0.75), ("local", 5 / 6)):
        of = lambda t, m=model: bounds.square_cb(model=m, arms=4, horizon=round(t), budget=BUDGET)  # noqa: E731
        assert power(of, 10**40, 10.0) == pytest.approx(goal, abs=1e-3)
        assert bounds.square_cb(model=model, arms=16, horizon=100, budget=BUDGET) == pytest.approx(2 * of(100))
    assert bounds.dimension_free_rounds(model="joint", dim=1000, norm=2.0, budget=Budget(0.5, 0.0)) == 500
    assert bounds.dimension_free_rounds(model="local", dim=1000, norm=2.0, budget=Budget(0.5, 0.01)) == 100


# all of them


@pytest.mark.parametrize("name", list(drawn.BOUNDS))
def test_bounds_grow_with_the_horizon_and_the_dimension_and_fall_with_epsilon(name):
    bound = drawn.BOUNDS[name]
    problem = lines.Problem(named("identity" if bound.linear else "logistic"), 4, 6, 1.0, BUDGET)

    def value(horizon=10_000, **changes):
        return bound.value(problem._replace(**changes), horizon)

    assert value() < value(horizon=40_000)
    assert value() < value(dim=9) or "square-cb" in name
    assert value(budget=Budget(4.0, 1e-6)) <= value() < value(budget=Budget(1e-3, 1e-6))
    scaled = value(constant=0.5)
    assert scaled == (value() if bound.explicit else pytest.approx(value() / 2))


def test_a_line_is_the_function_and_says_where_it_ends():
    problem = lines.Problem(named("probit"), 3, 20, 2.0, Budget(1.0, 0.02))
    line = lines.line("glm-lower", problem, 5000)
    assert line.at[-1] == 5000 and line.lower and "at the end" in line.label
    expected = [
        bounds.glm_lower(named("probit"), dim=3, horizon=t, radius=2.0, budget=Budget(1.0, 0.02)) for t in line.at
    ]
    assert line.values == expected
    with pytest.raises(ValueError, match="Expected linear rewards"):
        lines.line("joint-square-cb", problem, 5000)
    with pytest.raises(ValueError, match="Expected epsilon below 5"):
        lines.line("shuffle-glm", problem._replace(budget=Budget(8.0, 0.02)), 5000)


def test_the_page_has_the_table_and_every_bound():
    text = PAGE.read_text()
    assert rates.markdown() in text
    assert {rate.bandit for rate in rates.RATES if rate.bandit} <= set(registry.algorithms())
    for name in drawn.BOUNDS:
        assert f"`{name}`" in text, name
    for name in bounds.__all__:
        assert f"`{name}`" in text, name


SQUARES = ("JointSquareCB", "LocalSquareCB")
BOUNDS = [(name, "") for name in ("JointGLMRare", "JointReweighted", "LocalReweighted", "LocalAnytimeUCB", *SQUARES)]
BOUNDS += [("LocalCombiner", ""), ("JointGLMRare", "-rate"), ("ShuffleGLM", "-rate"), ("LocalOnlineUCB", "-rate")]


@pytest.mark.parametrize(("bandit", "of"), [(name, registry.kebab(name) + kind) for name, kind in BOUNDS])
def test_rates_are_those_of_the_theorems(bandit, of):
    """Growth in T, d and epsilon, where T swamps what grows more slowly, up to logarithms."""
    bound, rate = drawn.BOUNDS[of], next(rate for rate in rates.RATES if rate.bandit == bandit)
    link = named("identity" if bound.linear else "logistic")

    def theorem(T=1e90, d=1e4, ε=0.01):
        return bound.value(lines.Problem(link, round(d), 10**9, 1.0, Budget(ε, 0.1), eigenvalue=0.5), round(T))

    def listed(T=1e90, d=1e4, ε=0.01):
        sizes = {"κ": plain.kappa(link, 1.0), "κ*": 1 / link.steepest, "λ": 0.5, "S": math.e, "K": 1e9}
        return rate.value(T=T, d=d, ε=ε, **sizes)

    for name, at, factor in (("T", 1e90, 1e10), ("d", 1e4, 100.0), ("ε", 0.01, 0.1)):
        grows = [power(lambda value, f=f, n=name: f(**{n: value}), at, factor) for f in (theorem, listed)]
        assert grows[0] == pytest.approx(grows[1], abs=0.03), name


def test_how_a_rate_is_written():
    rate = rates.Rate("", "joint", "", ({"d": 0.75, "T": 0.5}, {"S": 3.0, "κ": 1 / 3, "ε": -2 / 3}))
    assert str(rate) == "d^3/4 T^1/2 + e^3S κ^1/3 ε^-2/3"
    assert rate.value(d=16, T=4, ε=8) == pytest.approx(8 * 2 + 1 / 4)
