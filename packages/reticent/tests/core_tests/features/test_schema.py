"""Schemas: whatever fields come, vectors have norm at most 1, and one person's do not depend on another's."""

import dataclasses
import json
import math
import random
import re
import string
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from core_tests.made import joint
from reticent import Bandit, Budget, Simulated
from reticent.errors import ReticentError
from reticent.features import Category, Hashed, Number, Schema, Tags

HEALTH = Schema(
    context={"age": Number(0, 100, bins=8), "sex": Category("F", "M"), "city": Hashed(32)},
    action={"genre": Tags("drama", "comedy"), "price": Number(0, 50)},
    cross=[("genre", "age")],
)
HASHED = {"kind": "Hashed", "slots": 2}
PERSON = {"age": 31, "sex": "F", "city": "Oslo"}
FILMS = {"one": {"genre": ["drama"], "price": 12}, "two": {"genre": ["comedy", "noir"], "price": 80}}


def some_text(draw: random.Random) -> str:
    return "".join(draw.choice(string.printable + "é\ud800\0") for _ in range(draw.randrange(6)))


def some_number(draw: random.Random) -> float:
    return draw.choice([draw.uniform(-1e3, 1e3), draw.gauss(0, 1e-6), 10.0 ** draw.randrange(-20, 20), 0.0])


def some_column(draw: random.Random) -> Any:
    weight, kind = draw.choice([1.0, 1.0, 1e-6, 3.0, 1e9]), draw.randrange(4)
    if kind == 0:
        low = some_number(draw)
        high = low + abs(some_number(draw)) + 1e-3 * max(1.0, abs(low))
        return Number(low, high, draw.randrange(1, 9), weight=weight)
    if kind == 1:
        return Hashed(draw.randrange(1, 9), some_text(draw), weight=weight)
    values = {some_text(draw) for _ in range(draw.randrange(1, 6))}
    return (Category if kind == 2 else Tags)(*values, weight=weight)


def some_value(draw: random.Random, column: Any) -> Any:
    if draw.random() < 0.15:
        return draw.choice([None, math.nan])
    if isinstance(column, Number):
        ends = [column.low, column.high, math.inf, -math.inf, 10**400, -1, np.float32(draw.random()), np.int64(7)]
        return draw.choice([some_number(draw), draw.uniform(column.low, column.high), draw.choice(ends)])
    if isinstance(column, Hashed):
        return draw.choice([some_text(draw), draw.randrange(-(10**30), 10**30)])
    texts = [*column.values, some_text(draw), "beyond"]
    if isinstance(column, Category):
        return draw.choice(texts)
    return draw.choices(texts, k=draw.randrange(9))


def some_schema(draw: random.Random) -> Schema:
    arms = draw.choice(["shared", "disjoint"])
    context = {f"c{i}": some_column(draw) for i in range(draw.randrange(5))}
    action = {} if arms == "disjoint" else {f"a{i}": some_column(draw) for i in range(draw.randrange(1, 4))}
    names = [*context, *action]
    cross = [(draw.choice(names), draw.choice(names)) for _ in range(draw.randrange(4))] if names else []
    actions = () if arms == "shared" else [f"arm {i}" for i in range(draw.randrange(1, 4))]
    return Schema(context=context, action=action, arms=arms, actions=tuple(actions), cross=cross)


def some_request(draw: random.Random, schema: Schema) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    def fields(columns: Any) -> dict[str, Any]:
        return {name: some_value(draw, column) for name, column in columns.items() if draw.random() < 0.9}

    return fields(schema.context), {name: fields(schema.action) for name in schema.actions or ("x", "y")}


