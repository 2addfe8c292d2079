"""With a window, a choice enters the sums once so many later ones have been made, in the order of numbers: step by
step, in compiled loops, from batches and across files, to the same bits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from core_tests import disjoint
from core_tests.made import algorithm, joint
from core_tests.mechanisms.test_grid import Given
from reticent import Bandit, Budget, Simulated
from reticent.errors import UnknownChoice
from reticent.kernels.block import GAUSSIAN_REWARD, Block
from reticent.kernels.rounds import CHOICES, ENTERED, next_boundary
from reticent.mechanisms.entering import NOBODY
from reticent.mechanisms.opening import opened
from reticent.mechanisms.saving import arrays
from serve_tests.store.places import Place

ROUNDS, ARMS = 240, 4
SETTINGS = {"budget": Budget(4.0, 1e-2), "horizon": 1000, "pending": 60, "first": 8}
APART = disjoint.schema(ARMS)
KINDS = {
    "dense": {"features": 3},
    "blocks": {"features": APART, "model": "curvature"},
    "scores": {"features": 3, "model": "scores"},
    "scores of blocks": {"features": APART, "model": "scores"},
    "base rate": {"features": 3, "base_rate": 0.05},
}


def build(name="dense", *, seed=1, **options):
    own = SETTINGS | KINDS[name] | {"source": Simulated(seed)} | options
    return joint(policy=default_rng(2), **own)


def world(bandit, rounds=ROUNDS, silent=0.3, seed=3):
    """Rounds with rewards in [0, 1], of which some never come."""
    rng = default_rng(seed)
    arms = rng.uniform(-0.5, 0.5, (rounds, ARMS, bandit.plan.width))
    if bandit.features is not None:
        arms = disjoint.rows(bandit.features, rng, rounds)
    noise = np.where(rng.random(rounds) < silent, np.nan, rng.uniform(-1, 1, rounds))
    means = rng.uniform(0.3, 0.7, (rounds, ARMS))
    out = np.zeros(rounds, np.int64), np.zeros(rounds), np.zeros(rounds)
    return Block(arms, means, noise, np.full(rounds, -1), np.array([GAUSSIAN_REWARD]), np.array([0.25]), *out)


def part(block, start, stop):
    return Block(*(each if len(each) == 1 else each[start:stop] for each in block))


def steps(bandit, block, start=0, stop=None):
    """The same through choose and observe. Returns the arms."""
    out = []
    for t in range(start, len(block.noise) if stop is None else stop):
        choice = bandit.choose(disjoint.asked(bandit, block.arms[t]))
        if not math.isnan(block.noise[t]):
            assert bandit.observe(choice, block.means[t, choice.index] + 0.25 * block.noise[t])
        out.append(choice.index)
    return out


def same(one, other):
    """All that the next choice depends on."""
    for bandit in (one, other):
        bandit.tend()  # a loop has let the last one enter already
    return all(map(np.array_equal, arrays(one.sums.state), arrays(other.sums.state))) and one.sums.steps > 2


# one rule, however it is played


@pytest.mark.parametrize("default", [None, 0.25])
@pytest.mark.parametrize("window", [1, 7, 50])
@pytest.mark.parametrize("name", KINDS)
def test_step_by_step_and_in_a_compiled_loop(name, window, default):
    loop, single = (build(name, window=window, default=default) for _ in range(2))
    block = world(loop)
    for start in range(0, ROUNDS, 80):
        loop.play(part(block, start, start + 80))
    assert steps(single, block) == block.index.tolist() and same(loop, single)
    assert loop.sums.state.counts[CHOICES] == ROUNDS and loop.sums.state.counts[ENTERED] == ROUNDS - window


@pytest.mark.parametrize("saved", [True, False])
@pytest.mark.parametrize("window", [3, 50])
@pytest.mark.parametrize("name", KINDS)
def test_across_a_file_and_from_single_calls_to_a_loop_and_back(name, window, saved, tmp_path):
    loop, mixed = (build(name, window=window) for _ in range(2))
    block = world(loop)
    before = window + 5  # nothing has been released, and the loop will
    arms, late = steps(mixed, block, 0, before), mixed.choices - window
    if saved:
        mixed.save(tmp_path / "bandit.json")
        mixed = Bandit.load(tmp_path / "bandit.json")
    assert mixed.memory.window == window and not mixed.observe(late, 1.0)
    mixed.play(part(block, before, 160))
    if saved:
        mixed.save(tmp_path / "bandit.json")
        mixed = Bandit.load(tmp_path / "bandit.json")
    arms += [*block.index[before:160].tolist(), *steps(mixed, block, 160)]
    loop.play(block)
    assert arms == block.index.tolist() and same(loop, mixed)


@pytest.mark.parametrize("window", [1, 20])
@pytest.mark.parametrize("name", KINDS)
def test_it_is_as_if_each_choice_came_when_it_enters(name, window):
    """A bandit that is told of each choice when that is due: the same noise and draws, by the same estimates."""
    held, told = build(name, window=window), build(name)
    block = world(held)
    waiting, found = [], []
    for t in range(ROUNDS):
        if len(waiting) > window:
            at, arm = waiting.pop(0)
            told.tend()
            row = told.memory.shown.row(block.arms[at], arm, arm, None, ())
            ticket = told.memory.keep(row, NOBODY)
            if not math.isnan(block.noise[at]):
                told.observe(ticket, block.means[at, arm] + 0.25 * block.noise[at])
        told.tend()
        found.append(int(told.memory.shown.pick(block.arms[t][None])[0]))
        waiting.append((t, found[-1]))
    assert steps(held, block) == found and held.sums.steps == told.sums.steps > 2
    assert np.array_equal(held.sums.state.prefix.released, told.sums.state.prefix.released)


def test_missing_as_is_a_reward_of_that_value():
    block = world(build(), silent=0.5)
    silent, said = build(window=20, default=0.25), build(window=20)
    for t in range(ROUNDS):
        ours, theirs = silent.choose(block.arms[t]), said.choose(block.arms[t])
        reward = 0.25 if math.isnan(block.noise[t]) else 1.0
        said.observe(theirs, reward)
        if reward == 1.0:
            silent.observe(ours, 1.0)
    assert same(silent, said)


# whose leaf


def boundaries(bandit, upto):
    out = [0]
    while out[-1] < upto:
        out.append(int(next_boundary(out[-1], *bandit.plan.schedule)))
    return out


def cells(bandit, x, reward):
    """What one reward adds to a linear bandit's sums, whatever was released."""
    adder, grid = bandit.sums.adder, bandit.plan.mechanism
    out = np.zeros(grid.size, np.int64)
    adder.add(x[None], np.array([reward]), grid.cell, grid.longest, out)
    return out


