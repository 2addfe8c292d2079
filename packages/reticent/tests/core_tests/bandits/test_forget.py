"""JointGLM(forget=...): steps stop growing, what was learnt fades for ever, and the claim holds for ever."""

import math
import re

import numpy as np
import pytest

from core_tests.made import joint
from core_tests.mechanisms.test_grid import Given
from reticent import Bandit, Budget, JointGLM, Simulated, Spec, environments, simulate
from reticent.algorithms import schedules
from reticent.algorithms.schedules import steps_before
from reticent.kernels.rounds import Schedule, next_boundary
from reticent.mechanisms import leaves
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.opening import opened

BUDGET = Budget(1.0, 1e-6)


def boundaries(schedule, count):
    out = [0]
    for _ in range(count):
        out.append(next_boundary(out[-1], *schedule))
    return np.array(out)


def test_steps_grow_and_then_stay_as_long_as_a_share_of_forget():
    lengths = np.diff(boundaries(schedules.schedule(20, 1.03, 4000.0), 500))
    assert lengths[0] == 20 and (np.diff(lengths) >= 0).all() and (lengths[100:] == 200).all()
    assert (np.diff(boundaries(schedules.schedule(20, 1.03, 200.0), 50)) == 20).all()  # no shorter than the shortest
    plain = schedules.schedule(20, 1.03, None)
    assert plain == Schedule(20.0, 1.03) and np.diff(boundaries(plain, 500))[-1] > 10_000


@pytest.mark.parametrize("forget", [None, 300.0, 4000.0])
@pytest.mark.parametrize("horizon", [1, 2, 20, 21, 40, 1000, 5000, 54_321])
def test_how_many_steps_there_are(forget, horizon):
    schedule = schedules.schedule(20, 1.03, forget)
    assert steps_before(horizon, schedule) == np.count_nonzero(boundaries(schedule, 3000)[1:] < horizon)


def test_a_round_counts_one_over_e_after_so_many_rounds():
    for forget in (500.0, 4000.0, 1e6):
        schedule = schedules.schedule(20, 1.03, forget)
        assert schedules.discount(schedule, forget, 0.9) ** (forget / schedule.longest) == pytest.approx(1 / math.e)
    assert schedules.discount(schedule, None, 0.9) == 0.9


def test_the_claim_is_the_same_for_ever():
    ever, short = (joint(features=3, budget=BUDGET, forget=1000, horizon=h) for h in (None, 100_000))
    for bandit in (ever, short):
        assert bandit.privacy.private and bandit.privacy.epsilon == pytest.approx(1.0, rel=1e-9)
        assert "forgotten in 1000 rounds" in bandit.privacy.releases[0].statistic
    mechanism = ever.plan.mechanism
    assert isinstance(mechanism, Grid) and mechanism.leaves > 10**9 and mechanism.window < 200
    assert mechanism.sigma == pytest.approx(short.plan.mechanism.sigma, rel=1e-9)
    assert mechanism.sigma < joint(features=3, budget=BUDGET).plan.mechanism.sigma
    assert ever.plan.releases(10**9)[0].mu == ever.plan.releases(mechanism.leaves)[0].mu


@pytest.mark.parametrize("wrong", [0, -5.0, math.nan, math.inf, "30 days", 100])
def test_what_cannot_be_forgotten_in(wrong):
    with pytest.raises(ValueError, match="Expected forget"):
        joint(features=2, budget=BUDGET, forget=wrong)


@pytest.mark.parametrize("options", [{}, {"first": 30}, {"rounds": 3, "per": 500}])
def test_what_is_too_short_is_told_the_least_that_is_not(options):
    def made(forget):
        return joint(features=2, budget=BUDGET, forget=forget, **options)

    told = set()
    for short in (1e-9, 7, 20, 64, 90):
        with pytest.raises(ValueError, match=f"got {short:g}") as error:
            made(short)
        told.add(int(re.search(r"at least (\d+),", str(error.value))[1]))
    (least,) = told
    plan = made(least).plan
    assert plan.forget == least >= 8 * plan.schedule.first
    with pytest.raises(ValueError, match=f"at least {least},"):
        made(least - 1)


def test_days_are_rounds_that_are_expected(tmp_path):
    """A setting like the number itself, also on disk."""
    days = joint(features=3, budget=BUDGET, forget="30 days", per_day=200)
    assert days.plan.forget == 6000 and days.plan.numbers == joint(features=3, budget=BUDGET, forget=6000).plan.numbers
    days.save(tmp_path / "bandit.json")
    assert Bandit.load(tmp_path / "bandit.json").plan.forget == 6000
    for wrong in ({"forget": 6000, "per_day": 200}, {"per_day": 200}, {"forget": "30 days", "per_day": -1.0}):
        with pytest.raises(ValueError, match="Expected per_day"):
            joint(features=2, budget=BUDGET, **wrong)
    with pytest.raises(ValueError, match='as "30 days" with per_day, got a text of another form'):
        joint(features=2, budget=BUDGET, forget="1 month", per_day=200)
    with pytest.raises(ValueError, match='as "30 days" with per_day, got a time without it'):
        joint(features=2, budget=BUDGET, forget="30 days")