def attack(cases: int, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(cases):
        schema = some_schema(draw)
        request = some_request(draw, schema)
        vectors = schema.vectors(*request)
        for vector in vectors.values():
            assert vector.shape == (schema.dim,) and np.isfinite(vector).all()
            assert math.sqrt(float(vector @ vector)) <= 1 + 1e-12
        schema.vectors(*some_request(draw, schema))  # of another person
        again = schema.vectors(*request)
        assert all((again[name] == vectors[name]).all() for name in vectors)


@pytest.mark.parametrize("cases", [2_000, pytest.param(100_000, marks=pytest.mark.full)])
def test_no_request_is_longer_than_one_nor_depends_on_another(cases: int) -> None:
    attack(cases, random.SystemRandom().randrange(1 << 32))


def test_the_attack_would_find_a_field_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tags, "entries", lambda self, value: [(i, 1.0) for i in range(len(self.values))])
    with pytest.raises(AssertionError):
        attack(2_000, 1)


def test_columns_give_what_they_say() -> None:
    assert Number(0, 10).entries(5) == [(0, 0.0)] and Number(0, 10).entries(99) == [(0, 1.0)]
    assert Number(0, 10, 3).entries(2.5) == [(0, 0.5), (1, 0.5)]
    assert Number(0, 10, 3).entries(10) == [(1, 0.0), (2, 1.0)]
    assert Number(0, 10, 3).entries(None) == Number(0, 10, 3).entries(math.nan) == [(3, 1.0)]
    assert Category("F", "M").entries("M") == [(1, 1.0)] and Category("F", "M").entries("x") == [(2, 1.0)]
    assert Tags("a", "b", "c").entries(["c", "a", "z", "zz"]) == [(i, 1 / math.sqrt(3)) for i in (0, 2, 3)]
    assert Tags("a").entries([]) == []
    place, sign = Hashed(32).entries("Oslo")[0]
    assert 0 <= place < 32 and abs(sign) == 1 and Hashed(32).entries(None) == [(32, 1.0)]
    signs = [Hashed(8, salt).entries("Oslo")[0] for salt in map(str, range(200))]
    assert {p for p, _ in signs} == set(range(8)) and 60 < sum(s > 0 for _, s in signs) < 140  # 1e-8 to fail


def test_the_example_has_its_parts_side_by_side() -> None:
    assert HEALTH.dim == 1 + 9 + 3 + 33 + 3 + 2 + 3 * 9 == len(HEALTH.labels)
    found = HEALTH.vectors(PERSON, FILMS)
    named = dict(zip(HEALTH.labels, found["one"] * math.sqrt(7), strict=True))
    shown = {label: round(float(value), 3) for label, value in named.items() if value and "city" not in label}
    assert shown == {
        "constant": 1.0,
        "age=28.5714": 0.83,
        "age=42.8571": 0.17,
        "sex=F": 1.0,
        "genre=drama": 1.0,
        "price=line": -0.52,
        "genre=drama x age=28.5714": 0.83,
        "genre=drama x age=42.8571": 0.17,
    }
    assert found["two"][HEALTH.labels.index("price=line")] == 1 / math.sqrt(7)  # cut to its bound


def test_disjoint_arms_place_each_action_apart() -> None:
    apart = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk", "sleep"))
    assert apart.dim == 6 and apart.blocks == 2
    vectors = apart.vectors({"age": 100})
    assert np.allclose(vectors["walk"], [0.5**0.5, 0.5**0.5, 0, 0, 0, 0])
    assert np.allclose(vectors["sleep"], [0, 0, 0, 0.5**0.5, 0.5**0.5, 0])
    assert list(apart.vectors({}, ["sleep"])) == ["sleep"]
    for actions in (["sleep", "sleep"], [["sleep"]], ["run"], "sleep", 3, [], {"sleep": {"secret": 1}}, {"run": {}}):
        with pytest.raises(ValueError, match="^Expected "):
            apart.vectors({}, actions)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"context": {"age": 3}, "action": {"a": Number(0, 1)}}, "Expected fields by name"),
        ({"context": {"a": Number(0, 1)}, "action": {"a": Number(0, 1)}}, "a twice"),
        ({"action": {"a": Number(0, 1)}, "arms": "many"}, "one of shared, disjoint"),
        ({"context": {"a": Number(0, 1)}}, "use arms='disjoint'"),
        ({"context": {"a": Number(0, 1)}, "arms": "disjoint"}, "Expected names of actions"),
        ({"action": {"a": Number(0, 1)}, "cross": [("a", "aa")]}, "Did you mean a"),
        ({"arms": "disjoint", "actions": ("a", "a")}, "different texts"),
    ],
)
def test_a_wrong_schema_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Schema(**given)


