"""JointGLM's algorithm as a value: pure functions, and batches of contributions as one after the other."""

import dataclasses
import functools

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from numpy.random import default_rng

from core_tests import disjoint
from core_tests.made import joint
from reticent import Budget, Holdout, Secure, Simulated
from reticent.core.onepass import View
from reticent.features import Category, Number, Schema
from reticent.mechanisms.opening import opened
from reticent.model.glm import add_glm
from reticent.model.holdout import add_groups
from reticent.model.scores import ScoreContribution, add_score
from reticent.model.vectors import pair_size
from reticent.models import beside
from reticent.models.centred import CentredContribution, add_centred
from reticent.models.fields import FieldContribution, add_fields
from reticent.models.protocol import Compiled

BUDGET = Budget(4.0, 1e-3)
DENSE, BLOCKS = {"features": 3}, {"features": disjoint.schema(3), "model": "curvature"}
GROUPS = {"holdout": Holdout(policy="uniform", share=0.5), "window": 3, "default": 0.0}
LAYOUTS = {"dense": DENSE, "blocks": BLOCKS}
FORMS = {
    f"{layout}{kind}": options | more
    for layout, options in LAYOUTS.items()
    for kind, more in {
        "": {},
        "-holdout": GROUPS,
        "-scores": {"model": "scores"},
        "-scores-holdout": {"model": "scores"} | GROUPS,
    }.items()
} | {
    "dense-pairs": DENSE | GROUPS | {"holdout": Holdout(policy="uniform", share=0.5, actions=(0, 1))},
    "identity": DENSE | {"link": "identity", "range": (-1, 2)},
    "large": {"features": 70, "model": "curvature"},
}
forms = pytest.mark.parametrize("options", FORMS.values(), ids=FORMS)
SCHEMA = Schema(context={"way": Number(-1, 1), "on": Category("a", "b")}, arms="disjoint", actions=("p", "q", "r"))
ADDED = FORMS | {
    "base rate": DENSE | {"base_rate": 0.2},
    "fields": {"features": SCHEMA},
    "fields-holdout": {"features": SCHEMA, "base_rate": 0.2} | GROUPS,
}
added = pytest.mark.parametrize("options", ADDED.values(), ids=ADDED)


def made(source=Simulated, **options):
    made = source(1) if source is Simulated else source()
    return joint(budget=BUDGET, first=7, source=made, policy=default_rng(8), **options)


def arms(of, rng, count):
    """(count, width) rows of norm below 1."""
    plan = of.plan
    out = rng.uniform(-0.5, 0.5, (count, plan.width)) / np.sqrt(plan.width)
    if plan.blocks > 1:
        out[:, -1] = rng.integers(plan.blocks, size=count)
    return out


def asked(of, rng):
    """What `choose` takes."""
    return arms(of, rng, 3) if of.plan.blocks == 1 else {"x0": rng.uniform(-1, 1)}


def estimator(of, steps=3, seed=0):
    """An estimate after some releases of noise."""
    live, out, rng = np.arange(of.plan.blocks), of.blank(np.arange(of.plan.blocks)), default_rng(seed)
    for step in range(1, steps + 1):
        out = of.estimate(out, 5 * rng.normal(size=of.plan.mechanism.size), step, live)
    return out


def kept(of, rng, count):
    """Rows as they are kept of choices, and rewards; some never came."""
    rows, shown = np.empty((count, of.plan.row)), View(of, of.blank(np.arange(of.plan.blocks)), rng)
    for i in range(count):
        offered = arms(of, rng, 3)
        rows[i] = opened(shown.row(offered, 1, 1, None, ()))
    low, high = of.plan.reward.range
    rewards = low + (high - low) * rng.random(count)
    rewards[::5] = np.nan
    return rows, rewards


