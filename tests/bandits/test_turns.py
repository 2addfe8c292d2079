"""A person for ever, in turns that are a week apart: a limit that holds, and a claim for all of it."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Bandit, JointGLM, JointLinUCB, Simulated, Spec, environments, simulate
from tacit.algorithms.turns import Turns
from tacit.algorithms.weeks import fewest_leaves
from tacit.kernels.rounds import Schedule, next_boundary
from tacit.mechanisms.turns import Separated
from tests.bandits.test_weeks import ARM, BUDGET, NOBODY, SCRIPTS, build, moved, taught, visit

FOUR = {"week": 25, "weeks": 3, "horizon": 100, "pending": 100, "growth": 1.001}


@given(
    st.integers(1, 40),
    st.floats(1.01, 1.5),
    st.one_of(st.none(), st.integers(1, 60)),
    st.integers(1, 300),
    st.integers(1, 3),
    st.integers(1, 4),
    st.lists(st.integers(0, 3), min_size=30, max_size=120),
)
@settings(max_examples=80, deadline=None)
def test_turns_are_a_week_and_enough_leaves_apart(first, growth, longest, week, most, weeks, comes):
    """comes: how many rounds of one person enter each step. The slow way: all rounds so far are looked at."""
    schedule = Schedule(float(first), growth, float(max(first, longest)) if longest else math.inf)
    turns, had, taken, start = Turns(schedule, week, most, weeks), dict.fromkeys([b"a"], 0), [], 0
    had |= dict.fromkeys(turns.places(b"a"), 0)
    for step, count in enumerate(comes):
        for _ in range(count):
            within = [began for _, began in taken if start - began < week]
            allowed = len(within) < most and len(taken) < most * weeks
            assert turns.once_more(had, b"a", step) == allowed
            taken += [(step, start)] * allowed
        start = int(next_boundary(start, *schedule))
    apart = fewest_leaves(schedule, week, start)
    for (one, _), (next_one, _) in zip(taken, taken[most:], strict=False):  # those of one row
        assert next_one - one >= apart


@pytest.mark.parametrize("rule", [{}, {"hold": 12}, {"hold": 3, "missing_as": 0.0}], ids=str)
@given(SCRIPTS, SCRIPTS)
@settings(max_examples=25, deadline=None)
def test_a_person_never_moves_more_than_is_claimed(rule, one, other):
    """Two quite different people, whose answers come early, late, many at once or never."""
    (a, bandit), (b, _) = moved(FOUR | rule, one), moved(FOUR | rule, other)
    (release,) = bandit.privacy.releases
    assert np.linalg.norm(a - b) / release.sigma <= release.mu * (1 + 1e-9)


def test_the_claim_is_nearly_attained():
    options = FOUR | {"max_rounds_per_person": 1}
    full, none = ([([-1], arm, reward)] * 80 for arm, reward in ((1.0, 1.0), (1e-9, 0.0)))
    (a, bandit), (b, _) = (moved(options, script) for script in (full, none))
    (release,) = bandit.privacy.releases
    assert 0.7 * release.mu < np.linalg.norm(a - b) / release.sigma <= release.mu * (1 + 1e-9)


def test_the_limit_is_for_any_week_and_for_ever_also_in_a_file(tmp_path):
    bandit = build(week=30, weeks=2, growth=1.001, max_rounds_per_person=1)  # three steps of ten choices

    def teaches(bandit):
        before = taught(bandit)
        visit(bandit, "ada")
        return taught(bandit) > before

    def wait(bandit, choices):
        for _ in range(choices):
            bandit.choose(NOBODY, person="nobody")

    wait(bandit, 15)
    assert teaches(bandit) and not teaches(bandit)  # in the second step
    wait(bandit, 18)  # a calendar week would be over
    assert not teaches(bandit)
    bandit.save(tmp_path / "b.json")
    bandit = JointGLM.load(tmp_path / "b.json")
    assert not teaches(bandit)
    wait(bandit, 5)
    assert bandit._steps == 4 and teaches(bandit)
    bandit.save(tmp_path / "c.json")
    bandit = JointGLM.load(tmp_path / "c.json")
    wait(bandit, 100)
    assert not teaches(bandit)  # two turns are all


def test_the_certificate_says_for_ever():
    privacy = build(week=25, weeks=4, horizon=2000).privacy
    assert privacy.unit.startswith("one person: the arm sets and rewards of at most 2 rounds in any week of 25 choices")
    assert "and 8 in all" in privacy.unit and "replace one person in all rounds" in privacy.relation
    assert (privacy.person, privacy.week, privacy.weeks, privacy.over) == (2, 25, 4, {})
    assert privacy.epsilon == pytest.approx(1.0) and privacy.private
    assert "up to 2 of them in any week (25 choices, in whole steps) and 8 in all" in " ".join(str(privacy).split())
    assert '"privacy_unit": "Person"' in json.dumps(privacy.registry())


@pytest.mark.parametrize("kind", [JointGLM, JointLinUCB])
def test_simulated_rounds_are_the_same_in_the_compiled_loop(kind):
    given = {"dim": 2, "horizon": 300, "budget": BUDGET, "max_rounds_per_person": 1, "week": 40, "weeks": 3}

    def slow(self, block):
        Bandit._play(self, block)

    by_hand = type("ByHand", (kind,), {"_play": slow})
    world = environments.ball(dim=2, arms=4)
    found = []
    for one in (kind, by_hand):
        spec = Spec(one, **{name: value for name, value in given.items() if name not in ("dim", "horizon")})
        found.append(simulate([spec], world, horizon=300, runs=2, seed=3).rows[0]["regret_mean"])
    assert found[0] == found[1]
    assert isinstance(kind(source=Simulated(0), **given).mechanism, Separated)


def test_misuse():
    with pytest.raises(ValueError, match="Expected week with weeks, got none"):
        build(weeks=3)
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="Expected weeks"):
            build(week=25, weeks=wrong)
    with pytest.raises(ValueError, match="which refuses nobody"):
        build(week=25, weeks=3, on_limit="refuse")
    with pytest.raises(ValueError, match="Expected a person with every choice with weeks"):
        build(week=25, weeks=3, require_person=False)
    assert build(week=25, weeks=3).choose(ARM, person="ada").index == 0
