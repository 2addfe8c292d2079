"""The neighbouring relation: which one a claim is for is recorded with the noise, and no two are counted together."""

import msgspec
import numpy as np
import pytest

from tacit import Budget, JointGLM, JointLinUCB, Simulated, registry
from tacit.algorithms.earnings import Earnings
from tacit.privacy import ledger
from tacit.privacy.ledger import GaussianRelease, LocalRelease
from tacit.privacy.noise import Secure
from tacit.privacy.relations import PERSON, RELATIONS, ROUNDS, UNIT, USER
from tacit_papers import ShariffLinUCB, regression

REPLACE, ZERO_OUT = Budget(1.0, 1e-6), Budget(1.0, 1e-6, "zero-out")
RELEASE = {"name": "one", "statistic": "a sum", "sensitivity": 1.0, "column_norm": 1.0, "sigma": 5.0}
BANDITS = [(JointGLM, {}), (JointGLM, {"dim": 4, "blocks": 2}), (JointLinUCB, {"horizon": 100})]


def made(kind, budget, **options):
    return kind(**{"dim": 2, "budget": budget} | options)


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


@pytest.mark.parametrize("releases", [["replace"], ["replace rewards"]])
def test_a_budget_for_another_relation_is_refused(releases):
    planned = [GaussianRelease(**RELEASE, relation=relation) for relation in releases]
    assert ledger.check(planned, REPLACE) <= 1
    for budget in (ZERO_OUT, Budget(np.inf, 1e-6, "zero-out")):
        with pytest.raises(ValueError, match="the budget's adjacency, zero-out"):
            ledger.check(planned, budget)


def test_every_relation_has_words():
    assert set(UNIT) == set(USER) == set(RELATIONS) and set(PERSON) == set(ROUNDS)
    with pytest.raises(ValueError, match="Expected adjacency"):
        Budget(1.0, 1e-6, "remove")


@pytest.mark.parametrize(("kind", "options"), BANDITS)
def test_the_claim_is_recomputed_for_its_relation(kind, options):
    """The noise is smaller by what D is; the same noise for replaced users would cost more than the budget."""
    replaced, zeroed = made(kind, REPLACE, **options), made(kind, ZERO_OUT, **options)
    assert zeroed.mechanism.sigma < 0.75 * replaced.mechanism.sigma
    told = zeroed.privacy
    assert told.neighbours == "zero-out" and told.private and told.epsilon == pytest.approx(1.0, rel=1e-6)
    assert any("weaker promise than for replacing" in caveat for caveat in told.caveats)
    assert "but see the caveats" in str(told) and not replaced.privacy.caveats
    assert "contributes nothing" in told.relation and "counted for nothing" in " ".join(str(told).split())
    assert replaced.privacy.neighbours == "replace"
    (release,) = told.releases
    apart = zeroed.contribution.sensitivity / zeroed.contribution.norm
    again = msgspec.structs.replace(release, sensitivity=release.sensitivity * apart, relation="replace")
    assert ledger.epsilon_of([again], 1e-6) > 1.4


def test_a_persons_weeks_and_earnings_go_with_it():
    for options in (
        {"max_rounds_per_person": 3},
        {"max_rounds_per_person": 2, "week": 500, "horizon": 5000},
        {"earnings": Earnings(0.2, 4.0)},
    ):
        replaced, zeroed = made(JointGLM, REPLACE, **options), made(JointGLM, ZERO_OUT, **options)
        assert zeroed.mechanism.sigma < 0.75 * replaced.mechanism.sigma
        assert zeroed.privacy.relation.startswith("zero-out") and zeroed.privacy.epsilon <= 1 + 1e-9


@pytest.mark.parametrize("name", [name for name in registry.algorithms() if name not in ("JointGLM", "JointLinUCB")])
def test_others_refuse_it(name):
    kind = registry.load(registry.algorithms()[name], name)
    if "budget" not in getattr(kind, "__dataclass_fields__", {}):
        return
    with pytest.raises(ValueError, match='adjacency="replace"'):
        kind(dim=2, horizon=400, budget=ZERO_OUT)


@pytest.mark.parametrize("name", regression.__all__)
def test_regressors_refuse_it(name):
    with pytest.raises(ValueError, match='adjacency="replace"'):
        getattr(regression, name)(budget=ZERO_OUT).fit(np.full((10, 2), 0.5), np.zeros(10))


def test_wishart_noise_refuses_it():
    with pytest.raises(ValueError, match='adjacency="replace"'):
        made(ShariffLinUCB, ZERO_OUT, horizon=50, noise="wishart", source=Simulated(0))


def test_it_is_saved(tmp_path):
    bandit = made(JointGLM, ZERO_OUT, source=Secure())
    bandit.save(tmp_path / "bandit.json")
    assert JointGLM.load(tmp_path / "bandit.json").budget == ZERO_OUT
