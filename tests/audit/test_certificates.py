"""One audit of every claim: the two worlds are those that a certificate's own words compare, whatever its class.

It catches a certificate that protects less than it says, as one did for whole arm sets that were sent in the clear. How
much noise there is, and whether it is near the claim, is what the attacks of `tacit audit` are about. A false alarm has
a probability of at most 1e-6 for each of some forty pairs of worlds in which devices draw from the operating system;
the other noise is seeded."""

import dataclasses

import msgspec
import pytest

from tacit import Budget, Earnings, JointGLM, LocalIRLS, Simulated, registry
from tacit.papers import regression
from tests.audit import worlds

LOCAL, COARSE = Budget(1.0, 1e-6), Budget(1.0, 0.02)
ALONE = Budget(1.0, 0.02, "zero-out")
CHOICES, PEOPLE = 6, 6
RUNS = [
    pytest.param({}, id="few"),
    pytest.param({"gaussian": 3000, "general": 3000}, marks=pytest.mark.full, id="many"),
]

JOINTLY = {"dim": 2, "budget": COARSE, "horizon": CHOICES}
FIRST = {
    "JointGLM": {"first": 2},
    "JointLinUCB": {"first": 2},
    "JointReweighted": {"first": 4},
    "JointSquareCB": {"first": 2},
}
WEEK = {"max_rounds_per_person": 1, "week": 2.0}
LATER = {"hold": 1}
JOINT = {  # class -> its settings that change a promise, one after the other
    "JointLinUCB": [{}, {"budget": ALONE}, {"max_rounds_per_person": 2}, {"earnings": Earnings(0.3)}, WEEK, {"hold": 1}],
    "JointGLM": [
        {},
        {"curvature": "none"},
        {"contexts": "public"},
        {"contexts": "public", "budget": ALONE},
        {"budget": ALONE},
        {"earnings": Earnings(0.3)},
        {"max_rounds_per_person": 2},
        {"max_rounds_per_person": 2, "on_limit": "serve"},
        {"max_rounds_per_person": 2, "contexts": "public"},
        WEEK,
        WEEK | {"budget": ALONE},
        *(LATER | options for options in ({}, {"missing_as": 0.0}, {"contexts": "public"}, {"budget": ALONE})),
        LATER | {"max_rounds_per_person": 2, "on_limit": "serve"},
        LATER | WEEK,
    ],
    "JointGLMRare": [{}, {"max_rounds_per_person": 2}],
    "JointReweighted": [{}],
    "JointSquareCB": [{}],
    "ShariffLinUCB": [{}, {"max_rounds_per_person": 2}],
}
SHUFFLE = {
    "ShuffleNewton": [{}, {"curvature": "none"}],
    "ShuffleGLM": [{"horizon": 20, "iterations": 1}],
    "ShuffleLinUCB": [{"horizon": 100}],
}
DEVICES = {
    "LocalIRLS": [{}, {"curvature": "none"}, {"randomizer": "gaussian"}, {"public_arms": True}],
    "LocalLinUCB": [{}],
    "LocalOnlineUCB": [{}],
    "LocalAnytimeUCB": [{}],
    "LocalCombiner": [{"horizon": 1000}],
    "LocalGLM": [{}],
    "LocalReweighted": [{"horizon": 1000, "first": 60}],
    "LocalSquareCB": [{"horizon": 1000}],
}
REGRESSIONS = {name: [{}] for name in regression.__all__} | {"PrivateRidge": [{}, {"model": "local"}]}
EVERY = JOINT | SHUFFLE | DEVICES | REGRESSIONS
# Settings of sizes, schedules, estimates and amounts of noise: they change what is learnt, and no promise's words.
SILENT = """
    batches blend blocks bounds calibration closing_share constant constants covariance criterion curvature descents dim
    discount dropout eigenvalue estimate explore factor failure features first forced forget greed growth
    horizon iterations kappa_star largest learner length_scale link malicious model most_o most_tau noise oracle_kappa
    oracle_kappa_star pending per_day policy power prior projection radius randomizer release rewards ridge scale
    schedule share shared shift shrink source step step_scale steps subgaussian targets threshold timing tuning
    variant warm width width_scale"""


