"""Attacks on published algorithms: claims stand, and planted bugs are found (as in
packages/reticent-lab/tests/audit)."""

import pytest

from reticent_lab.audit import carry_out, catalogue

BUGS, CLAIMS = 2000, 400  # runs of each world
OWN = [
    attack for file in catalogue.files() if file.__name__.startswith("reticent_papers.") for attack in file.attacks()
]


@pytest.mark.parametrize("attack", OWN, ids=lambda attack: attack.name)
def test_a_claim_stands_and_a_planted_bug_is_found(attack):
    assert carry_out(attack, runs=CLAIMS if attack.claimed else BUGS).as_expected