def reference(of, estimate, row, y):
    """One contribution, by the formulas in plain Python: a whole vector."""
    out, c, q = np.zeros(of.plan.mechanism.size), learnt(of), of.plan.dim // of.plan.blocks
    block = int(row[q]) if of.plan.blocks > 1 else 0
    x, now, low, high = row[:q], estimate.arrays, c.low, c.high
    if isinstance(c, ScoreContribution):
        add_score(x, y, now.centre, block * q, c.link.code, low, high, out)
    elif isinstance(c, CentredContribution):
        add_centred.py_func(x, y, c.skip, c.longest, c.centre, c.scale, low, high, out[: c.size])
    elif isinstance(c, FieldContribution):
        signed = np.concatenate([part.signed for part in SCHEMA.own])
        numbers = c.constant, c.swing, c.centre, c.count, c.scale, low, high
        add_fields.py_func(x, y, signed, *numbers, out[: c.size].reshape(of.plan.blocks, -1)[block])
    else:
        theta, inverse = now.theta.reshape(-1, q)[block], now.inverse.reshape(-1, q, q)[block]
        own = np.zeros(pair_size(q))
        add_glm(x, y, theta, inverse, c.link.code, c.blend, c.scale, low, high, own)
        out[c.part(block)] = own
    if of.plan.groups is not None:
        groups, tail = of.plan.groups, row[of.plan.width :]
        out[: c.size] *= add_groups(tail, y, groups.weights, groups.part, groups.low, groups.high, out[c.size :])
    return out


def learnt(of):
    return of.learnt.contribution


@added
def test_a_batch_of_floats_is_row_after_row(options):
    of = made(**options).one_pass
    estimate = estimator(of)
    rows, rewards = kept(of, default_rng(1), 25)
    adder, start = of.adder(estimate), default_rng(2).normal(size=of.plan.mechanism.size)
    found, expected = start.copy(), start.copy()
    adder.add(rows, rewards, 0.0, 0.0, found)
    for row, y in zip(rows, rewards, strict=True):
        if not np.isnan(y):
            expected += reference(of, estimate, row, y)
    assert np.array_equal(found, expected) and (found != start).sum() > of.plan.dim / 2


@added
def test_a_batch_of_cells_is_each_row_rounded(options):
    """With rows that no user can make: what would be learnt from them is left out."""
    bandit = made(Secure, **options)
    of, grid = bandit.one_pass, bandit.plan.mechanism
    estimate = estimator(of)
    rows, rewards = kept(of, default_rng(1), 25)
    rows[1, 0], rows[2, 0], rewards[3] = np.nan, np.inf, np.inf
    adder = of.adder(estimate)
    found, expected = (np.full(grid.size, 1 << 50) for _ in range(2))
    with np.errstate(invalid="ignore", over="ignore"):
        adder.add(rows, rewards, grid.cell, grid.longest, found)
        for row, y in zip(rows, rewards, strict=True):
            if not np.isnan(y):
                v, size = reference(of, estimate, row, y), learnt(of).size
                for part in (v[:size], v[size:]):
                    part[:] = np.rint(part / grid.cell) if part @ part <= grid.longest**2 else 0.0
                expected += v.astype(np.int64)
    assert np.array_equal(found, expected) and (found != 1 << 50).any()
    unchanged = found.copy()
    adder.add(rows, rewards, grid.cell, 1e-9, found)
    assert np.array_equal(found[: learnt(of).size], unchanged[: learnt(of).size])  # all are longer than that
    unchanged = found.copy()
    adder.add(rows, np.full(25, np.nan), grid.cell, grid.longest, found)
    assert np.array_equal(found, unchanged)


@pytest.mark.parametrize("name", ["dense-holdout", "blocks-scores-holdout"])
def test_what_is_learnt_is_bounded_beside_an_experiment(name):
    """By its own share of `longest`, before it is weighted. What is added for the experiment is always bounded."""
    most = {"holdout": Holdout(policy="uniform", share=0.5, budget=0.9, teach=0.9)}  # for the experiment
    of = made(**FORMS[name] | most).one_pass
    estimate, (rows, _) = estimator(of), kept(of, default_rng(1), 1)
    rows[0, of.plan.width], weight = 1, of.plan.groups.weights[1, 0]
    own = np.linalg.norm(reference(of, estimate, rows[0], 1.0)[: learnt(of).size]) / weight
    share = of.model.inner.sums.sensitivity / of.model.sums.sensitivity
    for longest, counts in ((0.999 * own / share, False), (1.001 * own / share, weight > 2)):
        found = np.zeros(of.model.sums.size, np.int64)
        of.adder(estimate).add(rows, np.ones(1), 2.0**-10, longest, found)
        assert found[: learnt(of).size].any() == counts and found[learnt(of).size :].any()


@added
def test_what_adds_is_compiled(options):
    """So that no Python sees open rows."""
    of = made(**options).one_pass
    adder = of.adder(of.blank(np.arange(of.plan.blocks)))
    if isinstance(adder, beside.BesideAdder):
        adder = adder.inner
        assert isinstance(beside.sum_groups, Dispatcher)
    assert isinstance(adder, Compiled) and isinstance(adder.sums, Dispatcher)


