"""A holdout in memory: every number counts once in its group, and nothing that a person does moves another's group."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from core_tests.made import joint
from reticent import Bandit, Budget, Holdout, JointGLM, Simulated, Spec, environments, simulate
from reticent.features import Number, Schema
from reticent.privacy.ledger import OneOfRelease
from serve_tests.bandits.test_window import steps, world

ROUNDS = 300
FREE = Budget(math.inf, 1e-6)  # no noise: sums are exact
HOLDOUTS = {
    "arm": Holdout(action=1, share=0.2),
    "uniform": Holdout(policy="uniform", share=0.2),
    "divided": Holdout(policy="uniform", share=0.2, actions=(0, 1, 2)),
    "groups": Holdout(action=0, actions=(1, 2), share=0.2, min_share=0.1),
    "pairs": Holdout(action=0, actions=(1, 2), share=0.2),
    "given": Holdout(policy="given", share=0.2),
    "coins": Holdout(action=1, share=0.2, assign="coins"),
}


def build(holdout, *, budget=FREE, seed=1, **options):
    given = {"features": 2, "first": 10, "pending": 50, "window": 7, "default": 0.25, "source": Simulated(seed)}
    return joint(budget=budget, holdout=holdout, **({"policy": default_rng(2)} | given | options))


def arms(rng):
    x = rng.normal(size=(3, 2))
    return x / np.linalg.norm(x, axis=1)[:, None]


def play(bandit, rounds=ROUNDS, *, start=0, wrong=(), rewards=0):
    """Everything that happens to a number, by its number: (group, reward, arm) as the experiment should count it."""
    rng, coins, out = default_rng(start), default_rng(100 + start + rewards), {}
    given = bandit.algorithm.holdout.policy == "given"
    for t in range(rounds):
        x, number, u = arms(rng), bandit.choices + 1, coins.random()
        group = bandit.memory.assignment.group(number)
        if t in wrong:
            with pytest.raises(ValueError, match="Expected"):
                bandit.choose(np.full((3, 2), np.nan), **({"own": 0} if given else {}))
            out[number] = group, bandit.memory.default, None
            continue
        choice = bandit.choose(x, **({"own": t % 3} if given else {}))
        assert choice.id == number
        out[number] = group, bandit.memory.default, choice.index
        if u < 0.7:
            assert bandit.observe(choice, float(u < 0.4))
            out[number] = group, float(u < 0.4), choice.index
    return out


def expected(bandit, happened, people):
    """Counts, sums of q and pairs, from the text of the design."""
    groups, pairs = len(bandit.algorithm.holdout.groups), bandit.algorithm.holdout.pairs
    counts, totals, sums = np.zeros(groups, int), np.zeros(groups), np.zeros((len(pairs), 2))
    for group, reward, arm in (happened[n] for n in range(1, people + 1)):
        counts[group] += 1
        totals[group] += reward - 0.5
        if group == 0 and arm in pairs:
            sums[pairs.index(arm)] += reward, 1 - reward
    return counts, totals, sums


@pytest.mark.parametrize("name", HOLDOUTS)
def test_every_number_counts_once_on_its_group(name):
    bandit = build(HOLDOUTS[name])
    happened, found = play(bandit, wrong=(3, 50, 51, 120)), bandit.trial_sums
    assert len(found.looks) == bandit.sums.steps > 5
    for look in found.looks[:3] + found.looks[-1:]:
        counts, totals, pairs = expected(bandit, happened, look.people)
        assert look.counts == tuple(counts) and look.people == counts.sum()
        assert np.allclose(look.totals, totals) and np.allclose(np.reshape(look.pairs, (-1, 2)), pairs)
        assert look.people % found.block == 0
        if name != "coins":
            blocks = look.people // found.block
            assert look.counts == tuple(group.places * blocks for group in found.groups)
    assert found.ended is None and found.rewards == (0.0, 1.0)


def test_a_refused_request_keeps_its_number_and_moves_nobody():
    """With bad requests of one person all others get the same arms; sums differ by that person's group alone."""
    one, other = (build(HOLDOUTS["arm"]) for _ in range(2))
    play(one, wrong=(20,))
    play(other)
    looks = [bandit.trial_sums.looks for bandit in (one, other)]
    assert [look.people for look in looks[0]] == [look.people for look in looks[1]]
    assert [look.counts for look in looks[0]] == [look.counts for look in looks[1]]
    apart, later = (np.array(looks[0][i].totals) - looks[1][i].totals for i in (0, -1))
    assert (looks[0][0].people > 20 or not apart.any()) and abs(later[one.memory.assignment.group(21)]) <= 1.0


