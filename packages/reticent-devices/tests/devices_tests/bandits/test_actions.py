"""New and retired actions: by name, at a number of choices, in places whose size and noise are fixed from the start."""

import json
import math

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Bandit, Budget, environments
from reticent.core import actions, snapshot
from reticent.core.actions import Declared
from reticent.core.estimator import LeafEstimator
from reticent.data import Released
from reticent.errors import BadState
from reticent.features import Number, Schema
from reticent.kernels.rounds import next_boundary
from reticent.mechanisms import grid
from reticent.mechanisms.opening import opened
from reticent.privacy.noise import Simulated
from reticent_devices import LocalIRLS

BUDGET = Budget(1.0, 1e-6)
NO_NOISE = Budget(math.inf, 0.0)
CONTEXT = {"age": Number(0, 100)}


def schema(*names, most=5, **options):
    return Schema(context=CONTEXT, arms="disjoint", actions=names, max_actions=most, **options)


def glm(*names, most=5, budget=BUDGET, **options):
    return joint(features=schema(*names, most=most), budget=budget, first=6, **options)


def rounds(bandit, count, seed=0, **offered):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        bandit.observe(bandit.choose({"age": float(rng.integers(100))}, **offered), float(rng.integers(2)))


# the schema


def test_a_schema_has_a_place_for_each_of_max_actions_from_the_start():
    few, more = schema("walk"), schema("walk", "sleep", "read")
    assert few.dim == more.dim == 5 * schema("walk", most=1).dim and few.blocks == 5
    assert few.labels[0] == more.labels[0] == "walk: constant" and few.labels[-1].startswith("(free 5)")
    assert np.array_equal(few.rows({"age": 3})[1][0], more.rows({"age": 3}, ["walk"])[1][0])
    grown = few.with_action("sleep").with_action("read")
    assert grown == more and grown.without_action("walk").offered == ("sleep", "read")
    gone = grown.without_action("walk")
    assert gone.dim == few.dim and gone.placed({})[1][:, -1].tolist() == [1, 2] == [
        gone.actions.index(n) for n in gone.offered
    ]
    assert Schema.from_dict(json.loads(json.dumps(gone.to_dict()))) == gone != grown
    plain = Schema(context=CONTEXT, arms="disjoint", actions=("a",))
    assert "max_actions" not in plain.to_dict() and "retired" not in plain.to_dict()  # as it always was


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: schema("a", "b", most=1), "at least as many"),
        (lambda: schema("a", most=0), "max_actions"),
        (lambda: schema("a", retired=("b",)), "stay in the list"),
        (lambda: schema("a", retired=("a",)), "not retired"),
        (lambda: Schema(action={"x": Number(0, 1)}, max_actions=3), "arms that have names"),
        (lambda: schema("a", "b").with_action("b"), "no action has or had"),
        (lambda: schema("a", "b").without_action("a").with_action("a"), "no action has or had"),
        (lambda: schema("a", "b", most=2).without_action("a").with_action("c"), "room"),
        (lambda: schema("a").without_action("a"), "not retired"),
        (lambda: schema("a").without_action("b"), "is offered"),
        (lambda: schema("a", "b").without_action("a").rows({}, ["a"]), "retired"),
        (lambda: schema("a").rows({}, ["b"]), "action 1 of the request to be one of a"),
    ],
)
def test_what_a_schema_refuses(made, match):
    with pytest.raises(ValueError, match=match):
        made()


# a bandit


@pytest.mark.parametrize("secure", [True, False])
def test_neither_size_nor_grid_nor_noise_depends_on_the_list(secure):
    """And no change of it draws noise, or moves a release."""
    source = {} if secure else {"source": Simulated(3)}
    few, more = glm("walk", **source), glm("walk", "sleep", "read", "run", "eat", **source)
    assert few.plan.numbers == more.plan.numbers and few.plan.mechanism.size == more.plan.mechanism.size
    assert few.privacy.releases == more.privacy.releases and few.plan.schedule == more.plan.schedule
    rounds(few, 9)
    state, told = few.sums.state, (few.privacy.releases, few.privacy.spent)
    before = state.prefix.released.copy(), state.counts.copy()
    drawn = None if secure else few.source.generator.bit_generator.state
    few.add_action("sleep")
    few.retire_action("walk")
    state = few.sums.state
    assert np.array_equal(state.prefix.released, before[0]) and np.array_equal(state.counts, before[1])
    assert (few.privacy.releases, few.privacy.spent) == told
    assert (secure or few.source.generator.bit_generator.state == drawn) and few.plan.numbers == more.plan.numbers


def test_every_place_is_noised_at_every_release_declared_or_not():
    bandit = glm("walk")
    size, before = bandit.plan.mechanism.size, np.zeros(bandit.plan.mechanism.size)
    for step in range(4):
        rounds(bandit, 6 if step else 7)
        released = bandit.sums.state.prefix.released
        assert bandit.sums.steps == step + 1 and (released != before).all() and released.size == size
        before = released.copy()
        if step == 1:
            bandit.add_action("sleep")
            bandit.retire_action("walk")


