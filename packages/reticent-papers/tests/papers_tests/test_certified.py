"""The proven confidence set of a JointGLM: its lemmas against the contributions' own code, and its coverage."""

import itertools
import math

import numpy as np
import pytest

from core_tests import disjoint
from core_tests.made import joint
from lab_tests.raising import raised
from reticent import Bandit, Budget, Simulated, environments
from reticent.errors import BadState
from reticent.kernels.rounds import Schedule, next_boundary
from reticent.model.glm import line, softened
from reticent.model.vectors import norm
from reticent_papers.joint.certified import Certified, Step, Trail, opened

LOOSE = Budget(4.0, 1e-3)


def follow(seed, *, link, dim=2, radius=1.0, horizon=20_000, shortest=1.0, theta=None, failure=0.1, looks=True):
    """(trail, theta*, regret) of one run; theta: where rewards come from, if not from theta*."""
    env = environments.sphere if shortest else environments.ball
    world = env(dim=dim, arms=20, radius=radius, link=link)
    bandit = joint(
        features=dim, link=link, radius=radius, budget=LOOSE, range=world.rewards, source=Simulated(seed),
        policy=np.random.default_rng(seed),
    )  # fmt: skip
    place = world.start(np.random.default_rng(10_000 + seed), horizon)
    trail, done, regret = Trail(bandit, failure=failure, shortest=shortest), 0, 0.0
    while done < horizon:
        size = next_boundary(done, *bandit.plan.schedule) - done
        block = world.block(size)
        place.fill(block)
        bandit.play(block)
        regret += float((block.means.max(axis=1) - block.means[np.arange(size), block.index]).sum())
        done += size
        if not looks:
            trail._promised = lambda *_: 0.0  # the sum of promises takes a set in each step
        trail.look()
    return trail, place.theta, regret


@pytest.mark.parametrize("link", ["logistic", "probit"])
def test_lines_of_contributions_are_as_the_lemma_says(link):
    """Random users, estimates and centres: no one beyond the bounds, and some near them."""
    rng = np.random.default_rng(5)
    radius, near = 3.0, [0.0, math.inf, math.inf]
    trail = Trail(joint(features=2, link=link, radius=radius, budget=LOOSE, source=Simulated(0)))
    user = trail.bandit.one_pass.learnt.contribution
    code, mean, blend = user.link.code, user.link.mean, user.blend
    for _ in range(40):
        theta, centre = inside(rng, radius), None
        centre = theta + inside(rng, rng.choice([0.05, 0.5, 3.0]))
        centre *= min(1, radius / np.linalg.norm(centre))
        variance = rng.choice([0.0, 0.01, 1.0])
        bound = trail._lines([Step(1, 1, np.zeros(5), 1.0, theta, variance, 0.0)], centre)
        for _ in range(60):
            towards = rng.choice([0, 1, 2])
            x = [inside(rng, 1.0), theta / np.linalg.norm(theta), centre / np.linalg.norm(centre)][towards]
            star = inside(rng, radius) if rng.random() < 0.5 else radius * x / np.linalg.norm(x)
            v, k = softened(float(x @ theta), variance * float(x @ x) * rng.random(), code)
            weight, zero = line(norm(x), v, k, 0.0, code, blend)
            u = line(norm(x), v, k, 1.0, code, blend)[1] - zero
            miss = u * norm(x) * abs(float(mean(x @ centre)) + zero / u - weight / u * (x @ centre))
            assert miss <= bound.errors[0] + 1e-9
            gap = x @ (star - centre)
            chord = float(mean(x @ star) - mean(x @ centre)) / gap if abs(gap) > 1e-6 else math.inf
            assert chord >= bound.flat * weight / u - 1e-9
            assert weight / u / (u * norm(x)) >= bound.light - 1e-9
            near[0] = max(near[0], miss / bound.errors[0] if bound.errors[0] > 0.01 else 0.0)
            near[1] = min(near[1], chord / (bound.flat * weight / u))
            near[2] = min(near[2], weight / u / (u * norm(x)) / bound.light)
    assert near[0] > 0.5 and near[1] < 1.2 and near[2] < 1.2


