"""JointGLM with features of disjoint arms: sums by fields."""

import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from core_tests.made import joint
from reticent import Budget, JointGLM, Simulated, Spec, environments
from reticent.features import Category, Number, Schema
from reticent.kernels.block import BERNOULLI, Block
from reticent.mechanisms.saving import arrays
from reticent.models.fields import FieldContribution, Fields
from reticent.models.glm import GLM
from reticent.models.scores import Scores

BUDGET = Budget(4.0, 1e-3)
CONTEXT = {"age": Number(0, 100, bins=3), "plan": Category("free", "paid")}
NAMES = ("walk", "sleep", "read")
SCHEMA = Schema(context=CONTEXT, arms="disjoint", actions=NAMES)
SIGNED = Schema(context=CONTEXT | {"height": Number(0, 2)}, arms="disjoint", actions=NAMES)
SHARED = Schema(context=CONTEXT, action={"length": Number(0, 10)})
FREE = Schema(context=CONTEXT, arms="disjoint", actions=NAMES, max_actions=4)


def make(features=SCHEMA, **options):
    common = {"budget": BUDGET, "first": 12, "source": Simulated(1), "policy": default_rng(2)}
    return joint(features=features, **common | options)


def person(rng):
    return {"age": rng.uniform(0, 100), "plan": ["free", "paid", None][rng.integers(3)]}


def rate(asked, name):
    """Reading is for the old and for those who pay, walking for the others."""
    taste = {"walk": -1, "sleep": 0, "read": 1}.get(name, 0) * (
        (asked["age"] - 50) / 100 + 0.3 * (asked["plan"] == "paid")
    )
    return 0.4 + 0.5 * taste


def rounds(bandit, count, seed=0, **offered):
    """Names of what was chosen."""
    rng, out = default_rng(seed), []
    for _ in range(count):
        asked = person(rng)
        choice = bandit.choose(asked, **offered)
        bandit.observe(choice, float(rng.random() < rate(asked, choice.name)))
        out.append(choice.name)
    return out


# when it is the form


def test_auto_takes_it_for_disjoint_schemas_alone():
    many = Schema(context={"city": Category(*map(str, range(120)))}, arms="disjoint", actions=NAMES)
    one = Schema(context=CONTEXT, arms="disjoint", actions=NAMES[:1])
    forms = {
        Fields: [{}, {"features": SIGNED}, {"features": FREE}, {"features": many, "model": "fields"}],
        GLM: [
            *({"features": SHARED}, {"features": one}, {"model": "curvature"}),
            {"prior": (np.zeros(SCHEMA.dim), 1.0)},
        ],
        Scores: [{"model": "scores"}, {"features": many}],
    }
    for form, cases in forms.items():
        for options in cases:
            assert isinstance(make(**options).one_pass.learnt, form), options
    told, size = make().privacy.releases[0].statistic, make().one_pass.learnt.contribution.size
    said = [str(make(**options).privacy.caveats) for options in ({}, {"base_rate": 0.1})]
    assert ["(base_rate=)" in caveats for caveats in said] == [False, True]
    assert f"by fields, {size} numbers (3 blocks of {size // 3}, each user in one of them)" in told
    assert "as each action has a part of the vector for itself" in told


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"model": "curvature", "base_rate": 0.1}, "base_rate"),
        ({"base_rate": 0.0}, "base_rate"),
        ({"model": "fields", "features": SHARED}, "disjoint"),
        ({"model": "fields", "rows": (np.zeros((1, SCHEMA.dim)), [1.0])}, "warm_start"),
    ],
)
def test_what_it_refuses(options, match):
    with pytest.raises(ValueError, match=match):
        make(**options)


def test_a_world_tells_what_has_an_effect():
    world = environments.messages(radius=3.0, link="probit")
    told = [
        Spec(JointGLM, budget=BUDGET, **options).build(world, 100, SeedSequence(0))
        for options in ({}, {"base_rate": 0.1}, {"model": "curvature"})
    ]
    assert [(made.plan.reward.link, made.plan.reward.radius) for made in told] == [
        ("logistic", 1.0),
        ("logistic", 1.0),
        ("probit", 3.0),
    ]


