"""Certificates open with plain words, and these follow from the numbers."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

from core_tests.made import joint
from reticent import Budget, LinUCB, Simulated
from reticent.privacy import words
from reticent_devices import LocalIRLS, ShuffleNewton

BUDGET = Budget(epsilon=1.0, delta=1e-6)


def opening(certificate):
    """What stands between the title and the claim, in one line."""
    return " ".join(str(certificate).partition("  claim ")[0].split("\n", 1)[1].split())


def test_guesses_are_those_of_the_randomiser_that_attains_epsilon_and_delta():
    for epsilon, delta in ((0.0, 0.0), (1.0, 1e-6), (0.5, 0.1)):
        p = np.array([delta, (1 - delta) * np.e**epsilon / (1 + np.e**epsilon), (1 - delta) / (1 + np.e**epsilon), 0.0])
        rate = 0.5 * np.maximum(p, p[::-1]).sum()
        assert words.guess(epsilon, delta) == pytest.approx(rate, rel=1e-12)


def test_a_certificate_opens_with_plain_words_for_its_model():
    jointly = opening(joint(features=2, budget=BUDGET).privacy)
    assert "which of two versions of one visit is the true one" in jointly and "at most 73.2 %" in jointly
    assert "so far it is at most 50.0 %" in jointly and "database and its keys hold people's data" in jointly
    local = opening(LocalIRLS(2, BUDGET).privacy)
    assert "the server ever see" in local and "Nobody is trusted but" in local
    assert "the shuffler" in opening(ShuffleNewton(2, BUDGET, horizon=10_000).privacy)


def test_the_words_name_the_unit():
    person = opening(joint(features=2, budget=BUDGET, rounds=3).privacy)
    assert "all visits of one person, up to 3 of them," in person and "comes often" not in person
    assert "comes often is protected less" in opening(joint(features=2, budget=BUDGET).privacy)


def test_no_promise_where_none_holds():
    for bandit in (LinUCB(dim=2), joint(features=2, budget=BUDGET, source=Simulated(seed=0))):
        assert opening(bandit.privacy) == words.NO_PROMISE


def numbers(pattern, text):
    found = re.search(pattern, " ".join(text.replace("\n>", "\n").split()))
    assert found, pattern
    return [float(one.replace(" ", "")) for one in found.groups()]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0, 5.0, 8.0, 12.0])
@pytest.mark.parametrize("options", [{}, {"rounds": 5}, {"horizon": 1000}])
def test_a_certificates_sentences_are_bounds_of_its_numbers(epsilon, options):
    bandit = joint(features=2, budget=Budget(epsilon, 1e-6), first=20, **options)
    for t in range(40):
        bandit.choose([[1.0, 0.0], [0.0, 1.0]], **({"person": str(t)} if "rounds" in options else {}))
    told, text = bandit.privacy, " ".join(str(bandit.privacy).split())
    most, released = numbers(r"right at most ([\d.]+).%.* has been released so far it is at most ([\d.]+).%", text)
    for stated, spent in ((most, told.epsilon), (released, told.spent)):
        assert 0 <= stated - 100 * words.guess(spent, told.delta) < 0.1
    assert ("protects little: epsilon is above 4" in text) == (4 < epsilon <= 10)
    assert ("protects hardly at all: epsilon is above 10" in text) == (epsilon > 10)
    assert not re.search("almost|hardly any|close|same", " ".join(words.promise(told)))
    assert "never exceeds" not in text and 0 < told.spent <= told.epsilon
    planned = "horizon" in options
    assert planned or numbers(r"reveal\w+ a user outright from (\d+) users on", text) == [1e6]
    assert ("no number is planned" in text) == (not planned)


def test_a_weeks_sentences_are_bounds_too():
    told = joint(features=2, budget=BUDGET, forget=600, rounds=1, per=140).privacy
    for weeks, epsilon in told.over.items():
        (stated,) = numbers(rf"([\d.]+).% over {weeks} weeks", str(told))
        assert 0 <= stated - 100 * words.guess(epsilon, told.delta) < 0.1


def test_without_a_horizon_delta_is_told_before_it_is_too_late():
    text = str(joint(features=2, budget=Budget(1.0, 0.1)).privacy)
    assert numbers(r"reveal\w+ a user outright from (\d+) users on", text) == [10]


def test_notices_and_pages_are_bounds_and_name_all_that_is_kept():
    root = Path(__file__).parents[5]
    tutorial, lawyer, readme = (
        " ".join((root / name).read_text().replace("\n>", "\n").split())
        for name in ("docs/tutorial.md", "docs/lawyer.md", "README.md")
    )
    settings = tomllib.loads((root / "examples/messages/serve.toml").read_text())["bandits"]["messages"]
    unit = settings["budget"].pop("unit")
    made = joint(features=2, budget=Budget(**settings["budget"]), rounds=unit["rounds"])
    for text in (tutorial, lawyer):
        (stated,) = numbers(r"is right at most (\d+) times in 100; a coin is right 50", text)
        assert 0 <= stated - 100 * words.guess(made.privacy.epsilon, made.privacy.delta) < 1
        assert "nobody but us" not in text and "under a code made from your" in text
    assert settings["reward"]["window"] == "1 hour" and "We keep these, encrypted, for one hour." in tutorial
    assert numbers(r"encrypted, until ([\d ]+) later visits", tutorial) == [made.memory.pending]
    assert "max_age=365 * 86400" in tutorial and "stays in your browser for a year" in tutorial
    sure = numbers(r"is right at most ([\d.]+) % of the time \(([\d.]+) % at ε = 0.1, ([\d.]+) % at ε = 4\)", readme)
    for stated, epsilon in zip(sure, (1.0, 0.1, 4.0), strict=True):
        assert 0 <= stated - 100 * words.guess(epsilon, 0.0) < 0.1
