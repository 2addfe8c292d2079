"""What people are told to be offered before the first release."""

import pytest

from reticent_serve.service import config as configs
from reticent_serve.service import offers
from serve_tests.service.servers import GLM

PRIOR = {"warm_start": {"theta": [0.1, 0.2, 0.0], "precision": 2.0}}
STATUS = {
    "version": 0,
    "retired": False,
    "predecessors": [],
    "choices": 20,
    "entered": 0,
    "next_release_after": 33,
    "window": 7200.0,
    "due_at": None,
}


def sentence(setting=GLM, **status):
    return offers.sentence(configs.convert({"bandits": {"a": setting}}).bandits["a"], STATUS | status)


def test_until_the_step_is_full_it_says_how_many_choices_are_missing():
    assert sentence() == (
        "Nothing has been released so far. People get random arms until the first step of 33 choices counts. Made so "
        "far: 20; counted so far: 0. A choice counts 2 hours after it was made."
    )


def test_from_then_on_it_says_when():
    said = sentence(choices=40, entered=7, due_at=1_800_000_000.0)
    assert said.endswith("random arms until about 2027-01-15 08:00 UTC, when the first step of 33 choices counts.")


@pytest.mark.parametrize(
    ("setting", "status", "words"),
    [
        (GLM | PRIOR, {}, "arms by what was known at the start"),
        (GLM | {"warm_start": {"rows": "rows.csv"}}, {}, "arms by what was known at the start"),
        (GLM, {"predecessors": ["0"]}, "since the restore. People get arms by what was released before it"),
    ],
)
def test_what_people_get_meanwhile(setting, status, words):
    assert words in sentence(setting, **status)


@pytest.mark.parametrize("status", [{"version": 1}, {"retired": True}])
def test_after_that_there_is_nothing_to_say(status):
    assert sentence(**status) is None