def arrays(value, seen=()):
    """All arrays that a value holds. seen: what it is part of, and may be part of it again."""
    if isinstance(value, np.ndarray):
        return [value]
    if any(value is one for one in seen):
        return []
    within = (*seen, value)
    if dataclasses.is_dataclass(value):
        return [one for name in vars(value) for one in arrays(getattr(value, name), within)]
    if isinstance(value, functools.partial):
        return arrays(value.args, within)
    if isinstance(value, dict):
        return arrays(tuple(value.values()), within)
    return [one for part in value for one in arrays(part, within)] if isinstance(value, tuple) else []


@forms
def test_an_estimate_is_made_anew(options):
    of = made(**options).one_pass
    live, rng = np.arange(of.plan.blocks), default_rng(3)
    for before in (of.blank(live), estimator(of)):
        was = [part.copy() for part in arrays(before)]
        released = rng.normal(size=of.plan.mechanism.size)
        given, after = released.copy(), of.estimate(before, released, before.step + 1, live)
        assert all(map(np.array_equal, arrays(before), was)) and np.array_equal(released, given)
        assert not any(np.shares_memory(one, other) for one in arrays(after) for other in (*arrays(before), released))
        assert after.step == before.step + 1 and not after.random


@forms
def test_the_algorithm_is_frozen_and_nothing_in_it_changes(options):
    bandit = made(**options, prior=(np.full(made(**options).plan.dim, 0.1), 2.0))
    of, rng = bandit.one_pass, default_rng(4)
    was = [part.copy() for part in arrays(of)]
    with pytest.raises(dataclasses.FrozenInstanceError):
        of.gains = 2.0
    for _ in range(40):
        bandit.observe(bandit.choose(asked(of, rng)), 1.0)
    assert bandit.one_pass is of and bandit.sums.steps > 3 and all(map(np.array_equal, arrays(of), was))


@forms
def test_a_choice_holds_its_estimate(options):
    """Later releases, and compiled loops, do not change the propensity of an earlier choice."""
    one, other = made(**options), made(**options)
    rng = default_rng(5)
    offered = [asked(one.one_pass, rng) for _ in range(60)]
    choices = [(bandit, [bandit.choose(given) for given in offered[:20]]) for bandit in (one, other)]
    early = [choice.propensity for choice in choices[0][1]]
    for given in offered[20:]:
        other.choose(given)
    assert [choice.propensity for choice in choices[1][1]] == early


def test_only_nothing_is_random():
    given = made(features=3, prior=([0.1, 0.2, 0.3], 2.0)).one_pass
    of, live = made(features=3).one_pass, np.arange(1)
    assert of.blank(live).random and not given.blank(live).random
    assert not of.estimate(of.blank(live), np.ones(of.plan.mechanism.size), 0, live).random


def test_a_release_counts_once_for_other_blocks():
    """The average of estimates by scores is over releases, however often one is asked for."""
    of = made(**BLOCKS | {"model": "scores"}).one_pass
    once, released = estimator(of), default_rng(6).normal(size=9)
    all_live, some = np.arange(3), np.array([0, 2])
    one = of.estimate(once, released, 4, some)
    other = of.estimate(one, released, 4, all_live)
    back = of.estimate(other, released, 4, some)
    assert np.array_equal(one.arrays.axes, other.arrays.axes)
    assert not np.array_equal(one.arrays.theta, other.arrays.theta)
    assert all(map(np.array_equal, one.arrays, back.arrays))


def test_a_prior_adds_its_noise():
    of = made(features=3).one_pass
    more = of.after(7.0)
    assert more.course.std(0) == pytest.approx(7.0) and of.course.std(0) == 0.0
    fading = of.plan.mechanism.fading
    assert more.course.std(2) == pytest.approx(np.hypot(of.course.std(2), 7.0 * fading**2))


@forms
def test_the_plan_is_what_the_bandit_says(options):
    most = None if "holdout" in options else 2
    bandit = made(Secure, **options, rounds=most)
    plan = bandit.plan
    assert len(plan.releases(4)) == 1 and plan.releases(0) == ()
    assert plan.releases(plan.mechanism.leaves) == bandit.privacy.releases and plan.limits.most == most
    assert most is None or plan.person.rounds == most
    assert plan.row == opened(bandit.memory.tickets).features.shape[1]
    assert set(plan.caveats) <= set(bandit.privacy.caveats)
    assert plan.settings is bandit.algorithm and plan.schedule.first == 7 and plan.schedule.growth > 1