def algorithm(name):
    return registry.load(registry.algorithms()[name], name)


def each(table):
    return [
        pytest.param(name, options, id=f"{name}-{'-'.join(map(str, options)) or 'plain'}-{i}")
        for name, all_options in table.items()
        for i, options in enumerate(all_options)
    ]


def test_every_private_class_and_every_setting_is_here():
    """A class or a setting that is new fails until it has a case, or is known to change no promise."""
    for cases, table in ((JOINT, "JOINT"), (SHUFFLE, "SHUFFLE"), (DEVICES, "LOCAL")):
        assert cases.keys() == registry.algorithms(table).keys()
    assert REGRESSIONS.keys() == set(regression.__all__)
    covered = {setting for cases in EVERY.values() for options in cases for setting in options}
    for name in EVERY:
        kind = getattr(regression, name, None) or algorithm(name)
        assert {field.name for field in dataclasses.fields(kind) if field.init} <= covered | set(SILENT.split())


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(DEVICES))
def test_reports(name, options, runs):
    server = algorithm(name)(**{"dim": 2, "budget": LOCAL} | options)
    assert not worlds.convicted(server.privacy, worlds.reports(server), **runs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(SHUFFLE))
def test_shuffled_sums(name, options, runs):
    server = algorithm(name)(**{"dim": 2, "budget": COARSE, "first": 4} | options)
    leave = (worlds.batches_of_rounds if name == "ShuffleGLM" else worlds.batches)(server)
    assert not worlds.convicted(server.privacy, leave, **runs)


def joint(name, **options):
    def make(source):
        return algorithm(name)(**JOINTLY | {"source": source} | options)

    return make


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(JOINT))
def test_what_a_bandit_shows(name, options, runs):
    make = joint(name, **FIRST.get(name, {}) | options)
    certificate = make(Simulated(0)).privacy
    visits = 1 if certificate.person is None else 2 * certificate.person
    leave = worlds.releases(make, visits, CHOICES)
    assert not worlds.convicted(certificate, leave, **runs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("name", "options"), each(REGRESSIONS))
def test_fits(name, options, runs):
    def make(seed):
        return getattr(regression, name)(budget=COARSE, source=Simulated(seed), **options)

    leave = worlds.fits(make, PEOPLE)
    fitted = make(0)
    fitted.fit([[0.0, 0.0]] * PEOPLE, [0.0] * PEOPLE)
    assert not worlds.convicted(fitted.privacy, leave, **runs)


def claimed_in_full(certificate):
    """With the words of a claim for whole rounds, but its own numbers."""
    full = JointGLM(dim=2, budget=COARSE).privacy
    assert full.neighbours == "replace"
    return msgspec.structs.replace(certificate, neighbours=full.neighbours, unit=full.unit)


def test_arms_in_the_clear_that_are_claimed_to_be_protected_are_convicted():
    server = LocalIRLS(dim=2, budget=LOCAL, public_arms=True)
    found = worlds.convicted(claimed_in_full(server.privacy), worlds.reports(server))
    assert [other.arm for other, _ in found] == [worlds.BACK, worlds.ASIDE]


@pytest.mark.parametrize(
    ("weaker", "runs"),
    [
        pytest.param({"contexts": "public", "link": "identity"}, 60, id="public"),
        pytest.param({"budget": ALONE, "curvature": "none"}, 1000, marks=pytest.mark.full, id="zero-out"),
    ],
)
def test_a_weaker_promise_that_is_claimed_as_the_full_one_is_convicted(weaker, runs):
    """One release, so that all of the budget is in it. Seeded: it comes out the same each time."""
    make = joint("JointGLM", first=2, horizon=3, **weaker)
    certificate = claimed_in_full(make(Simulated(0)).privacy)
    found = worlds.convicted(certificate, worlds.releases(make, 1, 3), gaussian=runs)
    assert any(other.arm != worlds.AHEAD for other, _ in found)


def test_a_certificate_that_does_not_say_what_is_public_is_noticed():
    certificate = JointGLM(dim=2, budget=COARSE, contexts="public").privacy
    with pytest.raises(AssertionError):
        worlds.pairs(msgspec.structs.replace(certificate, unit="one user"))
