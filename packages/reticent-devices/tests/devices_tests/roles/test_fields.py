"""Devices make vectors of fields by the application's own schema; a server has its digest, and no say in it."""

import dataclasses
import math

import numpy as np
import pytest

from devices_tests.roles.boards import SERVERS, Stream, another, behaviour, changed, device, published
from reticent import Budget, Simulated
from reticent.errors import BadBillboard, WrongBatch
from reticent.features import Category, Number, Schema, Tags
from reticent.privacy import randomness
from reticent_devices import Embedded, LocalIRLS, ShuffleNewton

HEALTH = Schema(
    context={"age": Number(0, 100, bins=3), "sex": Category("F", "M"), "likes": Tags("music")},
    arms="disjoint",
    actions=("walk", "sleep"),
)
OTHERS = [  # people who differ in everything
    *({}, {"age": 31, "sex": "F"}, {"age": math.nan}, {"age": 1e300, "sex": "none of these", "likes": ["a"] * 99}),
    *({"age": -(10**400)}, {"likes": ["music", "chess"]}, {"age": None, "sex": None, "likes": None}),
]


def server(kind, **options):
    budget = {"budget": Budget(1.0, 1e-2), "first": 60} if kind is ShuffleNewton else {"budget": Budget(1.0, 1e-6)}
    return kind(**({"features": HEALTH} | budget | options))


kinds = pytest.mark.parametrize("kind", [LocalIRLS, ShuffleNewton])


@kinds
def test_a_device_chooses_by_fields_as_by_their_vectors(kind, monkeypatch):
    board, stream = server(kind).billboard(), Stream(5)
    fields, vectors = device(board, features=HEALTH), device(board)
    monkeypatch.setattr(randomness, "octets", stream)
    for person in OTHERS:
        reports = []
        for client, arms in ((fields, person), (vectors, HEALTH.vectors(person))):
            stream.rewind()
            client = another(client)
            choice = client.choose(arms)
            reports.append((choice.name, client.randomize(choice, 1.0)))
        assert reports[0] == reports[1] and reports[0][0] in HEALTH.actions
    assert fields.choose({}, actions=["sleep"]).name == "sleep"
    assert fields.choose({}, available=[False, True]).index == 1


@kinds
def test_nothing_that_a_device_shows_depends_on_fields(kind, monkeypatch):
    client, stream = device(server(kind).billboard(), features=HEALTH), Stream(2)
    monkeypatch.setattr(randomness, "octets", stream)
    shown = {behaviour(client, person, reward, stream) for person in OTHERS for reward in (0.0, 1.0, None)}
    assert len(shown) == 1 and "sent" in shown.pop()


@kinds
def test_a_billboard_for_other_features_is_refused(kind):
    board = server(kind).billboard()
    for other in (
        dataclasses.replace(HEALTH, context={**HEALTH.context, "age": Number(0, 99, bins=3)}),
        dataclasses.replace(HEALTH, actions=("sleep", "walk")),
    ):
        assert other.dim == HEALTH.dim
        with pytest.raises(BadBillboard, match="the application's features"):
            device(board, features=other)
    with pytest.raises(BadBillboard, match="or for vectors"):
        device(server(kind, features=HEALTH.dim).billboard(), features=HEALTH)
    for wrong in (HEALTH.to_dict(), HEALTH.digest, 3):
        with pytest.raises(ValueError, match="a Schema"):
            device(board, features=wrong)


@pytest.mark.parametrize("name", ["irls-fields", "newton-fields"])
@pytest.mark.parametrize(
    "value", ["", "0" * 63, "0" * 65, "G" * 64, "A" * 64, 7, True, [], {}, ["0" * 64], {"context": {}}, "0" * 64 + "\n"]
)
def test_a_digest_that_is_none_is_refused(name, value):
    device(changed(name, "features", to=None))  # an application that makes vectors itself
    device(published(name)[1], features=SERVERS[name]().features)
    with pytest.raises(BadBillboard, match="Expected a billboard"):
        device(changed(name, "features", to=value))


def test_a_report_is_for_one_schema():
    """The tag of a local report is of the schema, too; the digest of a shuffled one is of the whole billboard."""
    here, there = server(LocalIRLS), server(LocalIRLS, features=dataclasses.replace(HEALTH, actions=("a", "b")))
    client = device(here.billboard(), features=HEALTH)
    report = client.randomize(client.choose({}), 1.0)
    with pytest.raises(WrongBatch):
        there.observe(report)
    here.observe(report)


@kinds
def test_a_server_says_its_features_and_is_saved_with_them(kind, tmp_path):
    made = server(kind)
    assert made.dim == HEALTH.dim and made.privacy.features == str(HEALTH)
    made.save(tmp_path / "server.json")
    assert kind.load(tmp_path / "server.json").features == HEALTH
    with pytest.raises(ValueError, match="a Schema"):
        server(kind, features={"age": 3})
    both = Embedded(server(kind, source=Simulated(1), policy=np.random.default_rng(1)))
    choice = both.choose({"age": 31}, actions=["walk"])
    both.observe(choice, 1.0)
    assert choice.name == "walk" and both.choose_many([{"age": 3}, {"age": "x"}]).refused.keys() == {1}
