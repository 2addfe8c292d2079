"""A person's rounds by the week, by secret coins, averaged, and served without learning: limits that hold, whenever
answers come."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Budget, JointGLM, JointLinUCB, Simulated
from tacit.bandits.joint.weeks import Weeks, fewest_leaves
from tacit.bandits.persons import Persons
from tacit.errors import PersonLimit
from tacit.kernels.rounds import Schedule, next_boundary
from tacit.papers import JointGLMRare
from tacit.privacy import gaussian
from tests.mechanisms.test_grid import Given

BUDGET = Budget(1.0, 1e-3)
ARM = [[1.0, 0.0]]
NOBODY = [[0.0, 0.0]]


def build(kind=JointGLM, **options):
    settings = {"dim": 2, "horizon": 400, "budget": BUDGET, "pending": 400, "first": 10, "max_rounds_per_person": 2}
    if kind is JointGLMRare:
        del settings["first"]
    return kind(**settings | options)


def visit(bandit, person, arms=ARM, reward=1.0):
    bandit.observe(bandit.choose(arms, person=person), reward)


def taught(bandit):
    """What the open step holds."""
    return np.abs(bandit._state.prefix.open).sum()


# serving without learning


@pytest.mark.parametrize("kind", [JointGLM, JointLinUCB, JointGLMRare])
def test_beyond_the_limit_people_are_served_and_teach_nothing(kind):
    """The states of two bandits: one in which a person goes on beyond the limit, one in which nobody comes instead."""
    states = []
    for arms in (ARM, NOBODY):
        bandit = build(kind, on_limit="serve", source=Given())
        for _ in range(2):
            visit(bandit, "ada")
        choice = bandit.choose(arms, person="ada")
        assert bandit.choices == 3 and choice.index == 0
        bandit.observe(choice, 1.0)
        batch = bandit.choose_many([arms, NOBODY], persons=["ada", "bob"])
        assert not batch.refused and bandit.observe_many(batch, [1.0, 0.0]) == {}
        states.append(np.concatenate([part.ravel() for part in bandit._state.prefix[:2]]))
    assert np.array_equal(*states) and states[0].any()


def test_marks_are_saved(tmp_path):
    bandit = build(on_limit="serve")
    choices = [bandit.choose(ARM, person="ada") for _ in range(3)]
    bandit.save(tmp_path / "b.json")
    loaded = JointGLM.load(tmp_path / "b.json")
    loaded.observe(choices[2].id, 1.0)
    assert taught(loaded) == 0
    loaded.observe(choices[1].id, 1.0)
    assert taught(loaded) > 0


def test_a_log_counts_as_rounds_and_is_served_like_them():
    bandit = build(on_limit="serve")
    rows = {"x0": [1.0] * 3, "x1": [0.0] * 3, "person": ["ada"] * 3, "reward": [1.0] * 3, "action": [0] * 3}
    assert bandit.learn_log(rows) == {}
    alone = build(on_limit="serve")
    alone.learn_log({name: column[:2] for name, column in rows.items()})
    assert np.array_equal(bandit._state.prefix.open, alone._state.prefix.open)


# the coin


def test_the_coin_is_fair_secret_and_thrown_once():
    """99.99 % of 20000 coins of probability .3 are within 4 standard deviations, and a coin of .32 is not."""
    persons = Persons(5, teach=0.3)
    thrown = [persons.coin(i) for i in range(20_000)]
    assert abs(np.mean(thrown) - 0.3) < 4 * math.sqrt(0.3 * 0.7 / 20_000) < 0.32 - 0.3
    assert thrown == [persons.coin(i) for i in range(20_000)]
    assert thrown != [Persons(5, teach=0.3).coin(i) for i in range(20_000)]  # by its own key
    assert all(Persons(5).coin(i) for i in range(10))


def test_coins_decide_which_rounds_teach_and_the_limit_holds():
    bandit = build(teach=0.25, max_rounds_per_person=3, source=Given())
    teaching = []
    for _ in range(60):
        choice, before = bandit.choose(ARM, person="ada"), taught(bandit)
        bandit.observe(choice, 1.0)
        if taught(bandit) != before:
            teaching.append(choice.id)
    heads = [i for i in range(1, 61) if bandit._persons.coin(i)]
    assert teaching == heads[:3] and bandit.choices == 60
    assert bandit.privacy.releases[0].rounds == 3


def test_coins_follow_the_seed_in_experiments_and_nothing_else_does():
    keys = [build(teach=0.5, source=Simulated(7))._persons.key for _ in range(2)]
    assert keys[0] == keys[1] != build(teach=0.5)._persons.key
    plain, served = build(source=Simulated(7)), build(source=Simulated(7), on_limit="serve")
    assert plain.source.generator.random() == served.source.generator.random()  # no draw is taken


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
    """All noisy leaves, without noise, where only one person contributes, by a script of (answers, arm, reward) for
    each choice, and the bandit."""
    bandit = build(source=Given(), **options)
    waiting = []
    for answers, arm, reward in script:
        waiting.append((bandit.choose([[arm, 0.0]], person="ada"), reward))
        for place in sorted({place % len(waiting) for place in answers} if waiting else (), reverse=True):
            choice, given = waiting.pop(place)
            bandit.observe(choice, given)
    for _ in range(bandit.horizon - len(script)):
        bandit.choose(NOBODY)
    rows = bandit.mechanism.leaves
    return bandit._state.prefix.noise.table[: rows - 1].copy(), bandit


SCRIPTS = st.lists(
    st.tuples(st.lists(st.integers(0, 50), max_size=4), st.sampled_from([0.0, 1e-9, 1.0]), st.sampled_from([0.0, 1.0])),
    min_size=60,
    max_size=60,
)


@given(SCRIPTS, SCRIPTS, st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_person_never_moves_more_than_is_claimed(one, other, average):
    """Two quite different people, whose answers come early, late, many at once or never: with at most two weeks in all
    the claim is for everything together."""
    options = {"week": 25, "weeks": 2, "average": average}
    (a, bandit), (b, _) = moved(options, one), moved(options, other)
    (release,) = bandit._planned()
    assert np.linalg.norm(a - b) / release.sigma <= release.mu * (1 + 1e-9)


@pytest.mark.parametrize("average", [False, True])
def test_the_claim_is_nearly_attained(average):
    """As different as can be, in the last steps of one week and the first of the next."""
    options = {"week": 25, "weeks": 2, "average": average, "max_rounds_per_person": 1}
    full, none = ([([-1], arm, reward)] * 40 for arm, reward in ((1.0, 1.0), (1e-9, 0.0)))
    silent = [([], 0.0, 0.0)] * 20  # the first answers come in the last step of the first week
    (a, bandit), (b, _) = (moved(options, [*silent, *script]) for script in (full, none))
    (release,) = bandit._planned()
    assert 0.8 * release.mu < np.linalg.norm(a - b) / release.sigma <= release.mu * (1 + 1e-9)


def test_the_limit_is_new_each_week_and_late_answers_count_where_they_come():
    bandit = build(week=30)  # three steps of ten choices
    late = [bandit.choose(ARM, person="ada") for _ in range(4)]
    for choice in late[:3]:
        bandit.observe(choice, 1.0)
    two = build(week=30)
    for _ in range(2):
        visit(two, "ada")
    assert np.array_equal(bandit._state.prefix.open, two._state.prefix.open)  # the third is one too many
    for _ in range(28):
        bandit.choose(NOBODY)
    assert bandit._steps == 3 and taught(bandit) == 0  # another week
    bandit.observe(late[3], 1.0)
    assert taught(bandit) > 0


def test_a_batch_longer_than_a_week_gives_nobody_more():
    """Weeks are those of the plan: two steps, each of one batch, are in the same week of three."""
    bandit = build(week=30, on_limit="serve")
    for _ in range(2):
        batch = bandit.choose_many([ARM] * 40, persons=["ada"] * 40)
        bandit.observe_many(batch, [1.0] * 40)
        before = taught(bandit)
    assert bandit._steps == 1 and before == 0


def test_the_certificate_says_weeks_plainly():
    privacy = build(week=25, horizon=2000).privacy
    assert "one person in one week of 25 choices or more" in privacy.unit and "at most 2 rounds" in privacy.unit
    assert privacy.week == 25 and privacy.person == 2 and set(privacy.over) == {4, 52}
    mu = privacy.releases[0].mu
    for weeks, epsilon in privacy.over.items():
        root, whole = (gaussian.epsilon(times * mu, 1e-3) for times in (math.sqrt(weeks), weeks))
        assert 1.3 * root < epsilon <= whole * (1 + 1e-9)
    text = " ".join(str(privacy).split())
    assert "4 weeks: epsilon" in text and "answered in several is protected less" in text
    forgetting = build(week=25, horizon=None, first=5, forget=50).privacy
    assert forgetting.over[52] < privacy.over[52]  # what is forgotten overlaps less
    whole = build(week=25, weeks=10, horizon=2000).privacy
    assert whole.over == {} and "in at most 10 weeks" in whole.unit and whole.epsilon == pytest.approx(1.0, rel=1e-6)
    assert whole.releases[0].column_norm < 10 * privacy.releases[0].column_norm
    assert "week" not in str(build().privacy)
    assert build(week=25, horizon=60).privacy.over.keys() == {3}


# averages


def test_a_persons_rounds_of_a_step_count_as_their_mean():
    """On a grid: the mean of what each would add alone, rounded once."""
    rewards, alone = [0.0, 1.0, 1.0], []
    together = build(average=True, max_rounds_per_person=1)
    for reward in rewards:
        visit(together, "ada", reward=reward)
        single = build()
        visit(single, "ada", reward=reward)
        alone.append(single._state.prefix.open.copy())
    assert np.abs(together._state.prefix.open - np.mean(alone, axis=0)).max() <= 1
    visit(together, "bob")  # another person adds up
    assert np.abs(together._state.prefix.open - np.mean(alone, axis=0) - alone[1]).max() <= 2
    for _ in range(10):
        together.choose(NOBODY)
    visit(together, "ada")  # in the next step: one was all
    assert together._steps == 1 and taught(together) == 0


def test_averages_go_on_after_a_restart(tmp_path):
    one = build(average=True, max_rounds_per_person=1)
    visit(one, "ada")
    one.save(tmp_path / "b.json")
    loaded = JointGLM.load(tmp_path / "b.json")
    visit(loaded, "ada", reward=0.0)
    whole = build(average=True, max_rounds_per_person=1)
    for reward in (1.0, 0.0):
        visit(whole, "ada", reward=reward)
    assert np.array_equal(loaded._state.prefix.open, whole._state.prefix.open)
    for _ in range(12):
        loaded.choose(NOBODY)
    assert loaded._turns._open == {}  # nothing raw of a closed step is kept
    loaded.save(tmp_path / "b.json")
    visit(JointGLM.load(tmp_path / "b.json"), "ada")


@pytest.mark.parametrize("kind", [JointGLM, JointLinUCB])
def test_the_noise_is_that_of_steps(kind):
    sigmas = [build(kind, average=average, max_rounds_per_person=1).mechanism.sigma for average in (False, True)]
    assert sigmas[0] == sigmas[1]
    privacy = build(kind, average=True).privacy
    assert "all rounds that are answered in at most 2 steps, averaged in each" in privacy.unit
    assert privacy.averaged and "in up to 2 steps" in str(privacy)


@pytest.mark.parametrize("kind", [JointGLM, JointLinUCB])
def test_a_week_in_days_is_rounds_that_are_expected(kind, tmp_path):
    days, counted = build(kind, week="7 days", per_day=20), build(kind, week=140)
    assert days.week == 140 and days._plan_numbers() == counted._plan_numbers() and days.privacy == counted.privacy
    days.save(tmp_path / "bandit.json")
    assert kind.load(tmp_path / "bandit.json").week == 140
    for wrong in ({"week": "7 days"}, {"week": "1 week", "per_day": 20}, {"week": 140, "per_day": 20}):
        with pytest.raises(ValueError, match="per_day"):
            build(kind, **wrong)


def test_misuse():
    for options in ({"week": 20}, {"average": True}, {"teach": 0.5}, {"on_limit": "serve"}):
        with pytest.raises(ValueError, match="Expected max_rounds_per_person with"):
            build(max_rounds_per_person=None, **options)
    for options in (
        {"week": 0},
        {"week": math.nan},
        {"teach": 0.0},
        {"teach": 1.5},
        {"on_limit": "ignore"},
        {"weeks": 3},
    ):
        with pytest.raises(ValueError, match="Expected"):
            build(**options)
    with pytest.raises(ValueError, match="counts answers"):
        build(JointGLMRare, average=True)
    with pytest.raises(ValueError, match="Gaussian noise"):
        build(JointLinUCB, noise="wishart", average=True, max_rounds_per_person=1, source=Simulated(0))
    for options in ({"week": 20}, {"average": True}, {"teach": 0.5}):
        assert build(**options).on_limit == build(on_limit="serve", **options).on_limit == "serve"
        with pytest.raises(ValueError, match="with teach, week or average, which refuse nobody"):
            build(on_limit="refuse", **options)
    refusing = build()
    assert refusing.on_limit == "refuse"
    for _ in range(2):
        refusing.choose(ARM, person="ada")
    with pytest.raises(PersonLimit):
        refusing.choose(ARM, person="ada")
