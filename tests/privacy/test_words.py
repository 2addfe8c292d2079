"""Certificates open with plain words, and these follow from the numbers."""

import re

import numpy as np
import pytest

from tacit import Budget, JointGLM, LinUCB, LocalIRLS, ShuffleNewton, Simulated
from tacit.privacy import words
from tacit_papers.regression import PrivateRidge

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
    joint = opening(JointGLM(dim=2, budget=BUDGET).privacy)
    assert joint.startswith("Had one visit been entirely different") and "at most 73.1 %" in joint
    assert "so far it is at most 50.0 %" in joint and "database and its keys hold people's data" in joint
    local = opening(LocalIRLS(dim=2, budget=BUDGET).privacy)
    assert "the server ever see" in local and "Nobody is trusted but" in local
    assert "the shuffler" in opening(ShuffleNewton(dim=2, budget=BUDGET, horizon=10_000).privacy)


def test_the_words_name_the_unit():
    person = opening(JointGLM(dim=2, budget=BUDGET, max_rounds_per_person=3).privacy)
    assert "all visits of one person, up to 3 of them," in person and "comes often" not in person
    assert "comes often is protected less" in opening(JointGLM(dim=2, budget=BUDGET).privacy)
    rows = PrivateRidge(budget=BUDGET).fit([[0.5, 0.5]] * 20, [0.5] * 20)
    assert opening(rows.privacy).startswith("Had what one person gave been entirely different")


def test_no_promise_where_none_holds():
    for bandit in (LinUCB(dim=2), JointGLM(dim=2, budget=BUDGET, source=Simulated(seed=0))):
        assert opening(bandit.privacy) == words.NO_PROMISE


def test_spent_grows_to_the_budget_and_says_that_it_never_exceeds_it():
    bandit = JointGLM(dim=2, budget=Budget(epsilon=0.5, delta=1e-6))
    for _ in range(200):
        bandit.choose([[1.0, 0.0], [0.0, 1.0]])
    assert 0 < bandit.privacy.spent <= 0.5
    text = " ".join(str(bandit.privacy).split())
    assert re.search(r"spent epsilon 0\.\d+ so far; it never exceeds the budget, and there is no need to stop", text)
    assert float(re.search(r"so far it is at most ([\d.]+)", text)[1]) <= 100 * words.guess(0.5, 1e-6) + 0.05