def test_actions_come_and_go_at_a_number_of_choices(tmp_path):
    bandit = glm("walk", "sleep")
    with pytest.raises(ValueError, match="action 1 of the request"):
        bandit.choose({"age": 3}, actions=["read"])
    rounds(bandit, 8)
    bandit.add_action("read")
    assert bandit.choose({"age": 3}, actions=["read"]).name == "read"
    waiting = bandit.choose({"age": 50}, actions=["walk"])
    bandit.retire_action("walk")
    with pytest.raises(ValueError, match="retired"):
        bandit.choose({"age": 3}, actions=["walk", "read"])
    assert {bandit.choose({"age": 3}).name for _ in range(60)} <= {"sleep", "read"}
    assert bandit.actions == (Declared("walk", 0, 10), Declared("sleep"), Declared("read", 8))
    opened(bandit.sums.state.prefix).open[:] = 0
    bandit.observe(waiting, 1.0)  # it was made before: answered like any other, in its own place
    moved = np.flatnonzero(opened(bandit.sums.state.prefix).open)
    assert len(moved) and moved.max() < bandit.one_pass.learnt.contribution.part(0).stop
    for name in ("walk", "read", "sleep"):
        with pytest.raises(ValueError, match="no action has or had"):
            bandit.add_action(name)
    text = " ".join(str(bandit.privacy).split())
    assert "walk: retired after 10 choices; read: added after 8 choices" in text and "sleep:" not in text
    bandit.save(tmp_path / "b.json")
    again = Bandit.load(tmp_path / "b.json")
    assert again.actions == bandit.actions and again.features == bandit.features
    assert str(again.privacy) == str(bandit.privacy) and np.array_equal(again.theta, bandit.theta)
    rounds(again, 20)
    assert again.sums.estimator.live.tolist() == [1, 2]
    with pytest.raises(ValueError, match="Expected features"):
        joint(features=2, budget=BUDGET).add_action("x")


def test_a_file_with_room_for_other_actions_is_refused(tmp_path):
    made = Schema(context=CONTEXT, arms="disjoint", actions=("walk", "sleep"))
    bandit = joint(features=made, budget=BUDGET, first=6, source=Simulated(0))
    rounds(bandit, 10)
    path = tmp_path / "b.json"
    bandit.save(path)
    body, _ = snapshot.read(path, what="bandit", format=snapshot.FORMAT, version=snapshot.VERSION)
    assert body["actions"] == [["walk", 0, None], ["sleep", 0, None]]
    body["settings"]["features"]["schema"]["max_actions"] = 7  # sums of another size
    path.write_text(json.dumps(snapshot.document(body, format=snapshot.FORMAT, version=snapshot.VERSION, raw=True)))
    with pytest.raises(BadState, match=r"size|calibration"):
        Bandit.load(path)


def test_places_that_nobody_has_change_no_estimate():
    """Without noise a bandit with room for more is the one without; also after an action came and another one went."""
    options = {"budget": NO_NOISE, "first": 6, "range": (0.0, 1.0), "source": Simulated(0)}
    tight = joint(features=schema("walk", "sleep", most=2), **options)
    roomy, rng = joint(features=schema("walk", "sleep", most=9), **options), np.random.default_rng(1)
    for _ in range(57):  # no release while there are three
        asked, name, reward = {"age": float(rng.integers(100))}, ["walk", "sleep"][rng.integers(2)], rng.integers(2)
        for bandit in (tight, roomy):
            bandit.observe(bandit.choose(asked, actions=[name]), float(reward))
    own, ask = tight.plan.dim // 2, {"age": 40.0}
    assert np.abs(tight.theta).max() > 0.1
    assert np.allclose(roomy.theta[: 2 * own], tight.theta, atol=1e-12) and not roomy.theta[2 * own :].any()
    assert np.allclose(roomy.interval(ask), tight.interval(ask), atol=1e-12)
    roomy.add_action("read")
    assert roomy.choose(ask, actions=["read"]).name == "read"
    roomy.retire_action("read")
    for bandit in (tight, roomy):
        rounds(bandit, 1, actions=["walk"])
    assert np.allclose(roomy.theta[: 2 * own], tight.theta, atol=1e-12)


