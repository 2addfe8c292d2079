"""What one person adds to the sums of an experiment moves them by no more than is claimed, in whichever group, and the
claim is nearly attained; and which holdouts can be declared."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng
from scipy.optimize import minimize

from core_tests.made import joint
from reticent import Budget, Holdout
from reticent.algorithms.groups import Groups
from reticent.features import Category, Schema

BUDGET = Budget(1.0, 1e-6)
FIELDS = Schema(context={"sex": Category("f", "m")}, arms="disjoint", actions=("a", "b", "c"))
HOLDOUTS = {
    "arm": Holdout(action="a"),
    "teaching": Holdout(action="a", teach=0.4, budget=0.2),
    "uniform": Holdout(policy="uniform"),
    "pairs": Holdout(action="a", actions=("b", "c"), budget=0.3),
    "groups": Holdout(action="a", actions=("b", "c"), share=0.2, min_share=0.1),
    "divided": Holdout(policy="uniform", actions=("a", "b", "c")),
}
FORMS = {
    "curvature": {"features": 2},
    "scores": {"features": 2, "model": "scores"},
    "blocks": {"features": FIELDS, "model": "curvature"},
    "centred": {"features": 2, "base_rate": 0.02},
}
WORST = {  # rows at which two people's numbers for learning are nearly D_0 apart, rewards 1 and 0
    "curvature": ((1.0, 0.0), (1e-9, 0.0)),
    "scores": ((1.0, 0.0), (1.0, 0.0)),
    "blocks": ((1.0, 0.0, 0.0, 0.0, 1.0), (1e-9, 0.0, 0.0, 0.0, 1.0)),
    "centred": ((1.0, 0.0), (1.0, 0.0)),
}


def bandit(holdout, form="curvature", **options):
    return joint(**({"budget": BUDGET, "holdout": holdout, "window": 5, "default": 0.0} | FORMS[form] | options))


class Larger(Groups):
    """Larger numbers for the experiment than those that its noise is for."""

    by = 1.3

    @property
    def part(self):
        return self.by * super().part

    @property
    def weights(self):
        return super().weights * [1.0, self.by]


def vector(made, x, reward, group=0, *, teaches=1.0, arm=0, groups=None):
    """What such a person adds, in floats, by the compiled sums. groups: in the place of the plan's."""
    model, out = made.one_pass.model, np.zeros(made.plan.mechanism.size)
    if groups is not None:
        model = dataclasses.replace(model, groups=groups)
    row = np.array([*x, group, teaches, arm], np.float64)
    model.adder(made.sums.estimator.estimate.arrays).add(row[None], np.array([float(reward)]), 0.0, 0.0, out)
    return out


def claim(made):
    """D."""
    return made.one_pass.model.sums.sensitivity


def groups_of(made):
    return range(len(made.algorithm.holdout.groups))


def arms_of(made, group):
    return range(len(made.algorithm.holdout.pairs) + 1) if group == 0 else (0,)


def farthest(made, *, groups=None, starts=6, enough=np.inf):
    """The largest distance of two people of one group, or one of `enough`, over D: by local ascent from random
    pairs."""
    rng, out = default_rng(0), []
    for group in groups_of(made):
        best = 0.0
        for k in range(starts):
            arms = [int(rng.choice(arms_of(made, group))) for _ in range(2)]
            ends = (1.0, 0.0) if k % 2 else (1.0, 1.0)

            def distance(z, group=group, arms=arms, ends=ends):
                one = vector(made, z[:2], ends[0], group, arm=arms[0], groups=groups)
                return -np.linalg.norm(one - vector(made, z[2:], ends[1], group, arm=arms[1], groups=groups))

            found = minimize(distance, rng.uniform(-0.7, 0.7, 4), bounds=[(-1, 1)] * 4, method="L-BFGS-B")
            best = max(best, -found.fun)
            if best > enough * claim(made):
                break
        out.append(best / claim(made))
        if out[-1] > enough:
            break
    return out