def test_what_one_person_moves_in_a_run_that_forgets_is_at_most_what_is_claimed():
    """Nobody else answers, the noise is zero. The reward comes at once in one world and up to 150 choices later in the
    other, in a run of many windows: all noisy leaves together."""
    rng, largest = np.random.default_rng(0), 0.0
    for case in range(8):
        late = rng.integers(0, 150, 2) * (case > 0)
        arms = [1e-9, 1.0] if case == 0 else rng.choice([1e-9, 1.0], 2)
        worlds = []
        for world in (0, 1):
            bandit = joint(features=1, budget=Budget(1.0, 1e-3), source=Given(), forget=16, first=2, pending=400)
            choice, leaves = bandit.choose([[arms[world]]]), []
            for t in range(400):
                if t == late[world]:
                    bandit.observe(choice, float(world))
                steps = bandit.sums.steps
                bandit.choose([[0.0]])
                if bandit.sums.steps > steps:
                    table = opened(bandit.sums.state.prefix).noise.table
                    leaves.append(table[steps % bandit.plan.mechanism.window].copy())
            worlds.append(np.array(leaves))
        assert len(leaves) > 2 * bandit.plan.mechanism.window
        largest = max(largest, np.linalg.norm(worlds[0] - worlds[1]) / bandit.plan.mechanism.sigma)
    claimed = bandit.privacy.releases[0].mu
    assert 0.9 * claimed < largest <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("horizon", [None, 2_000_000])
def test_what_is_forgotten_is_dropped_in_many_dimensions_too(horizon):
    """The exact sums of a step after a window, and what was released of them after two."""
    bandit = joint(
        features=100, budget=Budget(4.0, 1e-6), model="curvature", forget=20_000, horizon=horizon, source=Given()
    )
    mechanism, prefix = bandit.plan.mechanism, opened(bandit.sums.state.prefix)
    assert mechanism.window == 173 < mechanism.leaves and leaves.left(mechanism, 1000) == 1000 + 1 - 173
    prefix.open[:] = 10**6
    shown = [np.abs(mechanism.release(prefix, bandit.source)).max() for _ in range(2 * 173)]
    assert shown[0] > 0 and not prefix.closed.any() and not mechanism.release(prefix, bandit.source).any()


def test_what_would_have_no_effect_is_refused():
    for wrong, match in (
        ({"discount": 0.9}, "no discount with forget, .* got 0.9"),
        ({"growth": 1.05}, "growth of at least 1.1 with forget, got 1.05"),
    ):
        joint(features=2, budget=BUDGET, **wrong)
        with pytest.raises(ValueError, match=match):
            joint(features=2, budget=BUDGET, forget=4000, **wrong)
    assert joint(features=2, budget=BUDGET, forget=4000, growth=1.5).plan.schedule.growth == 1.5


def test_saved_and_loaded_after_many_windows(tmp_path):
    def play(bandit, rounds, seed):
        rng = np.random.default_rng(seed)
        for _ in range(rounds):
            bandit.observe(bandit.choose(rng.uniform(-0.7, 0.7, (3, 2))), float(rng.integers(2)))
        return bandit

    bandit = joint(
        features=2, budget=Budget(8.0, 1e-2), forget=200, source=Simulated(1), policy=np.random.default_rng(2)
    )
    play(bandit, 5000, 0)
    assert bandit.sums.steps > 2 * bandit.plan.mechanism.window
    bandit.save(tmp_path / "bandit.json")
    loaded = Bandit.load(tmp_path / "bandit.json")
    assert loaded.plan.forget == 200 and loaded.plan.schedule == bandit.plan.schedule
    assert loaded.privacy == bandit.privacy
    for one, other in zip(*[play(each, 500, 1).sums.state.estimate for each in (bandit, loaded)], strict=True):
        assert np.array_equal(one, other)  # simulated noise goes on from where it was
    secure = play(joint(features=2, budget=Budget(8.0, 1e-2), forget=200), 2500, 0)
    assert secure.sums.steps > secure.plan.mechanism.window
    secure.save(tmp_path / "secure.json")
    again = Bandit.load(tmp_path / "secure.json")
    assert np.array_equal(opened(again.sums.state.prefix).closed, opened(secure.sums.state.prefix).closed)
    assert np.array_equal(again.theta, secure.theta)


def test_it_follows_a_slow_change_that_the_default_does_not():
    """Preferences turn by a right angle in 5000 rounds. Regret of the last 5000 of 10 000, in 30 runs of another seed:
    534 to 1133 by default, which notices only now and then, 88 to 172 with `forget`; uniform play has about 1840."""
    world = environments.drift(dim=3, arms=10, radius=3.0, link="logistic", change="turn", every=5000)
    specs = [Spec(JointGLM, budget=Budget(4.0, 1e-6), forget=forget, label=str(forget)) for forget in (None, 1000)]
    late: dict[str, list[float]] = {"None": [], "1000": []}
    for run in simulate(specs, world, horizon=10_000, runs=2, seed=5).runs:
        late[run.label].append(run.curve[-1] - float(np.interp(5000, run.at, run.curve)))
    assert max(late["1000"]) < 220 and min(late["None"]) > 400