@given(
    window=st.integers(1, 40),
    sizes=st.lists(st.integers(1, 20), min_size=8, max_size=12),
    delays=st.lists(st.integers(0, 45), min_size=30, max_size=30),
    bad=st.lists(st.booleans(), min_size=30, max_size=30),
)
@settings(max_examples=40, deadline=None)
def test_the_leaf_of_a_choice_is_a_function_of_its_number(window, sizes, delays, bad):
    """In batches that cross the ends of steps, of which some rows are refused, and with rewards that come early, late
    or never: exact sums of each step are those of its numbers that came in time."""
    bandit = build("dense", source=Given(), window=window, pending=61, base_rate=0.5, discount=1.0)
    nothing = np.zeros(bandit.one_pass.learnt.contribution.size)
    rng, due, added = default_rng(0), [], {}
    for size in (*sizes, *[1] * (window + 1)):
        arms = rng.uniform(-0.5, 0.5, (size, 2, 3))
        first, wrong = bandit.choices + 1, np.array([bad[(bandit.choices + i) % 30] for i in range(size)])
        arms[wrong] = np.nan
        batch = bandit.choose_many(arms)
        assert set(batch.refused) == set(np.flatnonzero(wrong))
        for i in np.flatnonzero(~wrong):
            due.append((first + i + delays[(first + i) % 30], first + i, arms[i, batch.index[i]]))
        for _, number, x in [one for one in due if one[0] <= bandit.choices]:
            counts = bandit.observe(int(number), 1.0)
            assert counts == (number > bandit.choices - window)
            if counts:
                added[number] = cells(bandit, x, 1.0)
            due = [one for one in due if one[1] != number]
    bandit.tend()
    ends = boundaries(bandit, bandit.choices - window)
    assert bandit.sums.state.counts[ENTERED] == bandit.choices - window
    sums = opened(bandit.sums.state.prefix)
    for step in range(bandit.sums.steps):
        of_step = [added[n] for n in added if ends[step] < n <= ends[step + 1]]
        assert np.array_equal(sums.closed[step], np.sum(of_step, axis=0) if of_step else nothing)
    last = [added[n] for n in added if ends[bandit.sums.steps] < n <= bandit.choices - window]
    assert np.array_equal(sums.open, np.sum(last, axis=0) if last else nothing)


