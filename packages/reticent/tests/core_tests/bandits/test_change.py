"""JointGLM notices by what was released that people have changed, and forgets what was before."""

import numpy as np
import pytest
from numpy.random import SeedSequence

from core_tests.bandits.test_fused import compare, stepwise
from core_tests.made import joint
from reticent import Budget, Holdout, JointGLM, Simulated, Spec, environments, simulate
from reticent.algorithms import irls
from reticent.kernels.change import ENTRIES, FORGOTTEN, LAST, SHORT, SURE, VARIANCE, WELL, Watched, notice
from reticent.kernels.rounds import Schedule
from reticent.mechanisms import leaves

PROBIT = {"radius": 3.0, "link": "probit"}
BUDGET = Budget(8.0, 0.02)
EVERY_TEN = Schedule(10.0, 1.0)


def played(world, horizon, seed, **options):
    bandit = Spec(JointGLM, **{"budget": BUDGET} | options).build(world, horizon, SeedSequence(seed))
    fill, block = world.start(np.random.default_rng(seed), horizon).fill, world.block(100)
    for _ in range(horizon // 100):
        fill(block)
        bandit.play(block)
    return bandit


def test_a_change_is_noticed_once_and_soon():
    world = environments.drift(every=600, **PROBIT)
    before, after = played(world, 600, 3), played(world, 1000, 3)
    assert before.sums.state.estimate.doubt[VARIANCE] == 0 and not before.sums.state.estimate.sums[FORGOTTEN].any()
    assert after.sums.state.estimate.doubt[VARIANCE] > 0
    cosine = before.theta @ after.theta / np.linalg.norm(before.theta) / np.linalg.norm(after.theta)
    assert cosine < -0.9  # four hundred rounds after it, six hundred are forgotten


def test_regret_where_people_change_is_a_quarter_of_what_it_was():
    row = simulate(
        [Spec(JointGLM, budget=Budget(1.0, 0.02))], environments.drift(**PROBIT), horizon=5000, runs=8, seed=4
    )
    assert row.rows[0]["regret_mean"] < 320  # 1275 before; uniform play has 2339


@pytest.mark.parametrize(
    "world", [environments.ball(dim=3, arms=20, **PROBIT), environments.basis(dim=5, arms=5, **PROBIT)]
)
def test_where_nothing_changes_nothing_is_noticed(world):
    """40 runs of 4000 rounds, some 5000 looks, of fixed seeds."""
    for seed in range(40):
        bandit = played(world, 4000, seed, budget=Budget(1.0, 0.02))
        assert bandit.sums.state.estimate.doubt[VARIANCE] == 0 and not bandit.sums.state.estimate.sums[FORGOTTEN].any()


def test_what_is_simulated_is_what_is_served():
    spec = Spec(JointGLM, budget=Budget(50.0, 0.1), first=5)
    world = environments.drift(every=150, **PROBIT)
    compare(spec, world)  # 300 rounds, to the last bit
    bandit = spec.build(world, 300, SeedSequence(1))
    fill, block = world.start(np.random.default_rng(2), 300).fill, world.block(300)
    fill(block)
    stepwise(bandit, block)
    assert bandit.sums.state.estimate.doubt[VARIANCE] > 0  # a change was noticed on the way


def test_who_reads_the_same_releases_notices_the_same():
    """As a worker does that begins later; and as often as it likes."""
    bandit = joint(features=2, radius=3.0, budget=Budget(50.0, 0.1), first=5, source=Simulated(1))
    rng, releases = np.random.default_rng(2), []
    for t in range(600):
        choice = bandit.choose(rng.uniform(0.2, 0.7, (3, 2)))
        if bandit.sums.steps > len(releases):
            releases.append(leaves.part(bandit.sums.state.prefix.released, slice(None)))
        bandit.observe(choice, float(rng.random() < (0.9 if t < 400 else 0.1)))
    assert bandit.sums.state.estimate.doubt[VARIANCE] > 0
    of, live = bandit.one_pass, bandit.sums.estimator.live
    estimate = of.blank(live)
    for step, released in enumerate(releases, start=1):
        for _ in range(2):
            estimate = of.estimate(estimate, released, step, live)
    assert all(np.array_equal(*each) for each in zip(estimate.arrays, bandit.sums.state.estimate, strict=True))


def test_who_forgets_anyway_does_not_look():
    bandit = joint(features=3, budget=BUDGET, forget=1000)
    assert bandit.sums.state.estimate.sums.size == bandit.sums.state.estimate.rest.size == 0


def watched(theta, unsure=1e-9):
    one = irls.prior(len(theta), 3.0)
    one.theta[:] = theta
    one.inverse[:] = np.eye(len(theta)) * unsure
    size = len(theta) * (len(theta) + 3) // 2
    return Watched(*one, np.zeros((3, size)), np.append(-1.0, np.zeros(6)), leaves.nothing(size))


def sums_of(people, theta, short):
    """Released sums (A, b) of people who look along the first axis, whose rewards are `short` less than foretold."""
    out = leaves.nothing(5)
    out[0] = 0.2 * people
    out[3] = 0.2 * people * theta[0] - short
    return out


def told(shorts, std=2.0, discount=1.0, unsure=1e-9):
    theta = np.array([2.0, 0.0])
    at, released = watched(theta, unsure), leaves.nothing(5)
    for step, short in enumerate(shorts, start=1):
        released = leaves.part(discount * released + sums_of(10, theta, short), slice(None))
        noise = notice(released, step, EVERY_TEN, discount, 1.0, 1.0, std, at)
    return at, released, noise


def test_what_is_short_adds_up_until_it_cannot_be_chance():
    """Ten people a step, 8 of whose rewards are missing from some step on: 6.5 a step count, less what is usual,
    which grows from 0; and chance is 5 sqrt(2 * 4 * (1 + 2^2) + n / 4) for n people."""
    few, total = 0, 0.0
    while total <= SURE * np.sqrt(40 + 10 * few / 4):
        total += 6.5 - 8.0 * few / (300 + few)
        few += 1
    assert few == 6
    at, released, noise = told([0.0] * 300 + [8.0] * (few - 1))
    assert at.doubt[SHORT] > 30 and noise == 2.0 and np.array_equal(at.rest, released)
    at, released, noise = told([0.0] * 300 + [8.0] * few)
    assert at.doubt[SHORT] == 0 and noise == pytest.approx(2.0 * np.sqrt(2))
    own = np.sum([sums_of(10, at.theta, 8.0) for _ in range(few)], axis=0)
    assert np.allclose(at.rest, own) and np.allclose(at.sums[FORGOTTEN], released - own)
    assert at.doubt[ENTRIES] == 10 * (300 + few)


def test_the_people_of_a_step_are_counted_as_it_closes():
    """Steps close at multiples of a holdout's block: 14 people, where `first` says 10."""
    holdout = Holdout(action=0, share=1 / 7)
    options = {"first": 10, "window": 5, "default": 0.0, "source": Simulated(1)}
    bandit, rng = joint(features=2, budget=BUDGET, holdout=holdout, **options), np.random.default_rng(2)
    for _ in range(60):
        bandit.choose(rng.uniform(0.2, 0.7, (3, 2)))
    assert bandit.sums.state.estimate.doubt[ENTRIES] == bandit.trial_sums.looks[-1].people == 42
    at, released = watched(np.array([2.0, 0.0])), sums_of(14, [2.0, 0.0], 0.0)
    notice(released, 1, Schedule(10.0, 1.0, np.inf, 7.0), 1.0, 1.0, 1.0, 2.0, at)
    assert at.doubt[ENTRIES] == 14


def test_what_is_left_out_fades_as_it_does_in_the_sums():
    at, _, noise = told([0.0] * 300 + [8.0] * 8 + [0.0] * 20, discount=0.9)
    since = sum(0.9 ** (327 - i) * sums_of(10, at.theta, 8.0 if i < 308 else 0.0) for i in range(300, 328))
    assert np.allclose(at.rest, since)
    assert 2.0 < noise < 2.1  # of what was left out, little is in the sums any more


def test_people_who_always_answer_less_than_foretold_have_not_changed():
    """The model does not fit: half of a reward less than foretold, always. Or theta was not sure: then it may be it."""
    at, _, _ = told([5.0] * 500, std=30.0)
    assert at.doubt[VARIANCE] == 0 and at.doubt[SHORT] < 100
    at, _, _ = told([0.0] * 300 + [8.0] * 50, unsure=4.0)  # 2 * 2 * 0.2 a person
    assert at.doubt[VARIANCE] == 0


def test_the_same_release_is_looked_at_once():
    at, released, noise = told([0.0, 3.0, 4.0])
    before = [part.copy() for part in at]
    assert notice(released, 3, EVERY_TEN, 1.0, 1.0, 1.0, 2.0, at) == noise
    assert all(np.array_equal(one, other) for one, other in zip(at, before, strict=True))
    assert np.array_equal(at.sums[LAST], released) and not np.array_equal(at.sums[WELL], released)
