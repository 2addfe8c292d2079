"""One audit of every claim: the two worlds are those that a certificate's own words compare, whatever its class.

It catches a certificate that protects less than it says, as one did for whole arm sets that were sent in the clear. How
much noise there is, and whether it is near the claim, is what the attacks of `reticent audit` are about. A false alarm
has a probability of at most 1e-6 for each of some forty pairs of worlds in which devices draw from the operating
system; the other noise is seeded."""

import dataclasses

import msgspec
import numpy as np
import pytest

from core_tests.made import any_kind, joint
from reticent import Budget, Holdout, Simulated, registry
from reticent.experiments.spec import settings_of
from reticent.features import Number, Schema
from reticent.privacy.budget import Person
from reticent.testing import stage
from reticent_devices import LocalIRLS
from reticent_lab.audit.attacks import bandits as attacks
from reticent_papers import regression
from tests.audit import worlds

LOCAL, COARSE = Budget(1.0, 1e-6), Budget(1.0, 0.02)
CHOICES, PEOPLE = 6, 6
RUNS = [
    pytest.param({}, id="few"),
    pytest.param({"gaussian": 3000, "general": 3000}, marks=pytest.mark.full, id="many"),
]

JOINTLY = {"features": 2, "budget": COARSE, "horizon": CHOICES}
FIRST = {"JointReweighted": 4}  # choices of the first step, where not 2
WEEK, LATER = {"rounds": 1, "per": 2.0}, {"window": 1}
FIELDS = {"features": Schema(context={"x": Number(0, 1, bins=2)}, arms="disjoint", actions=("a", "b"))}


def registered(table):
    """Every class of the registry as it comes; below are those that need settings, or that change a promise by them."""
    return {name: [{}] for name in registry.algorithms(table)}


JOINT = registered("JOINT") | {
    "JointGLM": [
        *({}, {"model": "scores"}, FIELDS, FIELDS | {"model": "fields"}, FIELDS | {"base_rate": 0.02}),
        *({"base_rate": 0.02}, {"rounds": 2}, {"window": 2, "default": 0.0}),
        *({"window": 2, "default": 0.0, "holdout": Holdout(policy="uniform", share=0.5)}, WEEK),
        *(*(LATER | options for options in ({}, {"default": 0.0})), LATER | {"rounds": 2}, LATER | WEEK),
    ],
    "JointGLMRare": [{"ridge": 0.01}, {"ridge": 0.01, "rounds": 2}],  # so that it releases an estimate
    "ShariffLinUCB": [{}, {"rounds": 2}],
    "AdaCOFUL": [{"growth": 0.5}, {"growth": 0.5, "rounds": 2}],  # so that one user ends an episode
    "AdaCUCB": [{}, {"rounds": 2}],
    "AdaCGOPE": [{"length_scale": 1e-3}, {"length_scale": 1e-3, "rounds": 2}],
}
SHUFFLE = registered("SHUFFLE") | {
    "ShuffleNewton": [{}, {"curvature": "none"}],
    "ShuffleGLM": [{"horizon": 20, "iterations": 1}],
    "ShuffleLinUCB": [{"horizon": 100}],
    "ShuffleSBLB": [{"horizon": 100}, {"horizon": 100, "bits": 3}],
}
LEAVING = {"ShuffleGLM": worlds.batches_of_rounds, "DistributedElimination": worlds.sums_of_an_arm}
DEVICES = registered("LOCAL") | {
    "LocalIRLS": [{}, {"curvature": "none"}, {"randomizer": "gaussian"}, {"public_arms": True}],
    "LocalCombiner": [{"horizon": 1000}],
    "LocalReweighted": [{"horizon": 1000, "first": 60}],
    "LocalSquareCB": [{"horizon": 1000}],
}
REGRESSIONS = {name: [{}] for name in regression.__all__} | {"PrivateRidge": [{}, {"model": "local"}]}
EVERY = JOINT | SHUFFLE | DEVICES | REGRESSIONS
# Settings of sizes, schedules, estimates and amounts of noise: they change what is learnt, and no promise's words.
SILENT = """
    batches blend bounds budget calibration closing_share constant constants criterion curvature
    descents dim
    discount dropout eigenvalue estimate explore factor failure features first forced forget greed growth
    horizon iterations kappa_star largest learner length_scale link malicious model most_o most_tau noise
    optimism oracle_kappa oracle_kappa_star pending per_day policy power prior projection radius randomizer range
    release rewards ridge rows scale schedule share shift shrink source sparsity step step_scale steps subgaussian
    targets threshold timing tuning variant width width_scale"""