def test_the_certificate_has_the_sensitivity_of_its_base_rate():
    assert make().privacy.releases[0].sensitivity == pytest.approx(1.0)
    assert make(SIGNED).privacy.releases[0].sensitivity == pytest.approx(1.0)
    for c in (0.01, 0.1, 0.9):
        bandit, room = make(base_rate=c), max(c * (1 - c), 0.06)
        expected = math.sqrt(2 * (max(c, 1 - c) ** 2 + 0.8 * room))
        contribution = bandit.one_pass.learnt.contribution
        assert isinstance(contribution, FieldContribution) and contribution.centre == c
        assert bandit.privacy.releases[0].sensitivity == pytest.approx(expected)
        assert bandit.plan.mechanism.sigma > make().plan.mechanism.sigma and bandit.privacy.epsilon == pytest.approx(
            4, rel=1e-6
        )
        assert make(SIGNED, base_rate=c).privacy.releases[0].sensitivity >= expected * (1 - 1e-12)


# what is measured is what is served


def block_of(asked, rewards):
    """Rounds in which each message of the schema is offered, with rewards that are the same whatever is chosen."""
    arms = np.array([SCHEMA.placed(one)[1] for one in asked])
    means = np.tile(np.asarray(rewards, np.float64)[:, None], (1, len(NAMES)))
    out = np.zeros(len(asked), np.int64), np.zeros(len(asked)), np.zeros(len(asked))
    noise = np.full(len(asked), 0.5)
    return Block(arms, means, noise, np.full(len(asked), -1), np.array([BERNOULLI]), np.ones(1), *out)


@pytest.mark.parametrize(
    "options", [{}, {"base_rate": 0.2}, {"window": 7, "pending": 60}, {"window": 30, "default": 0.0}]
)
def test_the_compiled_loop_is_choose_and_observe(options):
    rng = default_rng(3)
    asked, rewards = [person(rng) for _ in range(240)], rng.integers(2, size=240)
    loop, single = (make(**options) for _ in range(2))
    chosen = []
    for one, reward in zip(asked, rewards, strict=True):
        choice = single.choose(one)
        single.observe(choice, float(reward))
        chosen.append(choice.index)
    for start in range(0, 240, 80):
        block = block_of(asked[start : start + 80], rewards[start : start + 80])
        loop.play(block)
        assert block.index.tolist() == chosen[start : start + 80]
    for bandit in (loop, single):
        bandit.tend()
    assert loop.sums.steps == single.sums.steps > 6 and np.array_equal(loop.theta, single.theta) and loop.theta.all()
    pairs = zip(arrays(loop.sums.state.prefix), arrays(single.sums.state.prefix), strict=True)
    assert all(np.array_equal(*pair) for pair in pairs) and len(set(chosen[150:])) > 1


# choices


def test_propensities_are_of_the_actions_on_offer():
    """In general: packages/reticent-devices/tests/devices_tests/bandits/test_propensity.py."""
    bandit = make(first=60)
    rounds(bandit, 61)  # the next step is far from full
    asked = {"age": 50.0, "plan": None}
    choices = [bandit.choose(asked, available=[True, False, True]) for _ in range(30)]
    two = bandit.one_pass.chances(bandit.sums.estimator.estimate, SCHEMA.placed(asked)[1][[0, 2]])
    told = dict(zip(("walk", "read"), two, strict=True))  # and no sleep
    assert all(choice.propensity == pytest.approx(told[choice.name], rel=1e-6) for choice in choices)
    assert bandit.choose(asked, actions=["read"]).propensity == 1.0


