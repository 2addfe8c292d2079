"""Every model, beside an experiment and in phases: what is released, what it costs, and that both holders agree."""

import dataclasses
import functools
import itertools
import math

import numpy as np
import pytest
from numpy.random import default_rng

from core_tests.made import algorithm, joint
from core_tests.models.means import Means
from reticent import Bandit, Budget, Holdout, JointGLM, Reward, Secure, Simulated, WarmStart
from reticent.errors import BudgetExceeded
from reticent.features import Category, Number, Schema
from reticent.mechanisms.opening import opened
from reticent.models.centred import Centred
from reticent.models.fields import Fields
from reticent.models.glm import GLM
from reticent.models.scores import Scores
from reticent.models.then import Then
from reticent.privacy import ledger
from reticent.testing import pairs
from reticent_serve import Stored
from serve_tests.store.places import Clock, Place

BUDGET = Budget(2.0, 1e-3)
PEOPLE = Schema(
    context={"age": Number(0, 1, bins=2), "home": Category("a", "b")},
    arms="disjoint",
    actions=("walk", "sleep", "read"),
)
VECTORS = {"glm": GLM.of, "scores": Scores.of, "centred": Centred.of}
FIELDS = {"fields": Fields.of, "blocks": GLM.of}
HOLDOUT = {"holdout": Holdout(policy="uniform", share=0.2), "window": 5, "default": 0.5}


def never(estimate):
    return False


def at_once(estimate):
    return True


def then(first, second, until=never):
    def of(settings):
        return Then(first=first(settings), until=until, second=second(settings))

    return of


def settings(names, kind):
    """Of pairs of models that learn from the same features."""
    features = 3 if kind is VECTORS else PEOPLE
    rate = {"base_rate": 0.3} if "centred" in names else {}
    return {"features": features, "budget": BUDGET, "first": 20} | rate


PAIRS = [(a, b, kind) for kind in (VECTORS, FIELDS) for a, b in itertools.product(kind, kind)]
each = pytest.mark.parametrize(("a", "b", "kind"), PAIRS, ids=[f"{a}-{b}" for a, b, _ in PAIRS])


def drawn(kind, rng):
    if kind is FIELDS:
        return {"age": float(rng.random()), "home": str(rng.choice(["a", "b"]))}
    arms = rng.normal(size=(3, 3))
    return arms / np.linalg.norm(arms, axis=1)[:, None]


def play(bandit, kind, rounds, seed=0):
    """What was shown in so many rounds."""
    rng, seen = default_rng(seed), []
    for _ in range(rounds):
        choice = bandit.choose(drawn(kind, rng))
        seen.append((choice.index, choice.propensity))
        bandit.observe(choice, float(rng.integers(2)))
    return seen


@each
@pytest.mark.parametrize(
    "beside", [pytest.param({}, id="alone"), pytest.param(HOLDOUT, id="beside", marks=pytest.mark.full)]
)
@pytest.mark.parametrize("until", [never, at_once])
def test_nobody_moves_the_sums_by_more_than_the_ledger_has(a, b, kind, beside, until):
    given = settings((a, b), kind) | {"model": then(kind[a], kind[b], until)} | beside
    assert 0.75 < pairs.share(joint(**given), default_rng(1)) <= 1


@each
def test_a_phase_learns_from_its_own_people_alone(a, b, kind):
    given = settings((a, b), kind)
    for until, mine in ((never, a), (at_once, b)):
        bandit = joint(**given, model=then(kind[a], kind[b], until), source=Simulated(1), policy=default_rng(2))
        play(bandit, kind, 25)  # the first step is of the first phase
        size, sums = bandit.one_pass.model.first.sums.size, opened(bandit.sums.state.prefix)
        parts = sums.open[:size], sums.open[size:]
        assert bandit.sums.steps == 1
        assert bool(parts[0].any()) == (until is never) and bool(parts[1].any()) == (until is at_once), mine
        assert bandit.sums.estimator.estimate.arrays.over.tolist() == [until is at_once, 1]
        assert bandit.privacy.epsilon <= BUDGET.epsilon


@each
def test_both_phases_are_open_while_choices_of_the_first_wait(a, b, kind):
    given = settings((a, b), kind) | {"window": 30, "default": 0.0}
    bandit = joint(**given, model=then(kind[a], kind[b], at_once), source=Simulated(1), policy=default_rng(2))
    size = bandit.one_pass.model.first.sums.size
    play(bandit, kind, 20 + 30 + 1)  # the first step of 20 is released: the second phase begins
    assert bandit.sums.steps == 1 and bandit.sums.estimator.estimate.arrays.over[0]
    play(bandit, kind, 15, seed=1)
    sums = opened(bandit.sums.state.prefix).open
    assert sums[:size].any() and not sums[size:].any()  # who enters now has chosen in the first
    play(bandit, kind, 80, seed=2)
    assert opened(bandit.sums.state.prefix).open[size:].any() or bandit.sums.steps > 1


