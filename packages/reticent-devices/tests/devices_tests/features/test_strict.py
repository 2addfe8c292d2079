"""Strict fields: what a field does not know is refused to the program that sent it, and is no choice."""

import math

import pytest

from core_tests.made import algorithm, joint
from reticent import Budget
from reticent.features import Category, Hashed, Number, Schema, Tags
from reticent_devices import LocalIRLS, ShuffleNewton
from reticent_devices.roles.local import LocalClient
from reticent_serve import Stored

BUDGET = Budget(1.0, 1e-6)
GOOD = {"age": 31, "plan": "free", "likes": ["tea"], "city": "Oslo"}


def schema(**options):
    fields = {
        "age": Number(0, 100, bins=4, **options),
        "plan": Category("free", "paid", **options),
        "likes": Tags("tea", "salt", **options),
        "city": Hashed(8, **options),
    }
    return Schema(context=fields, arms="disjoint", actions=("walk", "sleep"))


WRONG = [
    ({"plan": "Free"}, "Expected plan to be one of free, paid (did you mean free?), since it is strict, got another."),
    ({"plan": "trial"}, "Expected plan to be one of free, paid, since it is strict, got another."),
    ({"age": 101}, "Expected age to be from 0 to 100, since it is strict, got a number outside."),
    ({"age": -math.inf}, "Expected age to be from 0 to 100, since it is strict, got a number outside."),
    ({"likes": ["tea", "slat"]}, "Expected likes to be a list of tea, salt (did you mean salt?), since it is strict, "),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=lambda one: str(one)[:24])
def test_what_is_not_known_is_refused_and_named(wrong, said):
    with pytest.raises(ValueError) as refused:
        schema(strict=True).rows(GOOD | wrong)
    assert str(refused.value).startswith(said)
    assert schema().rows(GOOD | wrong)[1].any()  # else it has its place


@pytest.mark.parametrize("name", GOOD)
def test_a_field_has_to_be_there_and_none_may_be_said(name):
    """A name that the program forgot is a mistake; that nothing is known of a person is none."""
    without = {field: value for field, value in GOOD.items() if field != name}
    with pytest.raises(ValueError, match=f"Expected {name}, since it is strict"):
        schema(strict=True).rows(without)
    for none in (None, math.nan):
        assert (schema(strict=True).rows(without | {name: none})[1] == schema().rows(without)[1]).all()


def test_the_vectors_are_the_same_and_so_is_their_digest():
    strict, lenient = schema(strict=True), schema()
    assert strict.digest == lenient.digest and strict != lenient and strict.lenient == lenient
    assert (strict.rows(GOOD)[1] == lenient.rows(GOOD)[1]).all()
    assert Schema.from_dict(strict.to_dict()) == strict and strict.strict == ("age", "city", "likes", "plan")
    assert "strict" not in str(lenient.to_dict()), "what earlier releases wrote stays as it is"
    with pytest.raises(ValueError, match="Expected strict to be true or false"):
        schema(strict="yes")


def test_who_is_refused_is_no_choice_and_the_certificate_says_for_whom_it_holds():
    bandit = joint(features=schema(strict=True), budget=BUDGET)
    with pytest.raises(ValueError, match="Expected plan"):
        bandit.choose(GOOD | {"plan": "Free"})
    assert bandit.choices == 0
    batch = bandit.choose_many([GOOD, GOOD | {"plan": "Free"}])
    assert list(batch.refused) == [1] and "did you mean free?" in batch.refused[1] and bandit.choices == 2
    assert "age or city or likes or plan is not as declared is refused" in bandit.privacy.features
    assert "by another whose request is valid" in bandit.privacy.relation
    person = joint(features=schema(strict=True), budget=BUDGET, rounds=2)
    weekly = joint(features=schema(strict=True), budget=BUDGET, rounds=1, per=1000)
    assert all("by another whose requests are valid" in one.privacy.relation for one in (person, weekly))
    assert bandit.warm_up() > 0


def test_a_bandit_on_a_database_may_become_strict(tmp_path):
    """No noise is made for it, and no number changes."""

    def opened(**options):
        return Stored(algorithm(features=schema(**options), budget=BUDGET, window="1 minute"), tmp_path / "bandit.db")

    with opened() as stored:
        stored.choose(GOOD | {"plan": "Free"})
    with opened(strict=True) as stored:
        with pytest.raises(ValueError, match="did you mean free"):
            stored.choose(GOOD | {"plan": "Free"})
        stored.choose(GOOD)
        assert stored.choices == 2
    with opened() as stored:
        stored.choose(GOOD | {"plan": "Free"})


def test_devices_have_no_strict_fields():
    """A choice that fails there is a report that does not come: it would tell, without noise, who has such a value."""
    for kind in (LocalIRLS, ShuffleNewton):
        with pytest.raises(ValueError, match="Expected no strict fields on devices.*got age, city, likes, plan"):
            kind(schema(strict=True), Budget(4.0, 1e-6))
    billboard = LocalIRLS(schema(), Budget(4.0, 0.0)).billboard()
    with pytest.raises(ValueError, match="Expected no strict fields on devices"):
        LocalClient(billboard, epsilon=4.0, features=schema(strict=True))
