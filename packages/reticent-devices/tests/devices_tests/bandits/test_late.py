"""Rewards that come late or never: compiled loops with a deadline do what single calls do; without one, by arrival."""

import json
import sys

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from core_tests import disjoint
from core_tests.made import joint
from reticent import Budget, JointGLM, LinUCB, Spec, Uniform, cli, environments, simulate
from reticent.environments import Delay
from reticent.environments.delay import NEVER
from reticent.mechanisms.opening import opened
from reticent_devices import LocalIRLS, ShuffleNewton
from serve_tests.bandits.test_window import KINDS, ROUNDS, build, part, same, world

LATE = Delay.read("exponential:20,never:0.1")
BALL = environments.ball(dim=3, arms=5, link="logistic")


def steps(bandit, block, delay):
    """Through choose and observe. Returns the arms, and how many rewards counted."""
    waiting, arms, counted = [], [], 0
    for t in range(len(block.noise)):
        choice = bandit.choose(disjoint.asked(bandit, block.arms[t]))
        arms.append(choice.index)
        waiting.append((choice.id + delay[t], choice.id, block.means[t, choice.index] + 0.25 * block.noise[t]))
        now = sorted(each for each in waiting if each[0] <= bandit.choices)
        waiting = [each for each in waiting if each[0] > bandit.choices]
        counted += sum(bandit.observe(number, reward) for _, number, reward in now)
    return arms, counted


@pytest.mark.parametrize("default", [None, 0.25])
@pytest.mark.parametrize("name", KINDS)
def test_a_loop_with_a_deadline_takes_what_came_by_then(name, default):
    loop, single = (build(name, window=25, default=default) for _ in range(2))
    delay = LATE.draw(default_rng(4), ROUNDS)
    block = world(loop, silent=0.0)._replace(delay=delay)
    for start in range(0, ROUNDS, 80):
        loop.play(part(block, start, start + 80))
    arms, counted = steps(single, block, delay)
    assert arms == block.index.tolist() and same(loop, single)
    assert counted == np.sum((delay < 25) & (np.arange(ROUNDS) + delay < ROUNDS)) < 0.75 * ROUNDS


@pytest.mark.parametrize("name", KINDS)
def test_without_a_deadline_rewards_come_in_the_order_of_arrival(name):
    played, single = (build(name, pending=ROUNDS) for _ in range(2))
    delay = LATE.draw(default_rng(4), ROUNDS)
    block = world(played, silent=0.0)._replace(delay=delay)
    for start in range(0, ROUNDS, 80):
        played.play(part(block, start, start + 80))
    arms, counted = steps(single, block, delay)
    assert arms == block.index.tolist() and same(played, single)
    assert counted == np.sum(np.arange(ROUNDS) + delay < ROUNDS) < ROUNDS


def test_what_is_on_its_way_comes_in_later_blocks_also_if_those_have_no_delay():
    bandit, block = LinUCB(dim=3, horizon=100), BALL.block(4)
    BALL.start(default_rng(0), 8).fill(block)
    bandit.play(block._replace(delay=np.array([6, 5, NEVER, 0])))
    assert np.count_nonzero(opened(bandit.memory.tickets).ids) == 3
    bandit.play(block)
    assert np.count_nonzero(opened(bandit.memory.tickets).ids) == 1  # the one that never comes
    bandit.play(block)
    assert bandit.choices == 12 and np.count_nonzero(opened(bandit.memory.tickets).ids) == 1


@pytest.mark.parametrize(
    ("spec", "horizon"),
    [
        (Spec(LinUCB), 1500),
        (Spec(JointGLM, budget=Budget(4.0, 1e-2)), 1500),
        (Spec(ShuffleNewton, budget=Budget(4.0, 1e-2), first=100), 300),  # devices, one by one
        (Spec(LocalIRLS, budget=Budget(4.0, 1e-2)), 300),
    ],
    ids=["lin-ucb", "joint-glm", "shuffle-newton", "local-irls"],
)
def test_a_delay_of_nothing_changes_nothing_and_without_rewards_nothing_is_learnt(spec, horizon):
    given = {"horizon": horizon, "runs": 2, "seed": 1}
    at_once = simulate([spec], BALL, **given)
    for delay in ("fixed:0", "never:0"):
        found = simulate([spec], BALL, **given, delay=delay)
        assert [run.regret for run in found.runs] == [run.regret for run in at_once.runs]
    late = simulate([spec], BALL, **given, delay=f"fixed:{horizon // 8}")
    never = simulate([spec], BALL, **given, delay="never:1")
    assert late.rows[0]["uniform"] == at_once.rows[0]["uniform"]  # the same people
    assert never.rows[0]["regret_mean"] > 0.8 * never.rows[0]["uniform"]["regret_mean"]
    assert len({rows["regret_mean"] for result in (at_once, late, never) for rows in result.rows}) == 3


