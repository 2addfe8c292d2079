"""Several rounds of a person, with published bandits."""

import numpy as np
import pytest

import core_tests.bandits.test_persons as core
from core_tests.bandits.test_persons import ARMS, build
from lab_tests.raising import raised
from reticent import Budget, Person, Simulated, registry
from reticent.core.live import Live
from reticent_papers import Anytime, JointGLMRare, ShariffLinUCB

KINDS = [ShariffLinUCB, JointGLMRare]


@pytest.mark.parametrize("source", [None, Simulated(0)], ids=["secure", "simulated"])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_grows_with_the_rounds_of_a_person(kind, source):
    core.test_noise_grows_with_the_rounds_of_a_person(kind, source)


@pytest.mark.parametrize("kind", KINDS)
def test_group_privacy_without_a_cap(kind):
    core.test_group_privacy_without_a_cap(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_choice_says_whose_it_is(kind, tmp_path):
    """Where rounds of a person are limited. A request without is no user; a row of a batch without counts and teaches
    nothing, like any other bad row."""
    bandit = build(kind, rounds=2)
    for forgotten in (lambda: bandit.choose(ARMS), lambda: bandit.choose_many([ARMS, ARMS])):
        raised(ValueError, forgotten).match("Expected a person with every choice")
    assert bandit.choices == 0 and "(enforced: every choice has a person)" in bandit.privacy.unit
    choices = bandit.choose_many([ARMS, ARMS, np.nan * ARMS], persons=["ada", None, "bob"])
    assert list(choices.refused) == [1, 2] and "finite" in choices.refused[2] and bandit.choices == 3
    assert "Expected a person" in choices.refused[1] and choices.index[1] == -1
    raised(ValueError, bandit.choose_many, [ARMS, ARMS], persons=["ada"]).match("one person for each of 2 rows")
    assert bandit.choices == 3
    bandit.save(tmp_path / "bandit.json")
    raised(ValueError, kind.load(tmp_path / "bandit.json").choose, ARMS).match("Expected a person")
    build(kind).choose(ARMS)  # without a limit nobody is asked


@pytest.mark.parametrize("name", sorted(registry.algorithms("JOINT", "SHUFFLE", "LOCAL").keys() - {"JointGLM"}))
def test_a_budget_for_a_person_is_refused_where_the_noise_is_for_a_round(name):
    """Published algorithms have max_rounds_per_person, and devices count nobody."""
    kind = registry.load(registry.algorithms()[name], name)
    size = {"dim" if issubclass(kind, Live) else "features": 2}
    kind(**size, horizon=1000, budget=Budget(1.0, 1e-3))
    with pytest.raises(ValueError, match=f"budget for one round with {name}"):
        kind(**size, horizon=1000, budget=Budget(1.0, 1e-3, Person(3)))


def test_wishart_noise_and_bandits_that_start_anew_are_for_one_round():
    assert build(ShariffLinUCB, noise="wishart", source=Simulated(0)).privacy.group == {}
    with pytest.raises(ValueError, match="Gaussian noise"):
        build(ShariffLinUCB, noise="wishart", max_rounds_per_person=2, source=Simulated(0))
    with pytest.raises(ValueError, match="count from zero"):
        Anytime(lambda horizon: build(ShariffLinUCB, horizon=horizon, max_rounds_per_person=2))