def test_it_learns_from_fields_and_from_batches_larger_than_a_step():
    """After 4000 people with little noise, choices for 500 others earn most of what can be gained (coarse: 60 %;
    seeded). The rows of a batch are all chosen by the estimate at its beginning."""
    for size in (1, 400):
        bandit, rng = make(budget=Budget(8.0, 1e-2), first=None), default_rng(7)
        for _ in range(0, 4000, size):
            asked = [person(rng) for _ in range(size)]
            made = bandit.choose_many(asked)
            found = [rate(one, NAMES[i]) for one, i in zip(asked, made.index, strict=True)]
            bandit.observe_many(made, (rng.random(size) < found).astype(float))
        asked = [person(rng) for _ in range(500)]
        earned = np.mean([rate(one, bandit.choose(one).name) for one in asked])
        means = np.array([[rate(one, name) for name in NAMES] for one in asked])
        share = (earned - means.mean()) / (means.max(axis=1) - means.mean(axis=1)).mean()
        assert share > 0.6, size


def test_an_action_comes_and_another_goes():
    bandit = make(FREE, budget=Budget(50.0, 1e-3))
    rounds(bandit, 60)
    own = bandit.plan.dim // 4
    assert bandit.theta[: 3 * own].all() and not bandit.theta[3 * own :].any()
    before = bandit.theta
    bandit.add_action("swim")
    after = bandit.theta
    assert after[3 * own :].any() and np.allclose(after[: 3 * own], before[: 3 * own], atol=0.05)
    bandit.retire_action("swim")
    assert np.allclose(bandit.theta[: 3 * own], before[: 3 * own], atol=1e-12)
    bandit.retire_action("walk")
    assert set(rounds(bandit, 60, seed=1)) <= {"sleep", "read"} and bandit.sums.estimator.live.tolist() == [1, 2]


def test_what_is_forgotten_is_relearnt():
    """Tastes are turned round after 1500 people: a bandit that forgets follows (little noise; seeded)."""
    bandit, rng = make(forget=300, budget=Budget(20.0, 1e-2), first=None), default_rng(8)
    for turned in (1, -1):
        for _ in range(1500):
            asked = person(rng)
            choice = bandit.choose(asked)
            asked["age"] = asked["age"] if turned == 1 else 100 - asked["age"]
            bandit.observe(choice, float(rng.random() < rate(asked | {"plan": None}, choice.name)))
        old, young = ({"age": age, "plan": "free"} for age in (95.0, 5.0))
        means = {name: np.mean(bandit.interval(old, actions=[name])) for name in NAMES}
        others = {name: np.mean(bandit.interval(young, actions=[name])) for name in NAMES}
        assert (means["read"] - means["walk"]) * turned > 0 > (others["read"] - others["walk"]) * turned


# intervals


@pytest.mark.full
@pytest.mark.parametrize(("epsilon", "people", "most"), [(1.0, 1000, 0.9), (1.0, 10_000, 2 / 3), (8.0, 5000, 2 / 3)])
def test_intervals_cover(epsilon, people, most):
    """90 % intervals hold the means of the messages of the last 50 people, and those of the chosen ones, in at least
    90 % of cases on average, within three standard errors over runs; and on average they are shorter than `most` of
    all: two thirds, but for few people and much noise."""
    world, held, chosen, wide = environments.messages(disjoint=True), [], [], []
    for seed in range(40):
        bandit = Spec(JointGLM, budget=Budget(epsilon, 1e-6)).build(world, people, SeedSequence([seed, 11]))
        started, block = world.start(default_rng([seed, 12]), people), world.block(500)
        for _ in range(people // 500):
            started.fill(block)
            bandit.play(block)
        inside = []
        for t in range(450, 500):
            _, low, high = bandit.one_pass.intervals(bandit.sums.estimator.estimate, block.arms[t], 0.9)
            inside.append((low <= block.means[t]) & (block.means[t] <= high))
            wide.append((high - low).mean())
        held.append(np.mean(inside))
        chosen.append(np.mean([row[i] for row, i in zip(inside, block.index[450:], strict=True)]))
    for found in (held, chosen):
        assert np.mean(found) >= 0.9 - 3 * np.std(found) / math.sqrt(40)
    assert np.mean(wide) < most