@each
@pytest.mark.parametrize("beside", [{}, HOLDOUT], ids=["alone", "beside"])
def test_one_seed_is_one_run(a, b, kind, beside):
    given = settings((a, b), kind) | {"model": then(kind[a], kind[b], at_once)} | beside
    one, other = (Bandit(algorithm(**given), seed=3) for _ in range(2))
    assert play(one, kind, 60) == play(other, kind, 60) and one.sums.steps >= 1


# a first phase of the l1 norm: Laplace noise, for means of arms


def means(until, second=GLM.of):
    return {"features": PEOPLE, "budget": BUDGET, "first": 20, "model": then(Means.of, second, until)}


def laplace(bandit):
    (release,) = bandit.privacy.releases
    return release.phases


@pytest.mark.parametrize("second", FIELDS.values(), ids=FIELDS)
def test_the_certificate_has_both_phases_and_the_worst_counts(second):
    bandit = joint(**means(never, second))
    pure, gaussian = laplace(bandit)
    assert pure.epsilon == pytest.approx(BUDGET.epsilon, rel=1e-3) and pure.epsilon <= BUDGET.epsilon
    assert ledger.epsilon_of([gaussian], BUDGET.delta) == pytest.approx(BUDGET.epsilon, rel=1e-6)
    assert bandit.privacy.epsilon == pytest.approx(BUDGET.epsilon, rel=1e-3)
    said = " ".join(str(bandit.privacy).split())
    assert "phase 1" in said and "discrete Laplace of scale" in said


@pytest.mark.parametrize("rounds", [2, 5])
def test_a_persons_rounds_may_be_in_both_phases(rounds):
    bandit = joint(**means(never), rounds=rounds)
    (release,) = bandit.privacy.releases
    pure, gaussian = release.phases
    each = [
        j * pure.epsilon + ledger.epsilon_of([gaussian], BUDGET.delta, rounds=rounds - j)
        if j < rounds
        else j * pure.epsilon
        for j in range(rounds + 1)
    ]
    assert ledger.epsilon_of([release], BUDGET.delta) == pytest.approx(max(each), rel=1e-12)
    assert bandit.privacy.epsilon <= BUDGET.epsilon * (1 + 1e-9)


def test_nobody_moves_either_phase_by_more_than_the_ledger_has():
    bandits = [joint(**means(until)) for until in (never, at_once)]
    assert all(0.9 < pairs.share(bandit, default_rng(0)) <= 1 for bandit in bandits)


def released(mechanism, times):
    """What a bandit's mechanism releases of the first phase where nobody came, in units of the claimed scale."""
    source, out = Secure(), []
    for _ in range(times):
        state = mechanism.init(source)
        out.append(mechanism.release(state, source)[: mechanism.first.size].copy())
    return np.abs(np.concatenate(out)) / mechanism.cell