def test_a_deadline_is_worth_it_where_silence_is_an_answer():
    """joint-glm with a window and a default has far less regret than uniform play, in compiled loops."""
    world, delay = environments.messages(fields=1), Delay(law="exponential", scale=100)
    spec = Spec(JointGLM, budget=Budget(8.0, 1e-6), window=delay.soon(0.9), default=0.0)
    (row,) = simulate([spec], world, horizon=10_000, runs=3, seed=0, delay=delay).rows
    assert row["setting"]["delay"] == "exponential:100" and row["options"]["window"] == 231
    assert row["regret_mean"] < 0.6 * row["uniform"]["regret_mean"] and row["us_per_round"] < 60


def test_on_the_command_line(capsys, monkeypatch):
    line = "reticent simulate lin-ucb --env ball --horizon 200 --runs 1 --delay exponential:30,never:0.1"
    monkeypatch.setattr(sys, "argv", [*line.split(), "--json"])
    with pytest.raises(SystemExit) as code:
        cli.main()
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert code.value.code == 0 and row["setting"]["delay"] == "exponential:30,never:0.1"


# the law


@pytest.mark.parametrize("text", ["fixed:50", "exponential:100", "lognormal:200/1.5", "exponential:100,never:0.2"])
def test_delays_are_as_they_say(text):
    """Medians and shares of 20 000 draws, within five standard errors."""
    delay = Delay.read(text)
    assert str(delay) == text
    rng, whole = default_rng(0), delay.draw(default_rng(0), 20_000)
    assert (np.concatenate([delay.draw(rng, 5000) for _ in range(4)]) == whole).all()
    come = whole[whole < NEVER]
    assert abs(len(come) / 20_000 - (1 - delay.never)) < 5 * 0.0029
    median = {"fixed": 50, "exponential": 100 * np.log(2), "lognormal": 200}[delay.law]
    share = 1.0 if delay.law == "fixed" else 0.5
    assert abs((come <= median).mean() - share) < 5 * 0.004
    for part_ in (0.5, 0.9):
        soon = delay.soon(part_)
        assert (come < soon).mean() > part_ - 5 * 0.004 and (come < soon - 1).mean() < part_ + 5 * 0.004


@pytest.mark.parametrize(
    "wrong", ["soon", "fixed", "fixed:", "fixed:-1", "never:2", "lognormal:3", "fixed:1,fixed:2", "exponential:1/2", ""]
)
def test_other_words(wrong):
    with pytest.raises(ValueError, match="^Expected"):
        simulate([Spec(Uniform)], BALL, horizon=10, runs=1, seed=0, delay=wrong)


def test_room_for_those_that_wait():
    def room(spec, horizon, delay=None):
        return spec.build(BALL, horizon, SeedSequence(0), delay).memory.pending

    fixed, plain = Delay(law="fixed", scale=300), Spec(LinUCB)
    assert room(plain, 10_000, fixed) == 301 and room(plain, 10_000) == 1
    assert room(plain, 500, Delay(law="lognormal", scale=900, spread=2)) == 500
    assert room(Spec(JointGLM, budget=Budget(4.0, 1e-2), window=20), 10_000, fixed) == 21
    with pytest.raises(ValueError, match="Expected delay to be a Delay"):
        simulate([Spec(Uniform)], BALL, horizon=10, runs=1, seed=0, delay=3)


def test_simulated_rewards_do_not_join_a_bandit_whose_noise_is_for_people():
    bandit, block = joint(features=3, budget=Budget(1.0, 1e-5), first=8), BALL.block(20)
    with pytest.raises(ValueError, match="Expected simulated noise"):
        bandit.play(block._replace(delay=np.full(20, 3)))
    assert bandit.choices == 0
