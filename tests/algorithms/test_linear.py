"""JointLinUCB's algorithm as a value: pure functions, and batches that are what one contribution after the other is."""

import dataclasses

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numpy.random import default_rng

from tacit import Budget, JointLinUCB, Secure, Simulated
from tacit.mechanisms.opening import opened
from tacit.model.linear import add_linear
from tests.algorithms.test_onepass import arms, arrays, fold, kept

BUDGET = Budget(4.0, 1e-3)
DENSE, BLOCKS = {"dim": 3}, {"dim": 6, "blocks": 3}
FORMS = {
    "dense": DENSE,
    "blocks": BLOCKS,
    "range": DENSE | {"rewards": (-1, 2)},
    "large": {"dim": 70},
}
forms = pytest.mark.parametrize("options", FORMS.values(), ids=FORMS)


def made(source=Simulated, **options):
    return JointLinUCB(
        budget=BUDGET, horizon=400, first=7, source=source(1) if source is Simulated else source(), **options
    )


def reference(of, row, y):
    """One contribution, by the formulas of model/ in plain Python: a whole vector."""
    out, c = np.zeros(of.plan.mechanism.size), of.contribution
    add_linear(row[: of.own], y, c.scale, c.low, c.high, out[c.part(int(row[of.own]) if c.blocks > 1 else 0)])
    return out


@forms
def test_a_batch_of_floats_is_row_after_row(options):
    of = made(**options).algorithm
    rows, rewards = kept(of, fold(of), default_rng(1), 25)
    adder = of.adder(fold(of))
    start = default_rng(2).normal(size=of.plan.mechanism.size)
    found, expected = start.copy(), start.copy()
    adder.each(rows, rewards, *adder.given, found)
    for row, y in zip(rows, rewards, strict=True):
        if not np.isnan(y):
            expected += reference(of, row, y)
    assert np.array_equal(found, expected) and (found != start).sum() > of.plan.dim / 2


@forms
def test_a_batch_of_cells_is_each_row_rounded(options):
    """With rows that no user can make: their whole vector is left out."""
    bandit = made(Secure, **options)
    of, grid = bandit.algorithm, bandit.mechanism
    rows, rewards = kept(of, fold(of), default_rng(1), 25)
    rows[1, 0], rows[2, 0], rewards[3] = np.nan, np.inf, np.inf
    adder = of.adder(fold(of))
    found, expected = (np.full(grid.size, 1 << 50) for _ in range(2))
    with np.errstate(invalid="ignore", over="ignore"):
        adder.cells(rows, rewards, *adder.given, grid.cell, grid.longest, found)
        for row, y in zip(rows, rewards, strict=True):
            if not np.isnan(y):
                expected += grid.encode(reference(of, row, y))
    assert np.array_equal(found, expected) and (found != 1 << 50).any()
    adder.cells(rows, rewards, *adder.given, grid.cell, 1e-9, found)
    assert np.array_equal(found, expected)  # all are longer than that
    adder.cells(rows, np.full(25, np.nan), *adder.given, grid.cell, grid.longest, found)
    assert np.array_equal(found, expected)


@forms
def test_what_adds_is_compiled_and_estimates_are_made_anew(options):
    of, rng = made(**options).algorithm, default_rng(3)
    live = np.arange(of.plan.blocks)
    for before in (of.blank(live), fold(of)):
        adder = of.adder(before)
        assert isinstance(adder.each, Dispatcher) and isinstance(adder.cells, Dispatcher)
        was, released = [part.copy() for part in arrays(before)], rng.normal(size=of.plan.mechanism.size)
        given = released.copy()
        after = of.estimate(before, released, before.step + 1, live)
        assert all(map(np.array_equal, arrays(before), was)) and np.array_equal(released, given)
        assert not any(np.shares_memory(one, other) for one in arrays(after) for other in (*arrays(before), released))
        assert after.step == before.step + 1
        assert np.isfinite(of.beliefs(after, arms(of, rng, 4), 0.9)).all()


@forms
def test_the_algorithm_is_frozen_and_nothing_in_it_changes(options):
    bandit = made(**options)
    of, rng = bandit.algorithm, default_rng(4)
    was = [part.copy() for part in arrays(of)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        of.prior_std = 2.0
    for _ in range(40):
        offered = arms(of, rng, 3)
        choice, shown = bandit.choose(offered), of.chances(bandit._estimate, offered)
        assert shown[choice.index] == choice.propensity == of.chance(bandit._estimate, offered, choice.index).value == 1
        bandit.observe(choice, 1.0)
    assert bandit.algorithm is of and bandit._steps > 3
    assert all(map(np.array_equal, arrays(of), was))


def test_a_compiled_loop_leaves_earlier_estimates_as_they_were():
    from tacit import environments

    bandit, world = made(**DENSE), environments.ball(dim=3, arms=4)
    before = bandit._estimate
    was, block = [part.copy() for part in arrays(before)], world.block(50)
    world.start(default_rng(0), 50).fill(block)
    bandit.play(block)
    assert all(map(np.array_equal, arrays(before), was)) and not np.array_equal(bandit._estimate.arrays.theta, was[0])


def test_blocks_that_are_not_live_stay_as_they_were():
    of = made(**BLOCKS).algorithm
    before, released = fold(of), default_rng(6).normal(size=of.plan.mechanism.size)
    after = of.estimate(before, released, 4, np.array([0, 2])).arrays
    assert np.array_equal(after.theta[1], before.arrays.theta[1]) and (after.theta[0] != before.arrays.theta[0]).any()
    assert np.array_equal(after.inverse[1], before.arrays.inverse[1])


def test_a_prior_adds_its_noise():
    of = made(**DENSE).algorithm
    more = of.after(7.0)
    assert more.std(0) == pytest.approx(7.0) and more.std(2) == pytest.approx(np.hypot(of.std(2), 7.0))
    assert more.regularizer.shift > of.regularizer.shift and more.confidence.drift > of.confidence.drift
    assert of.after(0.0).regularizer == of.regularizer
    assert of.after(0.0).confidence == of.confidence


@forms
def test_the_plan_is_what_the_bandit_says(options):
    bandit = made(Secure, **options, max_rounds_per_person=2)
    plan = bandit.algorithm.plan
    assert plan.releases(4) == bandit._releases(4) and plan.releases(0) == ()
    assert plan.person() == bandit._person() and plan.person().rounds == plan.limits.most == 2
    assert plan.row == opened(bandit._tickets).features.shape[1] and plan.mechanism is bandit.mechanism
    assert plan.settings["first"] == 7 and plan.settings["failure"] == 1 / 400 and "source" not in plan.settings
