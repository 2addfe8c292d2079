"""A person's rounds by the week, and served without learning: limits that hold, whenever answers come."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core_tests.made import joint
from core_tests.mechanisms.test_grid import Given
from reticent import Bandit, Budget
from reticent.algorithms.schedules import Weeks, fewest_leaves
from reticent.kernels.rounds import Schedule, next_boundary
from reticent.mechanisms.opening import opened
from reticent.privacy import gaussian

BUDGET, ARM = Budget(1.0, 1e-3), [[1.0, 0.0]]
NOBODY = [[0.0, 0.0]]


def build(**options):
    settings = {"features": 2, "horizon": 400, "budget": BUDGET, "pending": 400, "first": 10, "rounds": 2}
    return joint(**settings | options)


def visit(bandit, person, arms=ARM, reward=1.0):
    bandit.observe(bandit.choose(arms, person=person), reward)


def taught(bandit):
    """What the open step holds."""
    return np.abs(opened(bandit.sums.state.prefix).open).sum()


# serving without learning


def test_beyond_the_limit_people_are_served_and_teach_nothing():
    """The states of two bandits: one in which a person goes on beyond the limit, one in which nobody comes instead."""
    states = []
    for arms in (ARM, NOBODY):
        bandit = build(source=Given())
        for _ in range(2):
            visit(bandit, "ada")
        choice = bandit.choose(arms, person="ada")
        assert bandit.choices == 3 and choice.index == 0
        bandit.observe(choice, 1.0)
        batch = bandit.choose_many([arms, NOBODY], persons=["ada", "bob"])
        assert not batch.refused and bandit.observe_many(batch, [1.0, 0.0]) == {}
        states.append(np.concatenate([part.ravel() for part in opened(bandit.sums.state.prefix)[:2]]))
    assert np.array_equal(*states) and states[0].any()


def test_marks_are_saved(tmp_path):
    """Whose choices they are, which count when their rewards come."""
    bandit = build()
    choices = [bandit.choose(ARM, person="ada") for _ in range(3)]
    bandit.save(tmp_path / "b.json")
    loaded = Bandit.load(tmp_path / "b.json")
    for place in (2, 1):
        before = taught(loaded)
        loaded.observe(choices[place].id, 1.0)
        assert taught(loaded) > before
    before = taught(loaded)
    loaded.observe(choices[0].id, 1.0)
    assert taught(loaded) == before


# weeks


@given(st.integers(1, 40), st.floats(1.01, 1.5), st.one_of(st.none(), st.integers(1, 60)), st.integers(1, 300))
@settings(max_examples=60, deadline=None)
def test_a_week_is_whole_steps_with_enough_choices_and_leaves(first, growth, longest, week):
    schedule = Schedule(float(first), growth, float(max(first, longest)) if longest else math.inf)
    weeks, found, boundary, horizon = Weeks(schedule, week), [], 0, 3000
    starts = []
    while boundary < horizon:
        found.append(weeks.of(len(found)))
        starts.append(boundary)
        boundary = int(next_boundary(boundary, *schedule))
    groups = [list(group) for _, group in itertools.groupby(range(len(found)), found.__getitem__)]
    assert [found[group[0]] for group in groups] == list(range(len(groups)))
    for group, after in itertools.pairwise(groups):
        assert starts[after[0]] - starts[group[0]] >= week  # long enough
        assert len(group) == 1 or starts[group[-1]] - starts[group[0]] < week  # and no longer than a step more
        assert len(group) >= fewest_leaves(schedule, week, horizon)
    again = Weeks(schedule, week)
    assert [again.of(step) for step in (len(found) - 1, 0)] == [found[-1], 0]


def moved(options, script):
    """All noisy leaves without noise, of one person by a script of (answers, arm, reward), and the bandit."""
    bandit, waiting = build(source=Given(), **options), []
    for answers, arm, reward in script:
        waiting.append((bandit.choose([[arm, 0.0]], person="ada"), reward))
        for place in sorted({place % len(waiting) for place in answers} if waiting else (), reverse=True):
            choice, given = waiting.pop(place)
            bandit.observe(choice, given)
    for _ in range(bandit.plan.horizon - len(script)):
        bandit.choose(NOBODY, person="nobody")
    rows = bandit.plan.mechanism.leaves
    return opened(bandit.sums.state.prefix).noise.table[: rows - 1].copy(), bandit


FOUR_WEEKS = {"per": 25, "horizon": 100, "pending": 100}  # no week is shorter, so there are no more

SCRIPTS = st.lists(
    st.tuples(st.lists(st.integers(0, 50), max_size=4), st.sampled_from([0.0, 1e-9, 1.0]), st.sampled_from([0.0, 1.0])),
    min_size=60,
    max_size=60,
)


def several(bandit, weeks):
    """mu of what a person does in so many weeks, as the certificate has it."""
    (release,) = bandit.plan.person.over[weeks]
    return release


@pytest.mark.parametrize("rule", [{}, {"window": 12}, {"window": 3, "default": 0.0}], ids=str)
@given(SCRIPTS, SCRIPTS)
@settings(max_examples=25, deadline=None)
def test_a_person_never_moves_more_than_is_claimed(rule, one, other):
    """Answers early, late, many at once or never: the claim for all weeks is for everything together."""
    (a, bandit), (b, _) = moved(FOUR_WEEKS | rule, one), moved(FOUR_WEEKS | rule, other)
    release = several(bandit, 4)
    assert np.linalg.norm(a - b) / release.sigma <= release.mu * (1 + 1e-9)


def test_the_claim_is_nearly_attained():
    """As different as can be, in each of the weeks, though not in the leaves of them that overlap most."""
    options = FOUR_WEEKS | {"rounds": 1}
    full, none = ([([-1], arm, reward)] * 80 for arm, reward in ((1.0, 1.0), (1e-9, 0.0)))
    (a, bandit), (b, _) = (moved(options, script) for script in (full, none))
    release = several(bandit, 4)
    assert 0.6 * release.mu < np.linalg.norm(a - b) / release.sigma <= release.mu * (1 + 1e-9)


def test_the_limit_is_new_each_week_and_late_answers_count_where_they_come():
    bandit = build(per=30)  # three steps of ten choices
    late = [bandit.choose(ARM, person="ada") for _ in range(4)]
    for choice in late[:3]:
        bandit.observe(choice, 1.0)
    two = build(per=30)
    for _ in range(2):
        visit(two, "ada")
    assert np.array_equal(
        opened(bandit.sums.state.prefix).open, opened(two.sums.state.prefix).open
    )  # the third is too many
    for _ in range(28):
        bandit.choose(NOBODY, person="nobody")
    assert bandit.sums.steps == 3 and taught(bandit) == 0  # another week
    bandit.observe(late[3], 1.0)
    assert taught(bandit) > 0


def test_a_batch_longer_than_a_week_gives_nobody_more():
    """Weeks are those of the plan: two steps, each of one batch, are in the same week of three."""
    bandit = build(per=30)
    for _ in range(2):
        bandit.observe_many(bandit.choose_many([ARM] * 40, persons=["ada"] * 40), [1.0] * 40)
        before = taught(bandit)
    assert bandit.sums.steps == 1 and before == 0


def test_the_certificate_says_weeks_plainly():
    privacy = build(per=25, horizon=2000).privacy
    assert "one person in one week of 25 choices or more" in privacy.unit and "at most 2 rounds" in privacy.unit
    assert privacy.week == 25 and privacy.person == 2 and set(privacy.over) == {4, 52}
    mu = privacy.releases[0].mu
    for weeks, epsilon in privacy.over.items():
        root, whole = (gaussian.epsilon(times * mu, 1e-3) for times in (math.sqrt(weeks), weeks))
        assert 1.3 * root < epsilon <= whole * (1 + 1e-9)
    text = " ".join(str(privacy).split())
    assert "4 weeks: epsilon" in text and "answered in several is protected less" in text
    forgetting = build(per=25, horizon=None, first=5, forget=50).privacy
    assert forgetting.over[52] < privacy.over[52]  # what is forgotten overlaps less
    assert "week" not in str(build().privacy) and build(per=25, horizon=60).privacy.over.keys() == {3}


def test_a_week_in_days_is_rounds_that_are_expected(tmp_path):
    days, counted = build(per="7 days", per_day=20), build(per=140)
    assert (
        days.plan.limits.week == 140 and days.plan.numbers == counted.plan.numbers and days.privacy == counted.privacy
    )
    days.save(tmp_path / "bandit.json")
    assert Bandit.load(tmp_path / "bandit.json").plan.limits.week == 140
    for wrong in ({"per": "7 days"}, {"per": "a week", "per_day": 20}, {"per": 140, "per_day": 20}):
        with pytest.raises(ValueError, match="per_day|Expected per to be a number"):
            build(**wrong)


def test_misuse():
    for wrong in (0, math.nan, "7 dyas", "0 days"):
        with pytest.raises(ValueError, match="Expected"):
            build(per=wrong)
