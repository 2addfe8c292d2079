"""The ledger fails closed: what it cannot count is an error, and nothing that is added makes a claim smaller."""

import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent import Bandit, Budget, JointGLM
from reticent.privacy import ledger
from reticent.privacy.certificate import DEVICES, certify
from reticent.privacy.ledger import (
    GaussianRelease,
    GroupReleases,
    LaplaceRelease,
    LocalRelease,
    OneOfRelease,
    RepeatedRelease,
    ShuffledRelease,
)
from reticent.privacy.relations import PERSON, RELATIONS, REPLACE, ROUNDS, UNIT, USER
from reticent_devices import LocalIRLS, ShuffleNewton

DELTA = 1e-5
GAUSSIAN = GaussianRelease("sum", "numbers", 1.0, 1.0, 4.0, relation=REPLACE)
REPEATED = RepeatedRelease("tree", "numbers", "a theorem", 0.1, 1e-7, 3, 10, relation=REPLACE)
SHUFFLED = ShuffledRelease("shuffled sum", "numbers", 1.0, 100, 90, 8.0, 4, 2.0, 64, 0.5, DELTA, relation=REPLACE)
LAPLACE = LaplaceRelease("sum", "a number", 4, 200 << 40, 10, 9, 8, 7, 1.0, relation=REPLACE)
LOCAL = LocalRelease("cap", "a report", 3, 1.0, 2.0, 0.7, 0.0, relation=REPLACE)
GROUPS = GroupReleases("a", (GAUSSIAN, GAUSSIAN)), GroupReleases("b", (GAUSSIAN,))
ONE_OF = OneOfRelease("one of", "numbers", GROUPS, relation=REPLACE)
KINDS = (GAUSSIAN, ONE_OF, REPEATED, SHUFFLED, LAPLACE, LOCAL)


class MadeUp(msgspec.Struct, frozen=True):
    """A release as a new mechanism might bring it along, with all that the known ones have."""

    name: str = "new"
    statistic: str = "numbers"
    epsilon: float = 0.0
    delta: float = 0.0
    mu: float = 0.0

    def cost(self, delta):
        return 0.0


@pytest.mark.parametrize("unknown", [MadeUp(), None, "gaussian", {"tag": "gaussian"}])
def test_an_unknown_kind_of_release_raises(unknown):
    for releases in ([unknown], [GAUSSIAN, unknown], [unknown, GAUSSIAN]):
        with pytest.raises(ValueError, match="Expected a kind of release that the ledger knows"):
            ledger.epsilon_of(releases, DELTA)
        with pytest.raises(ValueError, match="Expected a kind of release"):
            ledger.check(releases, Budget(1.0, DELTA))
        with pytest.raises(ValueError, match="Expected a kind of release"):
            claim(releases, ())
    with pytest.raises(ValueError, match="Expected a kind of release"):
        claim([GAUSSIAN], [unknown])


def claim(releases, spent):
    return certify(
        "Bandit", model="joint", budget=Budget(8.0, DELTA), releases=releases, spent=spent, source=DEVICES, rounds=10
    )


def test_every_known_kind_costs_something_and_nothing_costs_nothing():
    assert ledger.epsilon_of([], DELTA) == 0.0 and all(ledger.epsilon_of([release], DELTA) > 0.0 for release in KINDS)
    assert ledger.epsilon_of([LOCAL], 0.0) == 0.7  # pure
    assert ledger.epsilon_of([LAPLACE], 0.0) == pytest.approx(4 * math.log(256 / 200), rel=1e-11)
    with pytest.raises(ValueError, match="Expected a release whose epsilon is known at delta 1e-06, got one at 1e-05"):
        ledger.epsilon_of([SHUFFLED], 1e-6)


def test_what_cannot_be_counted_together_raises():
    for first in KINDS:
        for second in KINDS[2:]:
            with pytest.raises(ValueError, match="got a mixture"):
                ledger.epsilon_of([first, second], DELTA)
    for release in KINDS[2:]:
        with pytest.raises(ValueError, match="Expected Gaussian releases for several rounds"):
            ledger.epsilon_of([release], DELTA, rounds=2)


IMPOSSIBLE = (
    *((GAUSSIAN, "rounds", (0, -1)), (GAUSSIAN, "sensitivity", (-1.0, math.nan))),
    *((GAUSSIAN, "column_norm", (math.nan,)), (GAUSSIAN, "sigma", (-4.0, math.nan, math.inf))),
    *((GAUSSIAN, "grid", (-1.0,)), (GAUSSIAN, "numbers", (-1,)), (LAPLACE, "cells", (0, 1.5))),
    *((LAPLACE, "chance", (-1, 1 << 48, 0.5)), (LAPLACE, "honest", (0, 10)), (LAPLACE, "minimum", (11,))),
    (LAPLACE, "relation", ("",)),
)


@pytest.mark.parametrize(("release", "name", "values"), IMPOSSIBLE, ids=lambda part: str(part)[:20])
def test_a_release_with_impossible_numbers_is_refused(release, name, values):
    for value in values:
        with pytest.raises(ValueError, match="Expected"):
            type(release)(**(msgspec.structs.asdict(release) | {name: value}))


def test_a_discrete_laplace_sum_without_noise_costs_everything():
    assert ledger.epsilon_of([msgspec.structs.replace(LAPLACE, chance=0)], 0.5) == math.inf


gaussians = st.builds(
    GaussianRelease,
    st.just("sum"),
    st.just("numbers"),
    sensitivity=st.floats(0.0, 10.0),
    column_norm=st.floats(0.0, 10.0),
    sigma=st.floats(0.1, 1e4),
    rounds=st.integers(1, 5),
    grid=st.sampled_from([0.0, 2.0**-10]),
    numbers=st.integers(0, 1000),
    relation=st.just(REPLACE),
)