def test_what_a_held_out_person_teaches_is_by_its_share():
    """A fixed arm's people teach nothing, a uniform holdout's count sqrt(.5 / .97) times."""
    for name, k in (("arm", 0.0), ("uniform", math.sqrt(0.5 / 0.97))):
        bandit = build(HOLDOUTS[name])
        assert bandit.plan.groups.weights[1, 0] == pytest.approx(k)
        assert bandit.plan.groups.weights[0].tolist() == pytest.approx(
            [1.0, math.sqrt(0.03 / 0.97) * bandit.one_pass.learnt.sums.sensitivity]
        )


@pytest.mark.parametrize("name", HOLDOUTS)
def test_a_file_goes_on_with_the_same_key(name, tmp_path):
    whole, halves = (build(HOLDOUTS[name], budget=Budget(4.0, 1e-2)) for _ in range(2))
    play(whole, 150), play(whole, 150, start=150)
    play(halves, 150)
    halves.save(tmp_path / "bandit")
    again = Bandit.load(tmp_path / "bandit")
    assert (
        again.algorithm.holdout == halves.algorithm.holdout
        and again.memory.assignment.key == halves.memory.assignment.key
    )
    play(again, 150, start=150)
    assert again.trial_sums.looks == whole.trial_sums.looks and np.array_equal(again.theta, whole.theta)


