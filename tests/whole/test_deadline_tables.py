"""The tables of docs/measurements/deadlines.md: the command that prints them works, on a small scale."""

import numpy as np
import pytest
from tools import deadlines


def test_clicks_that_are_lost():
    rows = list(deadlines.lost_clicks())
    assert rows[2] == "| 10 minutes | 37 % | 85 % | 97 % |" and rows[-1] == "| 2 days | 0 % | 0 % | 0 % |"


@pytest.mark.parametrize("in_time", [1.0, 0.0])
def test_a_share_is_of_what_could_be_had(monkeypatch, in_time):
    """A bandit that sees all clicks learns, and one that sees none does not."""
    monkeypatch.setattr(deadlines, "DAYS", 4)
    found = np.mean([deadlines.average(seed, 8.0, deadlines.HOUR, in_time) for seed in range(2)])
    assert 0.4 < found < 1 if in_time else abs(found) < 0.2


def test_one_message_until_the_first_release():
    mask, bandit = deadlines.only(0, 1), deadlines.messages(0, 8.0, deadlines.DAY)
    assert mask.sum() == 1
    found = deadlines.shares(bandit, deadlines.people(0), np.random.default_rng(0), rounds=100, in_time=1.0, first=mask)
    assert found.mean() > 0  # the best one


def test_what_is_deployed_is_read_from_its_file(monkeypatch):
    monkeypatch.setattr(deadlines, "RUNS", 2)
    monkeypatch.setattr(deadlines, "TRAFFIC", (20,))
    rows = list(deadlines.as_deployed())
    assert len(rows) == 3 and float(rows[2].split("|")[2].split()[0]) > 2.0
