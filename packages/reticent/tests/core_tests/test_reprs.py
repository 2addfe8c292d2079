"""Each public object says in a line what it is, as it would be made; a notebook has more."""

import numpy as np
import pytest

from reticent import Bandit, Budget, Category, JointGLM, Person, Reward, Schema, Spec, Tags, environments, simulate
from reticent.privacy.noise import Simulated

SCHEMA = Schema(context={"plan": Category("free", "paid"), "likes": Tags("tea")}, arms="disjoint", actions=("a", "b"))


@pytest.mark.parametrize(
    "made", [SCHEMA, JointGLM(SCHEMA, Budget(1.0, 1e-6, unit=Person(2)), Reward(window=5, base_rate=0.1))]
)
def test_settings_are_shown_as_they_would_be_made(made):
    again = eval(repr(made))
    assert repr(again) == repr(made) and "forget" not in repr(made) and "weight" not in repr(made)


def test_what_comes_of_them_is_one_line_and_more_in_a_notebook():
    bandit = Bandit(JointGLM(2, Budget(1.0, 1e-6)), seed=0)
    many = bandit.choose_many(np.full((30, 2, 2), 0.1))
    result = simulate([Spec(JointGLM, budget=Budget(8.0, 1e-2))], environments.ball(), horizon=20, runs=1, seed=0)
    for made, said in ((bandit, "30 choices"), (many, "30 rows"), (result, "1 runs"), (bandit.privacy, "(1, 1e-06)")):
        assert said in repr(made) and "\n" not in repr(made) and len(repr(made)) < 120
    assert isinstance(bandit.source, Simulated) and "not private" in repr(bandit.privacy)
    assert many._repr_html_().count("<tr>") == 21
    assert "JointGLM" in bandit.privacy._repr_html_() and "joint-glm" in result._repr_html_()