def inside(rng, radius):
    x = rng.standard_normal(2)
    return radius * rng.random() * x / np.linalg.norm(x)


@pytest.mark.parametrize(("link", "radius"), [("identity", 1.0), ("logistic", 1.0), ("probit", 0.5)])
def test_sets_hold_the_truth_and_are_smaller_than_the_ball(link, radius):
    """Allowed to fail in a tenth of runs; that 3 of 5 do would then have a chance of 1 %, and none does."""
    held, sizes = 0, []
    for seed in range(5):
        trail, theta, _ = follow(seed, link=link, radius=radius, looks=False)
        known = trail.certified()
        held += known.holds(theta)
        sizes.append(known.radius)
        x = np.array([0.6, -0.8])
        assert not known.holds(theta) or abs(x @ (theta - known.centre)) <= known.half_width(x)
    assert held >= 3 and np.median(sizes) < (0.5 if link == "identity" else 1.7) * radius


def test_sets_are_wrong_where_their_assumptions_are():
    """Rewards of the opposite parameter, and moments with an error of many times the noise that is said."""
    missed = [0, 0]
    for seed in range(4):
        trail, theta, _ = follow(seed, link="identity", looks=False)
        missed[0] += not trail.certified().holds(-theta)
        kept = [step.released.copy() for step in trail.steps]
        for step in trail.steps:
            step.released[-2:] *= 0.3
        missed[1] += not trail.certified().holds(theta)
        off = np.linalg.norm(kept[-1][-2:] - trail.steps[-1].released[-2:]) / trail.steps[-1].std
        assert off > 100
    assert missed == [4, 4]


@pytest.mark.full
@pytest.mark.parametrize(
    ("link", "shortest"), [("identity", 1.0), ("identity", 0.0), ("logistic", 1.0), ("probit", 0.0)]
)
def test_coverage_in_every_step(link, shortest):
    """In 50 runs each, the sets of all steps together fail in at most a tenth: more than 12 has a chance below .1 %."""
    failed = 0
    for seed in range(50):
        trail, theta, _ = follow(seed, link=link, shortest=shortest, horizon=5000, looks=False)
        steps = trail.steps
        opened = [*(s.theta for s in steps[1:]), trail._open[0]]
        for t in range(1, len(steps) + 1):
            trail.steps, trail._open = steps[:t], (opened[t - 1], 0.0, 0.0)
            if not trail.certified().holds(theta):
                failed += 1
                break
    assert failed <= 12


def test_certified_regret_is_above_the_regret_and_below_what_is_certain_anyway():
    trail, _, regret = follow(3, link="identity", horizon=40_000)
    assert regret < trail.regret < 0.6 * 2 * 40_000  # 2 is the most that one round can cost


def test_before_anything_is_released_and_what_is_refused():
    bandit = joint(features=2, budget=LOOSE, radius=2.0, source=Simulated(0))
    trail = Trail(bandit)
    first = trail.certified()
    assert first.radius == 2.0 and first.holds(np.array([0.0, 2.0])) and first.half_width(np.array([0.5, 0.0])) == 1.0
    while bandit.sums.steps < 2:
        bandit.observe(bandit.choose(np.eye(2)), 1.0)
    raised(ValueError, trail.look).match("Expected a look in every step")
    raised(ValueError, Trail, bandit).match("released nothing")
    for options, said in (
        ({"features": disjoint.schema(2)}, "dense arms"),
        ({"model": "scores"}, "curvature and moment"),
        ({"window": 5}, "without a window"),
    ):
        raised(ValueError, Trail, joint(**{"features": 4} | options, budget=LOOSE, source=Simulated(0))).match(said)
    raised(ValueError, Trail, joint(features=2, budget=LOOSE, source=Simulated(0)), failure=2.0).match("failure")


def test_an_ellipsoid():
    known = Certified(np.array([1.0, 0.0]), 3.0, np.diag([1.0, 4.0]), 2.0)
    assert known.holds(np.array([1.0, 0.99])) and not known.holds(np.array([1.0, 1.01]))
    assert known.half_width(np.array([0.0, 1.0])) == pytest.approx(1.0)
    assert known.half_width(np.array([1.0, 0.0])) == pytest.approx(2.0)


