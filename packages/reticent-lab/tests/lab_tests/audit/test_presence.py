"""Whether and when a report leaves tells no more than the report itself may; outboxes that tell more are convicted."""

import dataclasses

import pytest

from reticent_lab.audit import carry_out
from reticent_lab.audit.attacks import presence

RUNS = 3000


@pytest.mark.parametrize("attack", presence.attacks(), ids=lambda attack: attack.name)
def test_presence_and_time_of_reports(attack):
    """False alarm .001 a row, and the devices' own generator has no seed. A click against a dismissal is the worst pair
    for the coin, whose likelihood the score is: .87 +- .05 of the claim with 3000 runs."""
    near = attack.name == "report-time"
    row = carry_out(dataclasses.replace(attack, share=1.0 if near else 0.1), runs=RUNS)
    assert row.as_expected, row.epsilon_lower
    if near:
        assert row.epsilon_lower > 0.65
    if not attack.claimed:
        assert row.epsilon_lower > 3.0