def test_a_bandit_draws_the_noise_that_its_certificate_has_in_the_first_phase():
    """By the mean of |noise|, whose error is 1 / sqrt(n) of the scale: 5 of them, a false alarm in 10^6 runs; noise a
    tenth smaller is 5 more away."""
    bandit = joint(**means(never))
    (pure, _), mechanism = laplace(bandit), bandit.plan.mechanism
    smaller = dataclasses.replace(mechanism, first=dataclasses.replace(mechanism.first, scale=pure.scale * 9 // 10))
    limit = 5 / math.sqrt(3 * 3500)
    assert abs(released(mechanism, 3500).mean() / pure.scale - 1) < limit
    assert abs(released(smaller, 3500).mean() / pure.scale - 1) > limit


def test_laplace_noise_has_its_law():
    """Chi-square over 11 cells, critical value at 1e-6."""
    draws, n = Secure().laplaces(20_000, 2), 20_000
    base = np.exp(-1 / 2)
    inner = [(1 - base) / (1 + base) * base ** abs(k) for k in range(-4, 5)]
    below = base**5 / (1 + base)
    wanted = n * np.array([below, *inner, below])
    found = [np.sum(draws <= -5), *(np.sum(draws == k) for k in range(-4, 5)), np.sum(draws >= 5)]
    assert np.sum((np.array(found) - wanted) ** 2 / wanted) < 48.0
    shifted = n * np.array([below, *np.roll(inner, 1), below])
    assert np.sum((np.array(found) - shifted) ** 2 / shifted) > 48.0


@pytest.mark.parametrize("second", FIELDS.values(), ids=FIELDS)
def test_a_saved_bandit_and_a_database_go_on_in_both_phases(second, tmp_path):
    given = means(at_once, second) | {"window": "10 seconds", "default": 0.0}
    clock, place = Clock(), Place(str(tmp_path / "bandit.db"), tmp_path / "keys")
    with place.open(algorithm(**given), clock=clock) as stored:
        seen = []
        for t in range(3):
            rng = default_rng(t)
            for _ in range(25):
                stored.observe(stored.choose(drawn(FIELDS, rng)), float(rng.integers(2)))
            clock.now += 11.0
            stored.tend()
            stored.tend()
            seen.append((stored.version, stored.theta.tolist()))
        assert stored.version >= 2 and stored.privacy.epsilon <= BUDGET.epsilon
    with place.open(algorithm(**given), clock=clock) as again:
        assert (again.version, again.theta.tolist()) == seen[-1]


def test_an_l1_model_is_refused_beside_an_experiment_and_in_the_second_phase():
    with pytest.raises(ValueError, match="l2 norm in an experiment"):
        joint(**means(never), **HOLDOUT)
    with pytest.raises(ValueError, match="l2 norm in the second phase, got l1 and l1"):
        joint(**means(never, Means.of))


def test_a_function_cannot_be_saved(tmp_path):
    bandit = joint(features=3, budget=BUDGET, model=GLM.of)
    with pytest.raises(ValueError, match="Expected a model by its name in what is saved, got the function GLM.of"):
        bandit.save(tmp_path / "bandit.json")
    assert not (tmp_path / "bandit.json").exists()


def test_a_plan_with_less_noise_than_its_budget_cannot_be_made():
    one_pass = JointGLM(3, BUDGET).one_pass(exact=True)
    quiet = dataclasses.replace(one_pass.plan.mechanism, sigma=0.9 * one_pass.plan.mechanism.sigma)
    with pytest.raises(BudgetExceeded):
        dataclasses.replace(one_pass.plan, mechanism=quiet)


def in_norm(norm):
    """A model that says its sensitivity holds in that norm."""

    def of(asked):
        model = GLM.of(asked)
        found = type("Other", (GLM,), {"sums": property(lambda self: model.sums._replace(norm=norm))})
        return found(**{f.name: getattr(model, f.name) for f in dataclasses.fields(model) if f.init})

    return of


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_noise_for_the_l2_norm_is_for_models_of_that_norm(norm):
    with pytest.raises(ValueError, match=f"Expected a model of the l2 norm.*, got one of {norm}"):
        JointGLM(3, BUDGET, model=in_norm(norm))


@pytest.mark.parametrize("until", [never, at_once])
def test_rows_of_a_log_are_of_the_phase_that_is_open(until):
    """Whatever their features are: 0 and 1 are also how a row's phase is kept."""
    bandit = joint(features=3, budget=BUDGET, first=20, model=then(Scores.of, Scores.of, until), source=Simulated(1))
    play(bandit, VECTORS, 21)  # the first step is released
    before = opened(bandit.sums.state.prefix).open.copy()
    rows = {"x0": [0.3, 0.3, 0.3], "x1": [0.0, 0.0, 0.0], "x2": [0.0, 0.5, 0.9], "reward": [1.0, 1.0, 1.0]}
    assert bandit.learn_log(rows) == {} and bandit.sums.summer is None
    moved, size = opened(bandit.sums.state.prefix).open != before, bandit.one_pass.model.first.sums.size
    assert bool(moved[:size].any()) == (until is never) and bool(moved[size:].any()) == (until is at_once)


def test_other_actions_do_not_ask_again_whether_the_first_phase_is_over():
    asked = []
    algorithm = {"features": PEOPLE, "budget": BUDGET, "first": 20}
    bandit = joint(**algorithm, model=then(GLM.of, GLM.of, lambda estimate: bool(asked.append(1))), source=Simulated(1))
    play(bandit, FIELDS, 21)
    before = len(asked)
    bandit.retire_action("walk")
    assert len(asked) == before == 1


def test_phases_of_fields_and_vectors_can_be_warmed_up():
    assert joint(features=PEOPLE, budget=BUDGET, first=20, model=then(Fields.of, GLM.of)).warm_up() >= 0


class Mine(JointGLM):
    pass


def test_what_a_file_or_database_cannot_keep_is_refused_before_anything_is_made(tmp_path):
    with pytest.raises(ValueError, match="got a class of your own, Mine"):
        Bandit(Mine(3, BUDGET)).save(tmp_path / "bandit.json")
    window = Reward(window="1 hour")
    for model in (functools.partial(GLM.of), lambda asked: GLM.of(asked)):
        with pytest.raises(ValueError, match="Expected model as a name or a function with a name of its own"):
            Stored(JointGLM(3, BUDGET, window, model=model), tmp_path / "bandit.db")
        assert not (tmp_path / "bandit.db").exists()
    Bandit(JointGLM(2, BUDGET, warm_start=WarmStart(prior=[np.zeros(2), 1.0])), seed=0).save(tmp_path / "known.json")
    assert Bandit.load(tmp_path / "known.json").choices == 0


def test_a_loaded_bandit_has_the_actions_that_there_were(tmp_path):
    people = dataclasses.replace(PEOPLE, max_actions=4)
    bandit = joint(features=people, budget=BUDGET, first=20, seed=3)
    play(bandit, FIELDS, 60)
    bandit.add_action("swim")
    bandit.save(tmp_path / "bandit.json")
    again = Bandit.load(tmp_path / "bandit.json")
    for one in (bandit, again):
        one.retire_action("swim")
    assert np.array_equal(bandit.sums.estimator.live, again.sums.estimator.live)
    assert np.array_equal(bandit.theta, again.theta)