@given(st.lists(gaussians, max_size=4), gaussians, st.integers(1, 3), st.floats(-9, -1))
def test_one_release_more_never_costs_less(releases, more, rounds, log_delta):
    """Up to the rounding of epsilon, one part in 10^12 (gaussian.epsilon); and more rounds never cost less."""
    delta = 10**log_delta
    before = ledger.epsilon_of(releases, delta, rounds=rounds)
    assert ledger.epsilon_of([*releases, more], delta, rounds=rounds) >= before * (1 - 1e-11)
    assert ledger.epsilon_of(releases, delta, rounds=rounds + 1) >= before * (1 - 1e-11)


@given(gaussians.filter(lambda release: release.mu > 0.05), st.floats(0.2, 0.99))
def test_less_noise_costs_more(release, share):
    quiet = msgspec.structs.replace(release, sigma=share * release.sigma, grid=0.0)
    loud = msgspec.structs.replace(release, grid=0.0)
    assert ledger.epsilon_of([quiet], 1e-3) > ledger.epsilon_of([loud], 1e-3)


def test_certificates_are_what_the_ledger_computes_from_their_releases():
    """In every model, from the document alone: the claim is recomputed by whoever reads it."""
    budget = Budget(1.0, 1e-6)
    for made in (Bandit(JointGLM(3, budget)), LocalIRLS(3, budget), ShuffleNewton(3, budget)):
        document = json.loads(made.privacy.json())
        releases = msgspec.convert(document["releases"], list[ledger.Release])
        assert ledger.epsilon_of(releases, document["delta"]) == document["epsilon"] <= 1.0 + 1e-6
        assert document["spent"] == 0.0


def test_a_claim_above_its_budget_is_not_called_private():
    loud = msgspec.structs.replace(LOCAL, epsilon=8.1)
    assert claim([msgspec.structs.replace(LOCAL, epsilon=8.0)], ()).private and not claim([loud], ()).private
    assert claim([msgspec.structs.replace(LOCAL, epsilon=math.inf)], ()).epsilon is None


def test_of_several_groups_the_worst_counts():
    """Neither their sum nor the first; with other releases it composes as any Gaussian one does."""
    assert ONE_OF.mu == pytest.approx(math.sqrt(2) * GAUSSIAN.mu) and ONE_OF.worst is GROUPS[0]
    assert OneOfRelease("one of", "numbers", GROUPS[::-1], relation=REPLACE).mu == ONE_OF.mu
    many = OneOfRelease("one of", "numbers", (*GROUPS, *GROUPS[1:] * 9), relation=REPLACE)
    assert ledger.epsilon_of([many], DELTA) == ledger.epsilon_of([ONE_OF], DELTA)
    assert ledger.epsilon_of([ONE_OF], DELTA) == ledger.epsilon_of([GAUSSIAN] * 2, DELTA)
    assert ledger.epsilon_of([ONE_OF, GAUSSIAN], DELTA) == ledger.epsilon_of([GAUSSIAN] * 3, DELTA)
    assert ledger.epsilon_of([ONE_OF], DELTA, rounds=3) > ledger.epsilon_of([ONE_OF], DELTA)


def test_the_grid_of_a_group_is_not_forgotten():
    coarse = msgspec.structs.replace(GAUSSIAN, sensitivity=0.5, grid=0.5, numbers=1000)
    groups = GroupReleases("a", (GAUSSIAN,)), GroupReleases("b", (coarse,))
    one_of = OneOfRelease("one of", "numbers", groups, relation=REPLACE)
    assert one_of.mu == GAUSSIAN.mu and one_of.factors == coarse.factors and max(one_of.factors) > 0
    assert ledger.epsilon_of([one_of], DELTA) >= ledger.epsilon_of([GAUSSIAN], DELTA)


def test_groups_are_of_one_relation_and_survive_a_file():
    again = msgspec.json.decode(msgspec.json.encode(ONE_OF), type=ledger.Release)
    assert again == ONE_OF and hash(again) == hash(ONE_OF)
    for groups in ((), (GroupReleases("a", ()),)):
        with pytest.raises(ValueError, match="Expected groups with at least one release"):
            OneOfRelease("one of", "numbers", groups, relation=REPLACE)
    with pytest.raises(ValueError, match="Expected"):
        OneOfRelease("one of", "numbers", GROUPS, relation="replace rewards")


# relations

RELEASE = {"name": "one", "statistic": "a sum", "sensitivity": 1.0, "column_norm": 1.0, "sigma": 5.0}


def test_releases_of_two_relations_are_not_counted_together():
    own = [GaussianRelease(**RELEASE, relation=relation) for relation in RELATIONS]
    for one in own:
        assert ledger.epsilon_of([one, one], 1e-6) > 0
        for other in own:
            if one is not other:
                with pytest.raises(ValueError, match="for one neighbouring relation, got several"):
                    ledger.epsilon_of([one, other], 1e-6)
    with pytest.raises(ValueError, match="neighbouring relation"):
        ledger.epsilon_of([own[1], LocalRelease("r", "s", 1, 1.0, 1.0, 0.5, 0.0, relation="replace")], 1e-6)
    with pytest.raises(ValueError, match="Expected relation"):
        GaussianRelease(**RELEASE, relation="remove")


def test_every_relation_has_words():
    assert set(UNIT) == set(USER) == set(RELATIONS) and set(PERSON) == set(ROUNDS)
