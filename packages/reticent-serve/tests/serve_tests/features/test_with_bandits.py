"""Bandits that take fields: alone, in batches and on a database; and what their certificates say of it."""

import dataclasses
import json

import numpy as np
import pytest

from core_tests.features.test_schema import FILMS, HEALTH, PERSON
from core_tests.made import algorithm, joint
from reticent import Budget, Simulated
from reticent.errors import BadState
from reticent.features import Category, Number, Schema
from reticent_serve import Stored

BUDGET = Budget(1.0, 1e-6)
APART = Schema(
    context={"age": Number(0, 100, bins=3), "sex": Category("F", "M")}, arms="disjoint", actions=("walk", "sleep")
)


def glm(schema=APART, **options):
    return joint(features=schema, budget=BUDGET, **options)


def test_a_batch_of_fields_is_chosen_for_as_one_of_vectors():
    same = [{"source": Simulated(1), "policy": np.random.default_rng(1)} for _ in range(2)]
    fields, vectors = glm(HEALTH, **same[0]), joint(features=HEALTH.dim, budget=BUDGET, **same[1])
    people = [{"age": 3 * i, "sex": "FM"[i % 2]} for i in range(30)]
    for _ in range(5):
        one = fields.choose_many(people, actions=FILMS)
        other = vectors.choose_many([HEALTH.rows(person, FILMS)[1] for person in people])
        assert (one.index == other.index).all() and not one.refused
        for bandit, choices in ((fields, one), (vectors, other)):
            assert bandit.observe_many(choices, [float(i % 2) for i in range(30)]) == {}
    assert (fields.theta == vectors.theta).all() and fields.theta.any()
    assert fields.interval(people[1], actions=FILMS) == vectors.interval(HEALTH.rows(people[1], FILMS)[1])


def test_a_bad_row_of_a_batch_is_refused_alone():
    bandit = glm()
    people = [{"age": 3}, {"age": "secret"}, {}, ["secret"], {"secret": 1}]
    found = bandit.choose_many(people)
    assert list(found.refused) == [1, 3, 4] and (found.index[[1, 3, 4]] == -1).all() and bandit.choices == 5
    assert "secret" not in str(found.refused)
    for wrong in ({"age": 3}, "age", 3):
        with pytest.raises(ValueError, match="^Expected "):
            bandit.choose_many(wrong)
    with pytest.raises(ValueError, match="one of walk, sleep, got another"):
        bandit.choose_many(people, actions=["run"])
    with pytest.raises(ValueError, match="features=Schema"):
        joint(features=2, budget=BUDGET).choose_many([[[1.0, 0.0]]], actions=["a"])
    assert bandit.choices == 5


def test_a_certificate_names_the_schema():
    options = {"budget": BUDGET, "horizon": 1000}
    text = "16 numbers from 2 fields of a person and no fields of an action, disjoint arms (2 actions); bounds are"
    assert APART.dim == 16
    shown = joint(features=APART, **options).privacy
    assert shown.features == text + " public settings" and json.loads(shown.json())["features"] == shown.features
    assert "\n  features      16 numbers from 2 fields" in str(shown)
    assert "features" not in str(joint(features=3, **options).privacy)
    shown = joint(features=dataclasses.replace(APART, public="Learnt from the census."), **options).privacy
    assert "learnt from public data" in shown.features and "Learnt from the census." in shown.caveats
    assert joint(features=APART, budget=Budget(float("inf"), 0.0), horizon=10).privacy.features


def test_a_store_takes_fields_and_keeps_its_schema(tmp_path):
    where = tmp_path / "bandit.db"

    def opened(features):
        return Stored(algorithm(features=features, budget=BUDGET, window="1 minute"), where, background=False)

    with opened(HEALTH) as stored:
        choice = stored.choose(PERSON, actions=FILMS, request="a", propensity=True)
        assert choice.name in FILMS and 0 < choice.propensity < 1
        assert stored.choose({}, actions=FILMS, request="a").id == choice.id
        assert stored.choose(PERSON, actions=FILMS, available=[False, True]).name == "two"
        stored.observe(choice, 1.0)
        offers = stored.offers(PERSON, actions=FILMS)
        assert offers.probability.shape == (2,) and len(stored.interval(PERSON, actions=FILMS)) == 2
        for wrong in ((PERSON, None), ({"age": "secret"}, FILMS), (PERSON, {"one": {"secret": 1}}), (np.eye(3), None)):
            with pytest.raises(ValueError, match="^Expected ") as refused:
                stored.choose(wrong[0], actions=wrong[1])
            assert "secret" not in str(refused.value)
        assert stored.choices == 2 and stored.privacy.features == str(HEALTH)
    with opened(Schema.from_dict(json.loads(json.dumps(HEALTH.to_dict(), sort_keys=True)))) as stored:
        assert stored.choices == 2
    wider = {**HEALTH.context, "age": Number(0, 120, bins=8)}
    for change in ({"context": wider}, {"cross": []}, {"action": {**HEALTH.action, "year": Number(1900, 2100)}}):
        with pytest.raises(BadState, match="got another features.*: what was learnt belongs to the numbers"):
            opened(dataclasses.replace(HEALTH, **change))
    with pytest.raises(BadState, match="got another features"):
        opened(HEALTH.dim)