def test_wrong_values_are_refused_without_their_words() -> None:
    people: list[Any] = [{"age": "secret"}, {"secret": 1}, {"sex": 17171}, {"age": np.zeros(3)}, ["secret"]]
    offers: list[Any] = [{"one": {"genre": "secret"}}, {"one": {"secret": 3}}, {}, ["secret"], None]
    for person, films in (*((one, FILMS) for one in people), *((PERSON, one) for one in offers)):
        with pytest.raises(ValueError, match="^Expected ") as caught:
            HEALTH.vectors(person, films)
        assert "secret" not in str(caught.value) and "17171" not in str(caught.value)


def test_tables_are_encoded_row_by_row() -> None:
    rows: dict[str, list[Any]] = {
        "age": [31, None],
        "sex": ["F", "X"],
        "city": ["Oslo", None],
        "genre": [["drama"], ["comedy", "noir"]],
        "price": [12.0, 80.0],
    }
    expected = np.stack([HEALTH.vectors(PERSON, FILMS)["one"], HEALTH.vectors({"sex": "X"}, FILMS)["two"]])
    assert (HEALTH.encode(rows) == expected).all() and (HEALTH.encode(polars.DataFrame(rows)) == expected).all()
    apart = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk", "sleep"))
    table = polars.DataFrame({"age": [3, 4], "action": ["sleep", "walk"]})
    assert (apart.encode(table)[0] == apart.vectors({"age": 3})["sleep"]).all()
    with pytest.raises(ValueError, match="column 'action'"):
        apart.encode({"age": [3]})


def test_bounds_are_learnt_from_public_tables_alone_and_said() -> None:
    table = polars.DataFrame({"age": [20, 60], "sex": ["F", "M"], "tags": [["a"], ["b", "c"]], "town": ["x", None]})
    schema = Schema.from_public(table, context=["age", "sex", "town"], action=["tags"])
    assert schema.context["age"] == Number(20, 60, 8) and schema.context["sex"] == Category("F", "M")
    assert schema.action["tags"] == Tags("a", "b", "c")
    many = Schema.from_public({"city": [str(i) for i in range(50)]}, context=["city"], arms="disjoint", actions=("a",))
    assert many.context["city"] == Hashed(32)
    bandit = joint(features=schema, budget=Budget(1, 1e-6))
    assert any("2 rows, whose people are not protected" in caveat for caveat in bandit.privacy.caveats)


def test_a_schema_is_the_same_after_a_file() -> None:
    draw = random.Random(3)
    for _ in range(100):
        schema = some_schema(draw)
        assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    for broken in ({"more": 1}, {"context": {"a": {"kind": "Word"}}}, {"context": {"a": {"kind": "Number", "x": 1}}}):
        with pytest.raises(ValueError, match="^Expected "):
            Schema.from_dict(broken)