@given(st.sampled_from(sorted(FORMS)), st.sampled_from(sorted(HOLDOUTS)), st.data())
@settings(max_examples=150, deadline=None)
def test_no_two_people_of_a_group_are_farther_apart(form, name, data):
    """Whatever comes in, and whether they teach: a number that was refused counts as silence."""
    made, numbers = MADE[form, name], st.floats(-1.5, 1.5) | st.floats(-1e3, 1e3)
    group, found = data.draw(st.sampled_from(groups_of(made))), []
    for _ in range(2):
        x = data.draw(st.lists(numbers, min_size=2, max_size=2))
        x += [0.0, 0.0, float(data.draw(st.integers(0, 1)))] * (form == "blocks")
        teaches, arm = data.draw(st.sampled_from((0.0, 1.0))), data.draw(st.sampled_from(arms_of(made, group)))
        if not teaches:
            x, arm = [0.0] * len(x), 0
        found.append(vector(made, x, data.draw(numbers), group, teaches=teaches, arm=arm))
    assert np.linalg.norm(found[0] - found[1]) <= claim(made) * (1 + 1e-12)
    assert np.linalg.norm(found[0]) <= claim(made) * (1 + 1e-12), "the grid would leave it out"


MADE = {(form, name): bandit(holdout, form) for form in FORMS for name, holdout in HOLDOUTS.items()}


@pytest.mark.parametrize("name", HOLDOUTS)
@pytest.mark.parametrize("form", FORMS)
def test_the_claim_is_nearly_attained_on_every_group(form, name):
    """By the pair that attains D_0, with rewards 1 and 0."""
    made = MADE[form, name]
    for group in groups_of(made):
        arms = (1, 2) if group == 0 and made.algorithm.holdout.pairs else (0, 0)
        one, other = (
            vector(made, x, r, group, arm=arm) for x, r, arm in zip(WORST[form], (1.0, 0.0), arms, strict=True)
        )
        apart = np.linalg.norm(one - other) / claim(made)
        learnt = np.linalg.norm((one - other)[: made.one_pass.learnt.sums.size])
        k = made.plan.groups.weights[group, 0]
        if learnt >= 0.999 * k * made.one_pass.learnt.sums.sensitivity:  # else the pair is another at this base rate
            assert 0.999 <= apart <= 1 + 1e-12
    share = math.sqrt(1 - made.algorithm.holdout.budget)
    assert claim(made) == pytest.approx(made.one_pass.learnt.sums.sensitivity / share, rel=1e-12)


@pytest.mark.parametrize("name", ["arm", "teaching", "pairs"])
def test_a_search_attains_the_claim_and_no_more(name):
    assert all(0.97 <= one <= 1 + 1e-9 for one in farthest(MADE["curvature", name]))


def test_larger_numbers_would_exceed_it():
    for name in ("teaching", "pairs"):
        made = MADE["curvature", name]
        assert max(farthest(made, groups=Larger(*made.plan.groups), enough=1.02)) > 1.02


def test_a_person_of_one_group_is_not_in_the_others_sums():
    made = MADE["curvature", "groups"]
    start = made.one_pass.learnt.sums.size
    for group in groups_of(made):
        added = vector(made, (0.6, 0.0), 1.0, group)[start:]
        assert np.flatnonzero(added).tolist() == [group] and added[group] == made.plan.groups.weights[group, 1] / 2
        silent = vector(made, (0.0, 0.0), 0.0, group, teaches=0.0)
        assert not silent[:start].any() and silent[start + group] == -made.plan.groups.weights[group, 1] / 2


def test_pairs_are_of_the_bandits_own_choices():
    made = MADE["curvature", "pairs"]
    added = vector(made, (0.6, 0.0), 0.75, 0, arm=2)[made.one_pass.learnt.sums.size :] / made.plan.groups.part
    assert added[2:].tolist() == pytest.approx([0.0, 0.0, 0.75, 0.25])
    assert not vector(made, (0.6, 0.0), 0.75, 1, arm=2)[made.one_pass.learnt.sums.size + 2 :].any()