@pytest.mark.parametrize("name", ["dense", "scores"])
def test_a_reward_counts_until_its_deadline_and_never_after_it(name):
    window, arms = 5, np.array([[0.5, 0.1, 0.0], [0.1, 0.5, 0.2]])
    for later, counts in ((window - 1, True), (window, False), (window + 1, False), (60, False), (90, False)):
        bandit, never = (build(name, window=window) for _ in range(2))
        choice = bandit.choose(arms)
        never.choose(arms)
        for each in (bandit, never):
            for _ in range(later):
                each.choose(arms)
        assert bandit.observe(choice, 1.0) is counts
        if counts:
            assert bandit.observe(choice, 0.0)  # again: the first one counts
        else:
            assert bandit.observe(choice.id, 0.0) is False
            late = bandit.observe_many([choice.id, bandit.choices], [1.0, 1.0])
            assert list(late) == [0] and "deadline has passed" in late[0]
            never.observe(never.choices, 1.0)
        for each in (bandit, never):
            for _ in range(100):
                each.choose(arms)
        assert same(bandit, never) is not counts


def test_ids_that_nobody_has():
    bandit = build(window=5)
    for wrong in (0, -1, 1, 10**6):
        with pytest.raises(UnknownChoice):
            bandit.observe(wrong, 1.0)
    for made in range(8):  # also once its deadline has passed
        for wrong in (True, "1", 1.0, None):
            with pytest.raises(ValueError, match="Expected a Choice or its id"):
                bandit.observe(wrong, 1.0)
        assert bandit.choices == made
        bandit.choose([[0.5, 0.0, 0.0]])
    with pytest.raises(ValueError, match="reward"):
        bandit.observe(8, 2.0)
    assert bandit.observe(8, 1.0) and not bandit.observe(1, 1.0)


# who teaches


def visits(bandit, script, window):
    """Each of the script: (person, reward or None), after which nobody comes until all have entered."""
    arms = [[0.5, 0.1, 0.0]]
    for person, reward in script:
        choice = bandit.choose(arms, person=person)
        if reward is not None:
            bandit.observe(choice, reward)
    for _ in range(window + 1):
        bandit.choose([[0.0, 0.0, 0.0]], person="nobody")
    return opened(bandit.sums.state.prefix).open


LIMITED = {"window": 4, "rounds": 1, "first": 40, "source": Given()}


def test_who_is_beyond_the_limit_takes_a_number_that_adds_nothing():
    bandit, other = build(**LIMITED), build(**LIMITED)
    found = visits(bandit, [("ada", 1.0), ("ada", 1.0), ("bob", None), ("ada", 1.0)], 4)
    expected = visits(other, [("ada", 1.0), ("bob", None)], 4)
    assert bandit.choices == other.choices + 2 and np.array_equal(found, expected)
    assert bandit.sums.state.counts[ENTERED] == bandit.choices - 5  # of the last one the deadline passes with the next


