"""The worst pair of people through each algorithm's own adder and grid, and two worlds through choose and observe,
beside the ledger: for every setting, and for those in pairs and triples that touch a person's entry."""

import itertools

import numpy as np
import pytest

from tacit import Budget, Control, JointGLM, LocalIRLS, ShuffleNewton
from tacit.algorithms.onepass.algorithm import OnePass
from tacit.features import Category, Number, Schema
from tacit.testing import pairs
from tacit.testing.pairs import Datum, Silent, Visit

BUDGET = Budget(1.0, 1e-3)
DISJOINT = Schema(
    context={"age": Number(0, 1, bins=2), "home": Category("a", "b")}, arms="disjoint", actions=("p", "q")
)
SIGNED = Schema(context={"way": Number(-1, 1), "home": Category("a", "b")}, arms="disjoint", actions=("p", "q", "r"))
SHARED = Schema(context={"age": Number(0, 1)}, action={"kind": Category("x", "y", "z")})
HELD = {"hold": 3, "missing_as": 0.0}
SETTINGS = {
    "vectors": {"dim": 3},
    "probit": {"dim": 3, "link": "probit", "radius": 3.0},
    "identity": {"dim": 2, "link": "identity", "rewards": (-2.0, 0.5)},
    "rewards": {"dim": 3, "rewards": (-0.5, 2.0), "radius": 1e-3},
    "scores": {"dim": 3, "curvature": "none"},
    "base rate": {"dim": 3, "base_rate": 0.02},
    "fields": {"features": DISJOINT},
    "signed fields": {"features": SIGNED},
    "fields, base rate": {"features": DISJOINT, "base_rate": 0.05},
    "disjoint, curvature": {"features": DISJOINT, "curvature": "released"},
    "disjoint, scores": {"features": DISJOINT, "curvature": "none"},
    "shared": {"features": SHARED},
    "shared, base rate": {"features": SHARED, "base_rate": 0.3},
    "forget": {"dim": 3, "forget": 500.0},
    "prior": {"dim": 2, "prior": ([0.3, 0.2], 10.0)},
    "warm": {"dim": 2, "warm": (np.eye(2), np.array([0.0, 1.0]))},
    "control": {"dim": 2, "control": Control(policy="uniform", share=0.2), **HELD},
    "control, pairs": {"dim": 2, "control": Control(policy="uniform", share=0.5, arms=(0, 1)), **HELD},
    "control, fields": {"features": DISJOINT, "control": Control(policy="uniform", share=0.2), **HELD},
}
every = pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
LEAST = 1 / 1.2  # of the claim: a contribution that is 1.2 times as long is found out from here on


def made(**options):
    return JointGLM(**{"budget": BUDGET, "horizon": 60, "first": 4, "pending": 30, "source": Silent()} | options)


@every
def test_nobody_moves_the_sums_by_more_than_the_ledger_has_and_somebody_nearly(options):
    found = pairs.share(made(**options), np.random.default_rng(1))
    assert LEAST < found <= 1


@every
def test_a_kernel_that_adds_a_fifth_more_is_convicted(options, monkeypatch):
    real = OnePass.adder

    def planted(self, estimate):
        adder = real(self, estimate)

        def cells(*given):
            *numbers, out = given
            own = np.zeros_like(out)
            adder.cells(*numbers, own)
            out += np.rint(1.2 * own).astype(np.int64)

        return adder._replace(cells=cells)

    monkeypatch.setattr(OnePass, "adder", planted)
    assert pairs.share(made(**options), np.random.default_rng(1)) > 1


@pytest.mark.parametrize(
    "server",
    [
        LocalIRLS(dim=3, budget=Budget(4.0, 1e-6), curvature="released"),
        LocalIRLS(dim=3, budget=Budget(4.0, 1e-6), curvature="none"),
        ShuffleNewton(dim=3, budget=BUDGET, first=200),
    ],
    ids=lambda server: type(server).__name__,
)
def test_devices_move_what_they_send_by_no_more(server):
    client, (release, *_) = server.device(), server.privacy.releases

    def add(datum):
        with np.errstate(over="ignore", invalid="ignore"):
            x = datum.x / max(1.0, datum.length)
        reward = np.nan_to_num(datum.reward, nan=server.rewards[0])
        return np.asarray(client.contribution(x, float(np.clip(reward, *server.rewards))))

    found = pairs.farthest(add, 3, 1, server.rewards, np.random.default_rng(2))
    assert LEAST < found / release.sensitivity <= 1 + 1e-9


# of a person's rounds: the arm, or the age, and the reward, late or none
FATES = [(1.0, 1.0, 0), (-1.0, 1.0, 0), (1.0, 0.0, 0), (1.0, 1.0, 5), (1.0, None, 0), (0.0, None, 0)]
ENTRIES = {
    "hold": {"hold": 3},
    "missing": {"hold": 3, "missing_as": 0.0},
    "missing as 1": {"hold": 3, "missing_as": 1.0},
    "persons": {"max_rounds_per_person": 2},
    "week": {"max_rounds_per_person": 2, "week": 200.0},
    "forget": {"forget": 500.0},
    "base rate": {"base_rate": 0.1},
    "scores": {"curvature": "none"},
    "fields": {"features": DISJOINT},
    "identity": {"link": "identity", "rewards": (-1.0, 1.0)},
}


def together():
    """One, two and three of them that are not refused."""
    for count in (1, 2, 3):
        for names in itertools.combinations(ENTRIES, count):
            options = {}
            for name in names:
                if any(options.get(key, value) != value for key, value in ENTRIES[name].items()):
                    break
                options |= ENTRIES[name]
            else:
                yield pytest.param(options, id=", ".join(names), marks=[pytest.mark.full] * (count == 3))


@pytest.mark.parametrize("options", [*together()])
def test_two_worlds_are_no_farther_apart_than_is_claimed(options):
    """A person in two rounds, whose rewards come at once, late or never, beside others who are the same in both."""
    by_fields = "features" in options

    def make():
        return made(**options if by_fields else {"dim": 2} | options)

    def visits(fate):
        size, reward, late = fate
        arms = {"age": (size + 1) / 2, "home": "a"} if by_fields else [[size, 0.0]]
        actions = ["p" if size > 0 else "q"] if by_fields else None
        turns = (5, 9) if "max_rounds_per_person" in options else (5,)
        return {turn: Visit(arms, reward, late, actions) for turn in turns}

    try:
        make()
    except ValueError:
        return  # refused: nothing is claimed
    nobody = Visit({"age": 0.5}, actions=["p"]) if by_fields else Visit([[0.0, 0.0]])
    far = [
        pairs.two_worlds(make, visits(one), visits(other), nobody, 50)
        for one, other in itertools.combinations(FATES, 2)
    ]
    assert max(far) <= 1 + 1e-9 and max(far) > 0.2


def test_the_search_finds_what_is_known():
    """Unit vectors times rewards in [-1, 1]: 2 apart, whatever else there is."""

    def add(datum: Datum):
        with np.errstate(invalid="ignore"):
            x = datum.x / max(1.0, datum.length)
        return x * np.clip(np.nan_to_num(datum.reward), -1.0, 1.0)

    assert pairs.farthest(add, 4, 1, (-1.0, 1.0), np.random.default_rng(3)) == pytest.approx(2.0, rel=1e-3)