def test_places_of_a_block():
    groups = {name: [(group.name, group.arm, group.places) for group in one.groups] for name, one in HOLDOUTS.items()}
    assert groups["arm"] == [("bandit", None, 9), ("holdout", "a", 1)] and HOLDOUTS["arm"].block == 10
    assert groups["groups"] == [("bandit", None, 6), ("holdout", "a", 2), ("arm", "b", 1), ("arm", "c", 1)]
    assert groups["divided"] == [("bandit", None, 27), ("arm", "a", 1), ("arm", "b", 1), ("arm", "c", 1)]
    for holdout in HOLDOUTS.values():
        assert sum(group.places for group in holdout.groups) == holdout.block
        assert math.fsum(group.chance for group in holdout.groups) == pytest.approx(1.0)
    assert HOLDOUTS["groups"].block == 10 and Holdout(action=0, share=1 / 3).block == 3


WRONG = {
    "Expected a holdout with either action or policy": [{}, {"action": 0, "policy": "uniform"}],
    "Expected share to be 1 / m": [{"action": 0, "share": 0.3}, {"action": 0, "share": 0.15}],
    r"Expected share in \(0, 1\)": [{"action": 0, "share": 0.0}, {"action": 0, "share": 1.0}],
    "Expected actions with min_share": [{"action": 0, "min_share": 0.1}],
    "Expected min_share to be 1 / n": [
        {"action": 0, "actions": (1,), "min_share": 0.03},
        {"action": 0, "actions": (1,), "min_share": 0.2},
        {"action": 0, "actions": (1,), "share": 0.2, "min_share": 1 / 7},
    ],
    "Expected no min_share with policy": [{"policy": "uniform", "actions": (1,), "min_share": 0.1}],
    "Expected shares of holdout and actions that leave": [
        {"action": 0, "actions": (1, 2, 3), "share": 0.25, "min_share": 0.25}
    ],
    "Expected policy to be one of": [{"policy": "best"}],
    "Expected bound to be one of": [{"action": 0, "bound": "asymptotic"}],
    "Expected assign to be one of": [{"action": 0, "assign": "people"}],
    r"Expected teach in \[0, 1\)": [{"action": 0, "teach": 1.0}],
    r"Expected budget in \(0, 1\)": [{"action": 0, "budget": 0.0}],
    r"Expected level in \(0, 1\)": [{"action": 0, "level": 95}],
    "Expected actions of a holdout to be names or places": [
        {"action": ""},
        {"action": -1},
        {"action": 0, "actions": (1, 1)},
    ],
    "Expected actions beside the holdout's own": [{"action": 0, "actions": (0, 1)}],
}


@pytest.mark.parametrize(("sentence", "given"), [(words, one) for words, many in WRONG.items() for one in many])
def test_what_cannot_be_declared(sentence, given):
    with pytest.raises(ValueError, match=sentence):
        Holdout(**given)


def test_a_holdout_is_frozen_and_compared_by_its_settings():
    assert Holdout(action="a") == Holdout(action="a", actions=[]) != Holdout(action="b")
    with pytest.raises(dataclasses.FrozenInstanceError):
        Holdout(action="a").share = 0.5


NOT_WITH = [  # and what is in tests/whole/test_option_pairs.py
    ({"default": None}, "window and default in an experiment.* got no default"),
    ({"window": None, "default": None}, "window and default in an experiment.* got none"),
    ({"holdout": "hello"}, "holdout to be Holdout"),
    ({"discount": 0.5}, "discount .* in an experiment"),
]


@pytest.mark.parametrize(("options", "named"), NOT_WITH)
def test_what_does_not_go_with_an_experiment(options, named):
    with pytest.raises(ValueError, match=f"Expected .*{named}"):
        bandit(**({"holdout": Holdout(action=0)} | options))


def test_arms_of_a_schema_have_its_names():
    with pytest.raises(ValueError, match="Expected actions of the holdout that are actions"):
        bandit(features=FIELDS, budget=BUDGET, holdout=Holdout(action="hello"))
    assert isinstance(bandit(features=FIELDS, budget=BUDGET, holdout=Holdout(action="a")).plan.groups, Groups)