def test_a_new_action_is_tried_and_a_retired_one_learns_on_no_more():
    """All but the noise is seeded, and the noise is small."""
    bandit = glm("walk", "sleep", budget=Budget(50.0, 1e-6), policy=np.random.default_rng(0))
    rng = np.random.default_rng(2)
    means = {"walk": 0.3, "sleep": 0.1, "read": 0.9}

    def played(count):
        names = []
        for _ in range(count):
            choice = bandit.choose({"age": float(rng.integers(100))})
            names.append(choice.name)
            bandit.observe(choice, float(rng.random() < means[choice.name]))
        return names

    assert played(150)[100:].count("walk") > 30
    bandit.add_action("read")
    assert not bandit.theta[bandit.plan.dim // 5 * 3 :].any()  # of places that nobody has
    assert played(300)[100:].count("read") > 150
    bandit.retire_action("read")
    own = bandit.plan.dim // 5
    before = bandit.theta[2 * own : 3 * own]
    assert played(50).count("read") == 0 and np.array_equal(bandit.theta[2 * own : 3 * own], before)


def test_simulated_rounds_are_those_of_single_calls():
    """The fused loop, with places that nobody has."""
    made = []
    for play in (Bandit.play, Bandit._one_by_one):
        bandit = glm("a", "b", "c", budget=Budget(4.0, 1e-6), source=Simulated(1), policy=np.random.default_rng(2))
        bandit.retire_action("b")
        world = environments.disjoint(dim=bandit.plan.dim, arms=5, disjoint=True, link="logistic")
        block = world.block(60)
        world.start(np.random.default_rng(0), 60).fill(block)
        block.arms[:, :, -1] = [0, 2, 0, 2, 0]
        play(bandit, block)
        made.append((block.index.copy(), bandit.theta))
    assert np.array_equal(made[0][0], made[1][0]) and np.array_equal(made[0][1], made[1][1])


def test_a_propensity_is_that_of_the_actions_on_offer_now():
    """Also before the first release, where what is known decides."""
    dim = schema("walk", "sleep").dim
    known = {"prior": (np.linspace(-0.5, 0.5, dim), 1.0), "source": Simulated(0), "radius": 3.0}
    bandit = glm("walk", "sleep", **known)
    bandit.choose({"age": 30.0}).propensity  # noqa: B018  # remembers what it was computed from
    bandit.add_action("read")
    other = glm("walk", "sleep", "read", **known)
    offers = {name: bandit.choose({"age": 30.0}, actions=[name, "read"]) for name in ("walk", "sleep")}
    for name, choice in offers.items():
        features = bandit.memory.validator.offer({"age": 30.0}, None, [name, "read"]).features
        assert choice.propensity == pytest.approx(other.memory.shown.propensity(features, choice.index)(), abs=1e-12)


def test_devices_have_a_fixed_list():
    with pytest.raises(ValueError, match="fixed list"):
        LocalIRLS(schema("walk", "sleep"), Budget(4.0, 0.0))
    assert LocalIRLS(schema("walk", "sleep", most=2), Budget(4.0, 0.0)).dim


# the record


def test_a_record_only_grows():
    first = actions.of(schema("a", "b"))
    later = actions.changed(first, schema("a", "b", "c", retired=("a",)), 7)
    assert later == (Declared("a", 0, 7), Declared("b"), Declared("c", 7))
    assert actions.events(first, later) == ["action a retired after 7 choices", "action c added after 7 choices"]
    assert actions.changed(later, schema("a", "b", "c", retired=("a",)), 90) == later
    assert actions.at(later, 6) == first and actions.at(later, 7) == later
    assert actions.read(json.loads(json.dumps(actions.written(later)))) == later
    for wrong, match in (
        (schema("a", "b", retired=("a",)), "in their order"),
        (schema("b", "a", "c", retired=("a",)), "in their order"),
        (schema("a", "b", "c"), "stay retired"),
        (None, "in their order"),
    ):
        with pytest.raises(BadState, match=match):
            actions.changed(later, wrong, 9)


# the same releases


@pytest.mark.parametrize("window", [None, 10])
@pytest.mark.parametrize("model", ["fields", "curvature", "scores"])
def test_memory_and_a_fold_of_its_leaves_estimate_the_same_whatever_was_added_and_retired(
    model, window, monkeypatch, tmp_path
):
    """To the last bit, and also after the bandit was saved between a change and the next release."""
    leaves, close = [], grid.close_on_grid

    def spy(state, closed, z, closing):
        leaves.append(np.array(z[0]))
        close(state, closed, z, closing)

    monkeypatch.setattr(grid, "close_on_grid", spy)
    options = {"window": window, "policy": np.random.default_rng(2)}
    bandit = glm("walk", "ride", "swim", most=7, budget=Budget(3.0, 1e-6), model=model, pending=40, **options)
    fold, fed, changes = LeafEstimator(bandit.one_pass, bandit.actions, None), 0, 0
    for i in range(400):
        if i in (3, 150, 152, 250):
            bandit.add_action(f"new {i}")
        if i == 300:
            bandit.retire_action("ride")
        if i == 151:
            bandit.save(tmp_path / "bandit.json")
            bandit = Bandit.load(tmp_path / "bandit.json")
        rounds(bandit, 1, i)
        while fed < len(leaves):
            end = float(next_boundary(fold.entries, *bandit.plan.schedule))
            fold.read(Released(leaves[fed]), bandit.actions, end + (window or 0), (window or 0) + 0.5)
            fed += 1
        fold.offer(bandit.actions)
        changes += bandit.sums.estimator.last is not bandit.sums.estimator.estimate
        same = zip(fold.estimate.arrays, bandit.sums.estimator.estimate.arrays, strict=True)
        assert all(np.array_equal(one, other) for one, other in same), i
    assert fed > 5 and changes > 3
