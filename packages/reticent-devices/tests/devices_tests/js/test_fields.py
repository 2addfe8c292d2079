"""Fields become the same vectors in JavaScript as in Python, up to the last digit, and schemas have the same digest."""

import secrets

import numpy as np
import pytest
from numpy.random import default_rng

from devices_tests.js import vectors
from reticent.features import Category, Hashed, Number, Schema, Tags

SEED = secrets.randbits(32)
TEXTS = ["a", "b", "Zürich", "日本", "😀", "\uffff", 'q"\\', "\n\x7f", "", "10", "9", "é" * 40]
SCHEMAS, PEOPLE = 60, 8


def column(rng):
    weight = float(rng.choice([1.0, 2.0, 0.3, 1e-7, 3e17]))
    kind, low = rng.integers(5), float(rng.choice([0.0, -3.5, 1e-5, 18.0]))
    if kind < 2:
        return Number(
            low, low + float(rng.choice([1.0, 1e16, 0.1, 100.0])), 1 + kind * int(rng.integers(2, 9)), weight=weight
        )
    if kind == 2:
        return Hashed(int(rng.integers(1, 50)), str(rng.choice(TEXTS)), weight=weight)
    return (Category if kind == 3 else Tags)(*rng.permutation(TEXTS)[: rng.integers(1, 6)].tolist(), weight=weight)


def schema(rng):
    names, arms = rng.permutation(TEXTS).tolist(), str(rng.choice(["shared", "disjoint"]))
    context = {name: column(rng) for name in names[:3]}
    action = {name: column(rng) for name in names[3:5]} if arms != "disjoint" else {}
    pairs = [(str(a), str(b)) for a, b in rng.choice([*context, *action], (2, 2))]
    actions = () if arms == "shared" else tuple(names[5:8])
    return Schema(context=context, action=action, arms=arms, actions=actions, cross=pairs, public=names[8])


def value(of, rng):
    if rng.random() < 0.15:
        return None
    if rng.random() < 0.05:
        return True  # of no kind
    if isinstance(of, Number):
        return float(rng.choice([of.low, of.high, of.low - 1, of.high * 2, rng.uniform(of.low, of.high)]))
    if isinstance(of, Tags):
        return rng.choice(TEXTS, rng.integers(0, 4)).tolist()
    if isinstance(of, Hashed) and rng.random() < 0.3:
        return int(rng.integers(-5, 10**9))
    return str(rng.choice(TEXTS))


def person(of, rng):
    context = {name: value(one, rng) for name, one in of.context.items() if rng.random() < 0.9}
    if not of.action:
        return {"context": context, "actions": None if rng.random() < 0.5 else list(of.actions[:2])}
    offered = of.actions[1:] or ("x", "y")
    return {"context": context, "actions": {name: {n: value(c, rng) for n, c in of.action.items()} for name in offered}}


def made(of, one):
    try:
        names, rows = of.rows(one["context"], one["actions"])
    except ValueError:
        return None
    return dict(zip(names, rows, strict=True))


def test_vectors_and_digests_are_pythons(package, run, tmp_path):
    rng = default_rng(SEED)
    schemas = [schema(rng) for _ in range(SCHEMAS)]
    people = [[person(of, rng) for _ in range(PEOPLE)] for of in schemas]
    given = [{"schema": of.to_dict(), "people": each} for of, each in zip(schemas, people, strict=True)]
    told = run(package, "fields", vectors.save(given, tmp_path / "fields.json"))
    refused = 0
    for of, each, answer in zip(schemas, people, told, strict=True):
        assert answer["digest"] == of.digest and answer["dim"] == of.dim, (SEED, of)
        for one, found in zip(each, answer["people"], strict=True):
            expected = made(of, one)
            if expected is None:
                assert isinstance(found, str) and found.startswith("Expected"), (SEED, of, one)
                refused += 1
                continue
            assert sorted(found["names"]) == sorted(expected), (SEED, of, one)
            for name, row in zip(found["names"], found["rows"], strict=True):
                np.testing.assert_array_max_ulp(np.array(row, float), expected[name], maxulp=4)
    assert 0 < refused < SCHEMAS * PEOPLE / 2


@pytest.mark.parametrize("wrong", [{"age": "31"}, {"age": True}, {"size": 1}])
def test_an_error_names_the_field_and_not_the_value(package, run, tmp_path, wrong):
    of = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk",))
    given = [{"schema": of.to_dict(), "people": [{"context": wrong, "actions": None}]}]
    told = run(package, "fields", vectors.save(given, tmp_path / "fields.json"))[0]["people"][0]
    assert told.startswith("Expected") and "age" in told and "31" not in told


def test_strict_fields_are_refused_as_in_python(package, run, tmp_path):
    column = {"kind": "Number", "low": 0, "high": 100, "strict": True}
    given = [{"schema": {"context": {"age": column}, "arms": "disjoint", "actions": ["walk"]}, "people": []}]
    with pytest.raises(Exception, match="Expected no strict fields on devices, got age"):
        run(package, "fields", vectors.save(given, tmp_path / "fields.json"))