def test_batches_have_the_groups_of_their_numbers():
    bandit, rng = build(HOLDOUTS["given"]), default_rng(0)
    for _ in range(20):
        rows, before = [arms(rng) for _ in range(6)], bandit.choices
        rows[2] = np.full((3, 2), np.inf)
        made = bandit.choose_many(rows, own=[0, 1, 2, 1, 9, 2])
        assert set(made.refused) == {2, 4} and bandit.choices == before + 6
        for i, own in ((0, 0), (1, 1), (3, 1), (5, 2)):
            if bandit.memory.assignment.group(before + i + 1):
                assert made.index[i] == own
        bandit.observe_many([int(ticket) for ticket in made.id if ticket], [1.0] * 4)
    last = bandit.trial_sums.looks[-1]
    assert last.counts == (4 * last.people // 5, last.people // 5) and last.people > 80
    with pytest.raises(ValueError, match="Expected one own= for each of 2 rows"):
        bandit.choose_many([arms(rng)] * 2, own=[1])


@pytest.mark.parametrize("name", ["arm", "uniform", "groups", "coins"])
def test_simulated_rounds_are_those_of_choose_and_observe(name):
    """To the bit, with noise."""
    played, stepped = (build(HOLDOUTS[name], budget=Budget(4.0, 1e-2)) for _ in range(2))
    block = world(played, ROUNDS)
    played.play(block)
    assert steps(stepped, world(stepped, ROUNDS)) == block.index.tolist()
    assert played.trial_sums.looks == stepped.trial_sums.looks and np.array_equal(played.theta, stepped.theta)


def test_the_propensity_is_the_mixture_and_does_not_tell_the_group():
    bandit = build(HOLDOUTS["groups"], budget=Budget(4.0, 1e-2))
    play(bandit, 100)
    x = np.array([[0.9, 0.0], [-0.9, 0.1], [0.0, 0.9]])
    told: dict[tuple[int, int], set[float]] = {}
    weights = np.zeros(3)
    for _ in range(1500):
        choice = bandit.choose(x)
        weights[choice.index] += 1 / choice.propensity
        told.setdefault((bandit.sums.steps, choice.index), set()).add(round(choice.propensity, 9))
    assert all(len(values) == 1 for values in told.values()), "one for each arm, whoever played it"
    assert min(next(iter(values)) for values in told.values()) >= 0.1 - 1e-9
    assert weights / 1500 == pytest.approx(np.ones(3), abs=0.3)  # 4 standard deviations; the bandit's own would be far


def test_the_experiment_ends_once_and_for_good(tmp_path):
    bandit = build(HOLDOUTS["arm"])
    play(bandit, 103)
    bandit.end_experiment()
    with pytest.raises(ValueError, match="Expected a holdout that goes on"):
        bandit.end_experiment()
    play(bandit, 100, start=1)
    assert not any(bandit.memory.assignment.group(n) for n in range(106, 204)) and bandit.trial_sums.ended == 105
    last = bandit.trial_sums.looks[-1]
    assert last.counts[1] == 21 and sum(last.counts) == last.people
    bandit.save(tmp_path / "bandit")
    assert Bandit.load(tmp_path / "bandit").trial_sums.ended == 105
    with pytest.raises(ValueError, match="Expected a bandit in an experiment"):
        build(None, default=None).end_experiment()


@pytest.mark.parametrize("name", ["arm", "given", "uniform"])
def test_the_last_block_is_played_and_told_as_those_before(name):
    """The holdout's people get its arm, and propensities do not tell the group; all numbers later are the bandit's."""
    given = {"own": 1} if name == "given" else {}
    for seed in range(12):
        bandit = build(HOLDOUTS[name], policy=default_rng(seed))
        x, told = np.eye(3)[:, :2], {}
        bandit.choose(x, **given)
        bandit.end_experiment()
        for number in range(2, 6):  # the first step, in which the bandit picks any arm
            choice = bandit.choose(x, **given)
            assert name == "uniform" or choice.index == 1 or not bandit.memory.assignment.group(number)
            told.setdefault(choice.index, set()).add(round(choice.propensity, 9))
        ones = 1 / 3 if name == "uniform" else 0.8 / 3
        assert all(found == {round(ones + 0.2 * (name != "uniform" and i == 1), 9)} for i, found in told.items())
        assert bandit.choose(x, **given).propensity == pytest.approx(1 / 3)
        bandit.choose(x)


def test_arms_with_names_may_be_said_by_their_places():
    x = dict(zip("abc", np.eye(3)[:, :2], strict=True))
    for name, given in (("arm", {}), ("given", {"own": 1}), ("given", {"own": "b"})):
        bandit = build(HOLDOUTS[name])
        made = {number: bandit.choose(x, **given).name for number in range(1, 11)}
        assert {made[number] for number in made if bandit.memory.assignment.group(number)} == {"b"}
    bandit = build(HOLDOUTS["pairs"])
    for _ in range(60):
        bandit.observe(bandit.choose(x), 1.0)
    assert sum(won for won, _ in bandit.trial_sums.looks[-1].pairs) > 10
    with pytest.raises(ValueError, match="Expected own= to be an arm on offer"):
        build(HOLDOUTS["given"]).choose(x, own=True)


def test_it_stands_on_deadlines_and_takes_no_logs():
    for lacking in ({"window": None}, {"default": None}, {"window": None, "default": None}):
        with pytest.raises(ValueError, match="Expected .*window.* default"):
            build(HOLDOUTS["arm"], **lacking)
    bandit = build(HOLDOUTS["arm"])
    with pytest.raises(ValueError, match="Expected no log in an experiment"):
        bandit.learn_log({"x0": [0.1], "x1": [0.1], "reward": [1.0]})
    with pytest.raises(ValueError, match="Expected own= with holdout"):
        build(None, default=None).choose(arms(default_rng(0)), own=1)
    assert build(None, default=None).trial_sums is None


def test_the_claim_is_the_budgets_whatever_the_groups():
    """mu is that of the budget in each group: more groups cost nothing, and noise grows by 1 / sqrt(1 - budget)
    alone."""
    budget = Budget(1.0, 1e-6)
    plain = joint(features=2, budget=budget)
    for holdout in HOLDOUTS.values():
        made = joint(features=2, budget=budget, holdout=holdout, window=7, default=0.25)
        (release,) = made.privacy.releases
        assert isinstance(release, OneOfRelease) and len(release.groups) == len(holdout.groups)
        assert made.privacy.epsilon == pytest.approx(1.0, abs=1e-3) and made.privacy.private
        assert [group.mu for group in release.groups] == pytest.approx([release.mu] * len(release.groups), rel=1e-3)
        assert made.plan.mechanism.sigma == pytest.approx(plain.plan.mechanism.sigma / math.sqrt(0.97), rel=1e-3)


def test_the_noise_of_a_group_that_does_not_teach_is_small():
    """The design's figures at epsilon 1, delta 1e-6: tau of a group with all of mu^2 is 10.9 people at 1e4."""
    made = joint(features=5, budget=Budget(1.0, 1e-6), holdout=Holdout(action=0), window=7, default=0.0, seed=0)
    sums = made.trial_sums
    tau = sums.scales[1] * np.sqrt(np.cumsum(sums.gains**2))
    assert tau[0] == pytest.approx(6.5, abs=0.2) and tau[96] == pytest.approx(10.9, abs=0.3)


def test_simulations_and_warming_up_take_a_holdout():
    spec = Spec(JointGLM, budget=Budget(1.0, 1e-6), holdout=Holdout(action=0), window=20, default=0.0)
    found = simulate([spec], environments.ball(dim=3, arms=4), horizon=300, runs=1, seed=1)
    assert found.runs[0].options["holdout"]["action"] == 0 and found.runs[0].regret > 0
    for name in ("given", "groups"):
        bandit = build(HOLDOUTS[name])
        assert bandit.warm_up() > 0 and bandit.choices == 0


def test_the_holdouts_arm_cannot_be_retired_before_the_experiment_ends():
    schema = Schema(context={"age": Number(0, 1)}, arms="disjoint", actions=("a", "b"))
    bandit = joint(features=schema, budget=FREE, holdout=Holdout(action="a"), window=5, default=0.0)
    with pytest.raises(ValueError, match="Expected the actions of the holdout among those that are offered"):
        bandit.retire_action("a")
    bandit.choose({"age": 0.5})
    bandit.end_experiment()
    bandit.retire_action("a")
    assert bandit.choose({"age": 0.5}).name == "b" or bandit.memory.assignment.group(2)


def test_simulated_rounds_know_actions_by_their_names():
    schema = Schema(context={"age": Number(0, 1)}, arms="disjoint", actions=("a", "b", "c"))
    holdout = Holdout(action="b", share=0.5, actions=("a", "c"))
    bandit = joint(features=schema, budget=FREE, holdout=holdout, window=5, default=0.0, first=10, pending=50, seed=0)
    block = world(bandit, 60)
    bandit.play(block)
    for number in range(1, 61):
        assert not bandit.memory.assignment.group(number) or block.index[number - 1] == 1
    look = bandit.trial_sums.looks[-1]
    won = sum(sum(pair) for pair in look.pairs)
    own = [n for n in range(1, look.people + 1) if not bandit.memory.assignment.group(n)]
    assert won == pytest.approx(sum(block.arms[n - 1, block.index[n - 1], -1] != 1 for n in own), abs=1e-6)
