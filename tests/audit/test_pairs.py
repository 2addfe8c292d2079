"""The worst pair of people through each algorithm's own adder and grid, and two worlds through choose and observe,
beside the ledger: for every setting, and for those in pairs and triples that touch a person's entry."""

import itertools
import json
import shutil
from typing import Any, NamedTuple

import numpy as np
import pytest

from core_tests.made import algorithm, joint
from devices_tests.roles import boards
from reticent import Budget, Holdout
from reticent.core.onepass import OnePass
from reticent.features import Category, Number, Schema
from reticent.testing import pairs
from reticent.testing.pairs import Datum, Silent, Visit
from reticent_devices.roles.device import within
from reticent_devices.roles.local import LocalClient
from serve_tests.store.places import Clock, Place, settle, sums

BUDGET = Budget(1.0, 1e-3)
DISJOINT = Schema(
    context={"age": Number(0, 1, bins=2), "home": Category("a", "b")}, arms="disjoint", actions=("p", "q")
)
SIGNED = Schema(context={"way": Number(-1, 1), "home": Category("a", "b")}, arms="disjoint", actions=("p", "q", "r"))
SHARED = Schema(context={"age": Number(0, 1)}, action={"kind": Category("x", "y", "z")})
HELD = {"window": 3, "default": 0.0}
SETTINGS = {
    "vectors": {"features": 3},
    "probit": {"features": 3, "link": "probit", "radius": 3.0},
    "identity": {"features": 2, "link": "identity", "range": (-2.0, 0.5)},
    "rewards": {"features": 3, "range": (-0.5, 2.0), "radius": 1e-3},
    "scores": {"features": 3, "model": "scores"},
    "base rate": {"features": 3, "base_rate": 0.02},
    "fields": {"features": DISJOINT},
    "signed fields": {"features": SIGNED},
    "fields, base rate": {"features": DISJOINT, "base_rate": 0.05},
    "signed fields, base rate": {"features": SIGNED, "base_rate": 0.05},
    "disjoint, curvature": {"features": DISJOINT, "model": "curvature"},
    "disjoint, scores": {"features": DISJOINT, "model": "scores"},
    "shared": {"features": SHARED},
    "shared, base rate": {"features": SHARED, "base_rate": 0.3},
    "forget": {"features": 3, "forget": 500.0},
    "prior": {"features": 2, "prior": ([0.3, 0.2], 10.0)},
    "warm": {"features": 2, "rows": (np.eye(2), np.array([0.0, 1.0]))},
    "holdout": {"features": 2, "holdout": Holdout(policy="uniform", share=0.2, budget=0.9, teach=0.9), **HELD},
    "holdout, pairs": {"features": 2, "holdout": Holdout(action=2, share=0.5, actions=(0, 1)), **HELD},
    "holdout, divided": {"features": 2, "holdout": Holdout(policy="uniform", share=0.5, actions=(0, 1)), **HELD},
    "holdout, fields": {"features": DISJOINT, "holdout": Holdout(policy="uniform", share=0.2), **HELD},
}
every = pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS)
SERVERS = {name: make for name, make in boards.SERVERS.items() if "public" not in name}  # those send a coin
LEAST = 1 / 1.2  # of the claim: a contribution that is 1.2 times as long is found out from here on


USUAL = {"budget": BUDGET, "horizon": 60, "first": 4}


def made(**options):
    return joint(**USUAL | {"pending": 30, "source": Silent()} | options)


@every
def test_nobody_moves_the_sums_by_more_than_the_ledger_has_and_somebody_nearly(options):
    assert LEAST < pairs.share(made(**options), np.random.default_rng(1)) <= 1


@every
def test_a_kernel_that_adds_a_fifth_more_is_convicted(options, monkeypatch):
    real = OnePass.adder
    monkeypatch.setattr(OnePass, "adder", lambda self, estimate: Larger(real(self, estimate)))
    assert pairs.share(made(**options), np.random.default_rng(1), enough=1.0) > 1


class Larger(NamedTuple):
    """An Adder."""

    honest: Any

    def add(self, rows, rewards, cell, longest, out, *weights):
        own = np.zeros_like(out)
        self.honest.add(rows, rewards, cell, longest, own, *weights)
        out += np.rint(1.2 * own).astype(np.int64)


class NoCoins:
    """In the place of a device's random numbers: it rounds down, and all coins are 0."""

    private = False

    def uniforms(self, count):
        return np.zeros(count)

    def halves(self, trials, count):
        return np.zeros(count, np.int64)


