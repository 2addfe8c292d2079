"""The neighbouring relation: which one a claim is for is recorded with the noise, and no two are counted together."""

import pytest

from tacit.privacy import ledger
from tacit.privacy.ledger import GaussianRelease, LocalRelease
from tacit.privacy.relations import PERSON, RELATIONS, ROUNDS, UNIT, USER

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
