"""How far off a plan for a schema is, in random worlds."""

import json

import pytest
from tools.plan import judge

from tacit.planning import trials
from tacit_lab.environments.random import random


def test_the_error_that_is_told_is_that_of_the_stored_worlds():
    rows = judge.read()
    assert json.loads(trials.JUDGED.read_text()) == judge.error(rows)
    assert {row.number for row in rows} <= set(random.VALIDATION) and abs(judge.error(rows)["bias"]) <= 0.05


@pytest.mark.full
def test_a_stored_world_comes_out_again():
    first = judge.read()[0]
    again = judge.judge(first.number)[0]
    assert again.share == pytest.approx(first.share, abs=0.01)
    assert again.said == pytest.approx(first.said, abs=0.01)