def sent(client, datum, rewards):
    """What a device hides: in the shuffle model, what its whole numbers are of."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = datum.x / max(1.0, datum.length)
    local, reward = isinstance(client, LocalClient), within(datum.reward, rewards)
    made = LocalClient.contribution if local else type(client).contribution  # shaken is no farther
    vector = np.asarray(made(client, x, rewards[0] if reward is None and not local else reward))
    if not local:
        vector = np.zeros(vector.size) if reward is None else vector
        plan = client._plan
        assert (np.abs(client.counts(vector) - plan["reach"] - plan["grid"] * vector) <= 1).all()
    return vector


def test_devices_move_what_they_send_by_no_more(served):
    """At the first billboard, and at one whose estimate is long."""
    server = boards.ALL[served]()
    rewards, sensitivity = server.rewards, server.privacy.releases[0].sensitivity
    document = json.loads(server.billboard())
    for length in (0.0, 2.0):
        document["theta"] = [length, *document["theta"][1:]]
        client = boards.device(boards.encoded(document))
        client._noise = NoCoins()
        found = pairs.farthest(
            lambda datum, at=client: sent(at, datum, rewards),
            client.dim,
            1,
            rewards,
            np.random.default_rng(2),
            lambda a, b: float(np.linalg.norm(a - b)),
        )
        assert found / sensitivity <= 1 + 1e-9 and (found / sensitivity > LEAST or served not in SERVERS)


FATES = [  # of a person's rounds: the arm, or the age; the reward; and when it comes
    *((1.0, 1.0, 0), (-1.0, 1.0, 0), (1.0, 0.0, 0), (1.0, 1.0, 9), (1.0, 0.0, None), (0.0, 1.0, 0)),
]
CANCELLED = [(1.0, None, 0), (1.0, None, 2)]  # on a database alone
ENTRIES = {
    "window": {"window": 3},
    "default": HELD,
    "default 1": {"window": 3, "default": 1.0},
    "persons": {"rounds": 2},
    "week": {"rounds": 2, "per": 200.0},
    "forget": {"forget": 500.0},
    "base rate": {"base_rate": 0.1},
    "scores": {"model": "scores"},
    "fields": {"features": DISJOINT},
    "identity": {"link": "identity", "range": (-1.0, 1.0)},
    "prior": {"prior": (np.array([0.4, -0.2]), 10.0)},
    "holdout": {"holdout": Holdout(policy="uniform", share=0.2), **HELD},
    "a fixed arm": {"holdout": Holdout(action=0, share=0.5), **HELD},
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
                yield pytest.param(options, id=", ".join(names))


def fates(options, each=FATES):
    """What a person may do in one round, or in three where two of them teach; and everybody else, who teach nothing."""
    by_fields, out = options.get("features") is DISJOINT, []
    for size, reward, late in each:
        arms = {"age": (size + 1) / 2, "home": "a"} if by_fields else [[size, 0.0]]
        visit = Visit(arms, reward, late, ["p" if size > 0 else "q"] if by_fields else None)
        out.append(dict.fromkeys((5, 9, 14) if "rounds" in options else (5,), visit))
    return out, Visit({"age": 0.5}, actions=["p"]) if by_fields else Visit([[0.0, 0.0]])


def drawn(options):
    """With the same key of an experiment each time. None where the options are refused: nothing is claimed."""
    try:
        given = options if "features" in options else {"features": 2} | options
        return made(policy=np.random.default_rng(3), **given)
    except ValueError:
        return None


@pytest.mark.parametrize("options", [*together()])
def test_two_worlds_are_no_farther_apart_than_is_claimed(options):
    """A person whose rewards come at once, late or never, beside others who are the same in both."""
    if (bandit := drawn(options)) is None:
        return
    each, nobody = fates(options)
    found = [(one, pairs.leaves(drawn(options), one, nobody, 50)) for one in each]
    group = bandit.memory.assignment.group if "holdout" in options else lambda number: 0
    assert 0.2 < pairs.worlds(bandit.privacy, found, group) <= 1 + 1e-9


@pytest.mark.parametrize("options", ENTRIES.values(), ids=ENTRIES)
def test_two_worlds_on_a_database_are_no_farther_apart(options, folder):
    """With cancelled rewards, too; from copies of one that is new, which have one key of an experiment."""
    value = algorithm(**USUAL | {"features": 2, "window": 3} | options)
    given = {"reward": {"window": "3 seconds"}, "pending": 30, "source": Silent()}
    (folder / "new").mkdir()
    Place(str(folder / "new/a.db"), folder / "new/keys").open(value, **given).close()
    each, nobody = fates(options, FATES + CANCELLED)
    found = []
    for i, one in enumerate(each):
        own, clock = shutil.copytree(folder / "new", folder / f"{i}"), Clock()
        with Place(str(own / "a.db"), own / "keys").open(value, clock=clock, **given) as stored:

            def each_second(stored=stored, clock=clock):
                clock.now += 1.0
                stored.tend()

            pairs.played(stored, one, nobody, 30, each_second)
            settle(stored)
            assert stored.entered == 30 and stored.version > 3
            steps = sums(stored)
            found.append((one, stored.one_pass.plan.mechanism.cell * np.array([steps[i] for i in sorted(steps)])))
            group = stored._shared.assignment.group if "holdout" in options else lambda number: 0
            certificate = stored.privacy
    assert 0.2 < pairs.worlds(certificate, found, group) <= 1 + 1e-9


def test_the_search_finds_what_is_known():
    """Unit vectors times rewards in [-1, 1]: 2 apart, whatever else there is."""

    def add(datum: Datum):
        with np.errstate(invalid="ignore"):
            x = datum.x / max(1.0, datum.length)
        return x * np.clip(np.nan_to_num(datum.reward), -1.0, 1.0)

    assert pairs.farthest(add, 4, 1, (-1.0, 1.0), np.random.default_rng(3)) == pytest.approx(2.0, rel=1e-3)
