"""Mistakes of programs and operators: errors name the key, action or setting, and never a value that a person has."""

import ast
import json
import math
import runpy
import sys
from pathlib import Path

import pytest

import reticent
from core_tests.made import algorithm, joint
from reticent import Budget
from reticent.errors import BadState, Unavailable
from reticent.features import Category, Number, Schema
from reticent_serve import Stored
from reticent_serve.service import Client
from serve_tests.service.servers import application, call

BUDGET = Budget(1.0, 1e-6)
FIELDS = {"age": Number(0, 100), "plan": Category("free", "paid", strict=True)}
SCHEMA = Schema(context=FIELDS, arms="disjoint", actions=("walk", "sleep", "swim"), retired=("swim",))
ADA = {"age": 31.5, "plan": "free"}


def bandit(**options):
    return joint(features=SCHEMA, budget=BUDGET, **options)


def stored(folder, **options):
    return Stored(algorithm(**{"features": 2, "budget": BUDGET, "window": "1 minute"} | options), folder / "bandit.db")


def client():
    return Client("http://127.0.0.1:1", "health", patience=0)


def changed(folder, **options):
    """A bandit that is opened again with other settings."""
    stored(folder).close()
    return stored(folder, **options)


def unwritable(folder):
    """As root may write whatever is only read-only: a folder has the place of a file that SQLite needs."""
    (folder / "bandit.db-wal").mkdir()
    (folder / "bandit.db-wal" / "x").touch()
    return stored(folder)


IN_PYTHON = {
    "a field": (lambda _: bandit().choose(ADA | {"pln": "free"}), ValueError, "age, plan (did you mean plan?)"),
    "an action": (
        lambda _: bandit().choose(ADA, actions=["walk", "slep"]),
        ValueError,
        "Expected action 2 of the request to be one of walk, sleep (did you mean sleep?), got another.",
    ),
    "a retired one": (lambda _: bandit().choose(ADA, actions=["swim"]), ValueError, "action 1 of the request not to"),
    "a strict value": (lambda _: bandit().choose(ADA | {"plan": "Paid"}), ValueError, "did you mean paid?"),
    "a person": (
        lambda _: bandit(rounds=1).choose(ADA),
        ValueError,
        "Expected a person with every choice, as the budget is for a person, got none.",
    ),
    "silence": (
        lambda _: bandit(window=3, default=5),
        ValueError,
        "Expected default to be a reward in [0, 1], or none, got 5.",
    ),
    "silence, stored": (
        lambda folder: stored(folder, default=5),
        ValueError,
        "Expected default to be a reward in [0, 1], or none, got 5.",
    ),
    "epsilon": (
        lambda folder: changed(folder, budget=Budget(2.0, 1e-6)),
        BadState,
        "got another epsilon: the noise is made for them",
    ),
    "a radius": (lambda folder: changed(folder, radius=2.0), BadState, "got another radius: "),
    "the first step": (lambda folder: changed(folder, first=99), BadState, "got another first: "),
    "a file": (unwritable, Unavailable, "Expected to write bandit.db and files beside it (is it read-only, immutable"),
    "infinity": (
        lambda _: client().choose(context=ADA | {"age": math.inf}),
        ValueError,
        "Expected finite numbers in context (age), got NaN or infinity.",
    ),
    "an object": (
        lambda _: client().choose(context=ADA | {"plan": object()}),
        ValueError,
        "Expected numbers, texts and lists of texts in context (plan), got something else.",
    ),
}


@pytest.mark.parametrize("name", IN_PYTHON)
def test_what_is_said_in_python(name, tmp_path):
    make, kind, said = IN_PYTHON[name]
    with pytest.raises(kind) as error:
        make(tmp_path)
    assert said in str(error.value) and str(error.value).startswith("Expected ")
    assert not any(value in str(error.value) for value in ("31.5", "slep", "pln", "Paid"))


OVER_HTTP = {
    "NaN": ('{"person": 1, "context": {"age": NaN, "plan": "free"}}', "Expected age in context without NaN and"),
    "a key": ('{"persn": "ada", "context": {"age": 31.5, "plan": "free"}}', "(did you mean person?)."),
    "no person": ('{"context": {"age": 31.5, "plan": "free"}}', "Expected a person with every choice"),
    "a person": ('{"person": 31.5, "context": {}}', "Expected person as in JSON of the form"),
    "an action": (
        '{"person": 1, "context": {"plan": "free"}, "actions": ["walk", "slep"]}',
        "Expected action 2 of the request to be one of walk, sleep (did you mean sleep?).",
    ),
    "a strict value": (
        '{"person": 1, "context": {"plan": "Paid"}}',
        "Expected plan to be one of free, paid (did you mean paid?), since it is strict.",
    ),
    "a strict field": ('{"person": 1, "context": {"age": 31.5}}', "Expected plan, since it is strict (null says"),
    "an unknown field": ('{"person": 1, "context": {"slep": "31.5", "plan": null}}', "which are age, plan."),
    "hostile": ('{"context": {"slep": NaN}, "person": 1}', "Expected context without NaN and infinity"),
}


def test_what_is_said_over_http(tmp_path):
    """422, the rule by its name, and no choice: nothing that came but names that are public anyway."""
    reward = {"base_rate": None}
    app = application(tmp_path, horizon=None, features=SCHEMA.to_dict(), budget={"unit": {"rounds": 1}}, reward=reward)
    try:
        replies = call(app, *[("choose", text.encode()) for text, _ in OVER_HTTP.values()], ("status", None))
    finally:
        app.close()
    assert json.loads(replies.pop()[2])["choices"] == 0
    for (status, _, body), (_, said) in zip(replies, OVER_HTTP.values(), strict=True):
        assert status == 422 and said in json.loads(body)["error"], said
        assert not any(value in body for value in (b"31.5", b"slep", b"persn", b"Paid", b"ada"))


def test_an_older_python_is_told(monkeypatch):
    ast.parse(Path(reticent.__file__).read_text(), feature_version=(3, 8))  # it can read so far
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    with pytest.raises(ImportError, match="Expected Python 3.11 or later for reticent, got 3.10."):
        runpy.run_path(reticent.__file__)
