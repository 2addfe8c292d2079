"""Several rounds of a person, with published bandits."""

import pytest

import tests.bandits.test_persons as core
from tacit import Budget, Person, Simulated, registry
from tacit_papers import Anytime, JointGLMRare, ShariffLinUCB
from tests.bandits.test_persons import build

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
    core.test_a_choice_says_whose_it_is(kind, tmp_path)


@pytest.mark.parametrize("name", sorted(registry.algorithms("JOINT", "SHUFFLE", "LOCAL").keys() - {"JointGLM"}))
def test_a_budget_for_a_person_is_refused_where_the_noise_is_for_a_round(name):
    """Published algorithms have max_rounds_per_person, and devices count nobody."""
    kind = registry.load(registry.algorithms()[name], name)
    kind(dim=2, horizon=1000, budget=Budget(1.0, 1e-3))
    with pytest.raises(ValueError, match=f"budget for one round with {name}"):
        kind(dim=2, horizon=1000, budget=Budget(1.0, 1e-3, Person(3)))


def test_wishart_noise_and_bandits_that_start_anew_are_for_one_round():
    assert build(ShariffLinUCB, noise="wishart", source=Simulated(0)).privacy.group == {}
    with pytest.raises(ValueError, match="Gaussian noise"):
        build(ShariffLinUCB, noise="wishart", max_rounds_per_person=2, source=Simulated(0))
    with pytest.raises(ValueError, match="count from zero"):
        Anytime(lambda horizon: build(ShariffLinUCB, horizon=horizon, max_rounds_per_person=2))