OTHERWISE = {"rounds": "max_rounds_per_person"}  # what published algorithms call it


def algorithm(name):
    return registry.load(registry.algorithms()[name], name)


def each(table):
    return [
        pytest.param(name, options, id=f"{name}-{'-'.join(map(str, options)) or 'plain'}-{i}")
        for name, all_options in table.items()
        for i, options in enumerate(all_options)
    ]


def test_every_setting_is_here():
    """A setting that is new fails until it has a case, or is known to change no promise."""
    covered = {setting for cases in EVERY.values() for options in cases for setting in options}
    for name in EVERY:
        kind = getattr(regression, name, None) or algorithm(name)
        names = settings_of(kind).keys() | {field.name for field in dataclasses.fields(Person)}
        assert names - {OTHERWISE["rounds"]} <= covered | set(SILENT.split())


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(DEVICES))
def test_reports(name, options, runs):
    server = any_kind(algorithm(name), **{"features": 2, "budget": LOCAL} | options)
    assert not worlds.convicted(server.privacy, worlds.reports(server), **runs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(SHUFFLE))
def test_shuffled_sums(name, options, runs):
    server = any_kind(algorithm(name), **{"features": 2, "budget": COARSE, "first": 4} | options)
    leave = LEAVING.get(name, worlds.batches)(server)
    assert not worlds.convicted(server.privacy, leave, **runs)


def jointly(name, **options):
    def make(source):
        return any_kind(algorithm(name), source=source, **JOINTLY | options)

    return make


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(JOINT))
def test_what_a_bandit_shows(name, options, runs):
    make = jointly(name, **({"first": FIRST.get(name, 2)} if "first" in settings_of(algorithm(name)) else {}) | options)
    certificate = make(Simulated(0)).privacy
    leave = worlds.releases(make, 1 if certificate.person is None else 2 * certificate.person, CHOICES)
    assert leave(worlds.STRONGEST, 2).any(), f"{name} shows nothing of what it released: no audit of it"
    assert not worlds.convicted(certificate, leave, **runs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(REGRESSIONS))
def test_fits(name, options, runs):
    def make(seed):
        return getattr(regression, name)(budget=COARSE, source=Simulated(seed), **options)

    leave, fitted = worlds.fits(make, PEOPLE), make(0)
    fitted.fit([[0.0, 0.0]] * PEOPLE, [0.0] * PEOPLE)
    assert not worlds.convicted(fitted.privacy, leave, **runs)


def test_sums_that_know_no_estimate_come_near_what_is_claimed():
    """The pairs of `reticent audit` are as far apart as the certificate says, in every number that is released."""
    fields = {"features": attacks.FIELDS}
    for options, pair in (
        (fields, attacks.FIELD_PAIR),
        (fields | {"base_rate": 0.02}, attacks.TWO_FIELDS),
        ({"features": 2, "base_rate": 0.02}, attacks.BACK),
    ):
        bandit = attacks.glm(**options)(Simulated(0))
        seen = [stage.contribution(bandit, x, reward) for x, reward in pair]
        assert np.linalg.norm(seen[1] - seen[0]) == pytest.approx(bandit.privacy.releases[0].sensitivity, rel=1e-9)


def claimed_in_full(certificate):
    """With the words of a claim for whole rounds, but its own numbers."""
    full = joint(features=2, budget=COARSE).privacy
    assert full.neighbours == "replace"
    return msgspec.structs.replace(certificate, neighbours=full.neighbours, unit=full.unit)


def test_arms_in_the_clear_that_are_claimed_to_be_protected_are_convicted():
    server = LocalIRLS(2, LOCAL, public_arms=True)
    found = worlds.convicted(claimed_in_full(server.privacy), worlds.reports(server))
    assert [other.arm for other, _ in found] == [worlds.BACK, worlds.ASIDE]