@pytest.mark.parametrize("limit", [{}, {"per": 40}])
def test_rounds_count_when_they_enter_with_a_reward(limit):
    """In the order of numbers, whenever rewards come; a choice without one uses up nothing."""
    once, late = (build(**LIMITED, **limit) for _ in range(2))
    expected, arms = visits(once, [("ada", 0.25)], 4), [[0.5, 0.1, 0.0]]
    choices = [late.choose(arms, person="ada") for _ in range(3)]
    late.observe(choices[2], 1.0)
    late.observe(choices[1], 0.25)  # enters before it
    found = visits(late, [], 4)
    assert np.array_equal(found, expected) and found.any() and list(late.memory.persons.counts.values()) == [1]


def test_weeks_are_those_of_the_steps_that_choices_enter():
    """A week of 16 choices is two steps (first=8): the third of three choices in a row enters the next week."""
    sums = []
    for silent in (None, 15, 16, 17):
        bandit = build("dense", window=10, rounds=1, per=16, source=Given())
        for number in range(1, 31):
            ada = number in (15, 16, 17)
            choice = bandit.choose([[0.5, 0.1 * ada, 0.0]], person="ada" if ada else f"p{number}")
            if number != silent:
                bandit.observe(choice, 1.0)
        bandit.tend()
        assert boundaries(bandit, 40)[2] == 16 and bandit.sums.steps == 2 and bandit.sums.state.counts[ENTERED] == 20
        sums.append((*opened(bandit.sums.state.prefix).closed[:2], opened(bandit.sums.state.prefix).open))
    for silent in (1, 2):  # whichever of the two in that week has no reward, the other one counts
        assert all(map(np.array_equal, sums[0], sums[silent]))
    assert not np.array_equal(sums[0][2], sums[3][2])


def test_a_file_keeps_who_waits(tmp_path):
    arms, made = [[0.5, 0.1, 0.0]], []
    for reload in (False, True):
        bandit = build(**LIMITED | {"source": Simulated(0)})
        for reward in (None, 1.0, 0.5):
            choice = bandit.choose(arms, person="ada")
            if reward is not None:
                bandit.observe(choice, reward)
        if reload:
            bandit.save(tmp_path / "bandit.json")
            bandit = Bandit.load(tmp_path / "bandit.json")
            assert bandit.observe(3, 1.0)  # again: the first one counts
        made.append(visits(bandit, [], 4)[0])
    assert np.array_equal(*made) and made[0].any()


# settings


def test_what_is_refused():
    for wrong in ({"window": 0}, {"window": 1.5}, {"window": True}, {"window": 60}, {"default": 0.0}):
        with pytest.raises(ValueError, match="window"):
            build(**wrong)
    for wrong in (-0.1, math.nan, "none"):
        with pytest.raises(ValueError, match="reward"):
            build(window=5, default=wrong)
    bandit = build(window=50)
    assert bandit.choose_many(np.zeros((10, 2, 3))).id.tolist() == list(range(1, 11))
    with pytest.raises(ValueError, match="at most 10 rows at once"):
        bandit.choose_many(np.zeros((11, 2, 3)))
    assert bandit.choices == 10


def test_a_database_takes_a_time(tmp_path):
    with pytest.raises(ValueError, match="Expected a window that is a time"):
        Place(str(tmp_path / "bandit.db"), None).open(algorithm(features=3, budget=Budget(4.0, 1e-2), window=5))


@pytest.mark.parametrize("name", ["dense", "scores"])
def test_it_is_certified_like_any_other_and_warms_up(name):
    held, other = build(name, window=50), build(name)
    assert held.privacy == other.privacy and held.plan.numbers == other.plan.numbers
    assert held.warm_up() > 0 and held.choices == 0