def test_the_page_has_one_schema_in_python_json_and_toml() -> None:
    page = (Path(__file__).parents[5] / "docs" / "problem.md").read_text()
    (as_json,), (as_toml,) = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("json", "toml"))
    assert Schema.from_dict(json.loads(as_json)) == HEALTH
    assert Schema.from_dict(tomllib.loads(as_toml)["bandits"]["films"]["features"]) == HEALTH


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ({"type": "Number", "low": 0, "high": 1}, 'Expected kind = "Number" or kind = "Category" or .* for age, got'),
        ({"kind": "Number", "min": 0, "max": 1}, r"Number for age \(low, high, bins, weight, strict\), got others"),
    ],
)
def test_what_a_field_lacks_is_named(column: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Schema.from_dict({"context": {"age": column}})


def test_a_schema_is_the_same_in_whatever_order_its_fields_are_written() -> None:
    other = Schema(
        context=dict(reversed(HEALTH.context.items())), action=dict(reversed(HEALTH.action.items())), cross=HEALTH.cross
    )
    for same in (other, Schema.from_dict(json.loads(json.dumps(HEALTH.to_dict(), sort_keys=True)))):
        assert same == HEALTH and same.digest == HEALTH.digest and same.labels == HEALTH.labels
        assert (same.vectors(PERSON, FILMS)["one"] == HEALTH.vectors(PERSON, FILMS)["one"]).all()
    assert Number(0, 1).low.is_integer() and Schema(action={"a": Number(0, np.int64(7), np.int64(2))}).digest
    for change in ({"cross": []}, {"public": "x"}, {"context": {**HEALTH.context, "city": Hashed(32, "salt")}}):
        assert dataclasses.replace(HEALTH, **change).digest != HEALTH.digest


@pytest.mark.parametrize(
    "given",
    [
        *([], "x", {"context": []}, {"context": {"a": []}}, {"context": {"a": {"kind": ["Number"]}}}),
        *({"arms": "disjoint", "actions": "ab"}, {"arms": ["shared"]}, {"arms": "disjoint", "actions": [1, 2]}),
        *({"context": {"a": {"kind": "Category", "values": "FM"}}}, {"context": {"a": {"kind": "Number", "low": 0}}}),
        *({"context": {"a": {"kind": "Number", "low": "0", "high": 1}}}, {"context": {1: HASHED}}),
        *({"context": {"a": HASHED | {"slots": slots}}} for slots in (2.0, True)),
        *({"action": {"a": HASHED}, "cross": cross} for cross in ("aa", [["a"]], [["a", 1]], 3)),
        {"action": {"a": HASHED}, "public": 1},
    ],
)
def test_a_document_that_is_no_schema_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="^Expected "):
        Schema.from_dict(given)


def test_a_bandit_takes_fields_and_is_saved_with_its_schema(tmp_path: Path) -> None:
    bandit, plain = (
        joint(**given, budget=Budget(1, 1e-6), source=Simulated(1), policy=np.random.default_rng(1))
        for given in ({"features": HEALTH}, {"features": HEALTH.dim})
    )
    for round_ in range(120):
        choice, same = bandit.choose(PERSON, actions=FILMS), plain.choose(HEALTH.vectors(PERSON, FILMS))
        assert choice.name == same.name and choice.name in FILMS
        bandit.observe(choice, round_ % 2)
        plain.observe(same, round_ % 2)
    assert (bandit.theta == plain.theta).all()
    bandit.save(tmp_path / "bandit.json")
    loaded = Bandit.load(tmp_path / "bandit.json")
    assert loaded.features == HEALTH and loaded.plan.dim == HEALTH.dim
    assert loaded.choose(PERSON, actions=FILMS).name == bandit.choose(PERSON, actions=FILMS).name


def test_fields_that_are_refused_are_no_user() -> None:
    bandit = joint(features=HEALTH, budget=Budget(1, 1e-6))
    for arms, actions in (({"age": "old"}, FILMS), (PERSON, None), (np.eye(3), None)):
        with pytest.raises((ValueError, ReticentError)):
            bandit.choose(arms, actions=actions)
    assert bandit.choices == 0
    with pytest.raises(ValueError, match="features=Schema"):
        joint(features=2, budget=Budget(1, 1e-6)).choose([[1.0, 0.0]], actions=["a"])


def test_settings_of_columns_are_checked() -> None:
    for make in (
        lambda: Number(1, 0),
        lambda: Number(0, 1, 0),
        lambda: Category(),
        lambda: Category("a", "a"),
        lambda: Tags(1),  # type: ignore[arg-type]
        lambda: Hashed(0),
        lambda: Hashed(10**9),
        lambda: Category("a", weight=0.0),
    ):
        with pytest.raises(ValueError, match="^Expected "):
            make()
    assert dataclasses.replace(Number(0, 1), weight=2.0).weight == 2.0
