"""Random worlds: settings that a number fixes for good, and worlds that are as their settings say."""

import numpy as np
import pytest

from core_tests.environments.test_environments import filled
from reticent import Budget, JointGLM, LinUCB, Spec, simulate
from reticent.environments.curve_kernel import Curve, to_means
from reticent.model import arms, links
from reticent_lab.environments.random import random

SOME = range(0, 100, 7)


def rounds(number, count=400, seed=0, size=None, horizon=10_000, **options):
    world = random(**{"number": number, "disjoint": True} | options)
    return world, filled(world, count, seed, size, horizon)


def test_settings_are_in_their_ranges_and_of_every_kind():
    """Shares of 300 draws, within five standard errors of 3 points."""
    assert [*random.TUNING, *random.VALIDATION, *random.REPORTING] == list(range(300))
    found = [random(number=number).setting for number in range(300)]
    for low, high, name in (
        (2, 50, "arms"), (1, 30, "features"), (500, 100_000, "horizon"), (0.005, 0.5, "rate"),
        (0.3, 1.2, "strength"),
    ):  # fmt: skip
        values = [getattr(each, name) for each in found]
        assert low <= min(values) <= low * 1.2 and high / 1.2 <= max(values) <= high
    for share, kind in (
        (0.5, lambda each: each.schema), (0.3, lambda each: each.delay is not None),
        (0.25, lambda each: each.drift > 0), (0.5, lambda each: each.wrong != ""),
        (0.6, lambda each: each.link == "logistic"), (1 / 3, lambda each: each.alike == 0.9),
        (1 / 3, lambda each: each.irrelevant == 0.6),
    ):  # fmt: skip
        assert abs(np.mean([kind(each) for each in found]) - share) < 0.15


def test_a_number_means_the_same_for_good():
    """Else worlds for reporting would be new ones, or ones that were tuned on."""
    world = random(number=17)
    assert (world.arms, world.dim, world.horizon, world.link, world.radius) == (10, 100, 8660, "logistic", 1.7)
    assert world.setting.rate == pytest.approx(0.0657, abs=1e-4)
    assert list(world.features.context) == ["field 0", "field 1", "field 2"]
    late = random(number=24)
    assert (str(late.delay), late.setting.wrong, late.setting.drift) == ("lognormal:13/1", "interaction", 0.5)
    other = random(number=12, link="identity", radius=2.0)
    assert (other.features, other.blocks, other.dim, other.link, other.radius) == (None, None, 19, "identity", 2.0)


@pytest.mark.parametrize("number", SOME)
def test_worlds_are_as_their_settings_say(number):
    world, (rows, means, _) = rounds(number, 2000)
    own = slice(0, world.dim // (world.blocks or 1))
    assert np.linalg.norm(rows[:, :, own], axis=2).max() <= 1 + 1e-12
    assert means.min() >= 0 and means.max() <= 1
    assert means.max(axis=1).mean() > means.mean()  # there is something to gain
    assert world.rewards == (0.0, 1.0)
    rates = [rounds(number, 300, seed, horizon=10**6)[1][1].mean() for seed in range(12)]
    assert np.mean(rates) == pytest.approx(world.setting.rate, rel=0.2)
    if world.features is not None:
        assert world.dim == world.features.dim == world.arms * world.setting.features <= 150
        assert (rows[:, :, -1] == np.arange(world.arms)).all()
        size, labels = world.dim // world.arms, world.features.labels
        for name, field in world.setting.fields.items():
            at = next(i for i in range(size) if labels[i].startswith(f"action 0: {name}="))
            made = {tuple(world.features.placed({name: v})[1][0, at : at + field.column.size]) for v in field.values}
            assert {tuple(z) for z in rows[:, 0, at : at + field.column.size]} <= made


@pytest.mark.parametrize("number", SOME)
def test_a_world_is_the_same_in_any_form_and_however_it_is_cut(number):
    world, (rows, means, noise) = rounds(number)
    _, cut = rounds(number, size=100)
    assert all((one == other).all() for one, other in zip(cut, (rows, means, noise), strict=True))
    vectors, whole = rounds(number, disjoint=False)
    assert (whole[1] == means).all() and vectors.blocks is None
    if world.blocks:
        assert (whole[0] == [arms.whole(row, world.dim, world.arms) for row in rows]).all()
    assert not (rounds(number, seed=1)[1][1] == means).all()
    turned = rounds(number, horizon=20_000)[1][1]
    assert (turned == means).all() == (world.setting.drift == 0) and np.allclose(turned[0], means[0], atol=0.01)


def test_bent_means_follow_no_link_and_interactions_no_sum():
    scores = np.linspace(-2, 2, 50)[None]
    to_means(Curve(offset=-1.0, bend=0.7), links.LOGISTIC, scores)
    assert (np.diff(scores) > 0).any() and (np.diff(scores) < 0).any()
    straight = np.linspace(-2, 2, 50)[None]
    to_means(Curve(offset=-1.0), links.LOGISTIC, straight)
    assert (np.diff(straight) > 0).all()
    number = next(n for n in random.TUNING if random(number=n).setting.wrong == "interaction" and n > 50)
    residuals = []
    for other in (number, next(n for n in random.TUNING if not random(number=n).setting.wrong)):
        drawn = random(number=other).setting
        world, (rows, means, _) = rounds(other, 3000, horizon=10**9)
        x = np.column_stack([np.ones(3000), rows[:, 0, :-1] if world.blocks else rows[:, 0]])
        odds = links.named(drawn.link)
        z = means[:, 0] if drawn.link == "identity" else _inverse(odds, means[:, 0])
        left = z - x @ np.linalg.lstsq(x, z, rcond=None)[0]
        residuals.append(left.std() / z.std())
    assert residuals[0] > 0.2 > 1e-6 > residuals[1]


def _inverse(link, means):
    grid = np.linspace(-12, 12, 200_001)
    return np.interp(means, link.mean(grid), grid)


def test_bandits_play_there_with_the_delays_that_the_world_has():
    number = next(n for n in random.TUNING if random(number=n).setting.schema and random(number=n).delay)
    specs = [Spec(JointGLM, budget=Budget(1.0, 1e-6)), Spec(LinUCB)]
    result = simulate(specs, random(number=number), horizon=100, runs=1, seed=0)
    assert [row["setting"]["delay"] for row in result.rows] == [str(random(number=number).delay)] * 2


@pytest.mark.parametrize("wrong", [{"number": -1}, {"number": 1.5}, {"number": 0, "dim": 3}, {"number": 0, "arms": 3}])
def test_bad_settings(wrong):
    with pytest.raises(ValueError, match="Expected"):
        random(**wrong)