def test_secure_noise_counts_whole_cells():
    bandit = joint(features=2, budget=LOOSE, link="identity", range=(-1.0, 1.0))
    trail, rng = Trail(bandit, shortest=1.0), np.random.default_rng(0)
    for _ in range(200):
        arms = np.eye(2)[rng.permutation(2)]
        choice = bandit.choose(arms)
        bandit.observe(choice, float(np.clip(arms[choice.index] @ [0.5, -0.2] + rng.uniform(-0.4, 0.4), -1, 1)))
        trail.look()
    assert trail.steps and trail.certified().holds(np.array([0.5, -0.2]))


def in_batches(seed, sizes, *, total):
    """(trail, how many sets missed theta*, regret in closed steps) of a run whose batches have these sizes, in turn."""
    rng, theta = np.random.default_rng(seed), np.array([0.8, 0.6])
    bandit = joint(
        features=2, link="identity", range=(-1.5, 1.5), budget=Budget(50.0, 1e-6), model="curvature",
        source=Simulated(seed), policy=np.random.default_rng(seed),
    )  # fmt: skip
    trail, missed, regret, closed, turns = Trail(bandit, shortest=1.0), 0, 0.0, 0.0, itertools.cycle(sizes)
    while bandit.choices < total:
        batch = next(turns)
        arms = rng.normal(size=(batch, 2, 2))
        arms /= np.linalg.norm(arms, axis=2, keepdims=True)
        chosen = bandit.choose_many(arms)
        if bandit.sums.steps > len(trail.steps):
            came, closed = bandit.choices - batch, regret
            trail.look()
            assert sum(step.choices for step in trail.steps) == came
            missed += not trail.certified().holds(theta)
        x = arms[np.arange(batch), chosen.index]
        bandit.observe_many(chosen, np.where(rng.random(batch) < (x @ theta + 1.5) / 3, 1.5, -1.5))
        regret += float(((arms @ theta).max(axis=1) - x @ theta).sum())
    return trail, missed, closed


@pytest.mark.parametrize("sizes", [(2000,), pytest.param((1, 1, 500, 3), marks=pytest.mark.full)])
def test_sets_hold_the_truth_where_batches_are_longer_than_steps(sizes):
    """With the lengths that were planned sets miss in seven of these eight runs. One in 20 may: two of 4 have 1.4 %."""
    wrong = 0
    for seed in range(4):
        trail, missed, regret = in_batches(seed, sizes, total=30_000)
        wrong += missed > 0
        assert len(trail.steps) > 5 and trail.regret > regret
        assert any(step.choices > step.planned for step in trail.steps)
        assert trail.certified().radius < 0.5, "and still say something"
    assert wrong <= 1


def test_when_a_step_was_opened_follows_from_when_it_closes():
    for schedule in (Schedule(8.0, 1.05), Schedule(31.0, 1.5), Schedule(5.0, 1.0), Schedule(8.0, 1.2, 100.0)):
        for choices in (0, 1, 7, 99, 1000, 123_457, 10**9 + 7):
            assert opened(int(next_boundary(choices, *schedule)), schedule) == choices


def test_nothing_is_followed_of_one_of_two_bandits_from_a_file(tmp_path):
    made = joint(features=2, budget=LOOSE, first=5)
    for _ in range(5):
        made.observe(made.choose(np.eye(2)), 1.0)
    made.save(tmp_path / "b.json")
    bandit, other = (Bandit.load(tmp_path / "b.json") for _ in range(2))
    trail, late = Trail(bandit), Trail(other)
    bandit.choose(np.eye(2))
    raised(BadState, other.choose, np.eye(2)).match("budget twice")
    for read in (late.look, late.certified):
        raised(BadState, read).match("one of two")
    assert not late.steps and late.regret == 0
    trail.look()
    assert len(trail.steps) == 1 and trail.certified().radius > 0
