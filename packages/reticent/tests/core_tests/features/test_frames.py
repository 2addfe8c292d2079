"""Frames of pandas, polars and Arrow: the same people as from dictionaries and lists, bit by bit."""

import collections

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from core_tests.made import joint
from reticent import Budget, Simulated
from reticent.features import Category, Number, Schema, Tags
from reticent.mechanisms.opening import opened

SCHEMA = Schema(
    context={"age": Number(0, 100, 4), "plan": Category("free", "paid"), "likes": Tags("tea", "rain")},
    arms="disjoint",
    actions=("mail", "call"),
)
PEOPLE = [
    {"age": 30, "plan": "free", "likes": ["tea"]},
    {"age": None, "plan": None, "likes": None},
    {"age": 77, "plan": "paid", "likes": ["rain", "tea"]},
    {"age": 18, "plan": "other", "likes": []},
]
COLUMNS = {name: [person[name] for person in PEOPLE] for name in SCHEMA.context}


class Stream:
    """An Arrow stream and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


KINDS = {
    "polars": pl.DataFrame,
    "pandas": lambda columns: pd.DataFrame({name: pd.Series(column) for name, column in columns.items()}),
    "pandas, nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas, of Arrow": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "arrow": pa.table,
    "a batch": lambda columns: pa.table(columns).combine_chunks().to_batches()[0],
    "a stream": lambda columns: Stream(pa.table(columns)),
}


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request):
    return request.param


def make(**options):
    given = {"features": SCHEMA, "budget": Budget(1.0, 1e-6), "source": Simulated(1)}
    return joint(**given | options, policy=np.random.default_rng(3))


def rounds(count=200):
    rng = np.random.default_rng(4)
    picked = [PEOPLE[i] for i in rng.integers(len(PEOPLE), size=count)]
    columns = {name: [person[name] for person in picked] for name in SCHEMA.context}
    columns["age"] = [None if age is None else float(age) for age in columns["age"]]
    action = [SCHEMA.actions[i] for i in rng.integers(2, size=count)]
    return columns | {"action": action, "reward": rng.integers(2, size=count) * 1.0, "propensity": [0.5] * count}


def sums(bandit):
    return opened(bandit.sums.state.prefix).open


def test_many_people_of_a_frame(kind):
    expected, found = make().choose_many(PEOPLE), make().choose_many(kind(COLUMNS))
    assert not found.refused and np.array_equal(found.index, expected.index)
    assert np.array_equal(SCHEMA.batch(kind(COLUMNS))[0], SCHEMA.batch(PEOPLE)[0])


def test_one_row_of_a_frame(kind):
    for person in (PEOPLE[0], PEOPLE[2]):
        row = kind({name: [value] for name, value in person.items()})
        assert make().choose(row).index == make().choose(person).index
        assert np.array_equal(SCHEMA.rows(row)[1], SCHEMA.rows(person)[1])
    with pytest.raises(ValueError, match="one person, got a frame of 4 rows"):
        make().choose(kind(COLUMNS))


def test_rows_of_pandas_and_named_tuples():
    frame, named = KINDS["pandas, nullable"](COLUMNS), collections.namedtuple("Person", COLUMNS)
    for i, person in enumerate(PEOPLE):
        for row in (frame.iloc[i], KINDS["pandas"](COLUMNS).iloc[i], named(**person)):
            assert np.array_equal(SCHEMA.rows(row)[1], SCHEMA.rows(person)[1])


def test_what_is_no_field_is_refused_before_anybody_is_counted(kind):
    bandit = make()
    with pytest.raises(ValueError, match="Expected fields of the schema"):
        bandit.choose_many(kind(COLUMNS | {"wage": [1.0] * 4}))
    with pytest.raises(ValueError, match="Expected fields of the schema"):
        bandit.choose(kind({"wage": [1.0]}))
    assert bandit.choices == 0


def test_a_log_of_any_kind_is_the_same_log(kind):
    table = rounds()
    expected, found = make(), make()
    assert expected.learn_log(table) == {} == found.learn_log(kind(table))
    assert np.array_equal(sums(expected), sums(found))
    assert np.array_equal(SCHEMA.encode(kind(table)), SCHEMA.encode(table))


def test_arms_in_a_column(kind):
    arms = np.random.default_rng(5).uniform(-0.5, 0.5, (4, 3, 2))
    expected, found = (make(features=2) for _ in range(2))
    assert np.array_equal(found.choose_many(kind({"arms": arms.tolist()})).index, expected.choose_many(arms).index)
    rewards = kind({"reward": [1.0, 0.0, 1.0, 1.0]})
    column = pl.DataFrame(rewards)["reward"] if isinstance(rewards, Stream) else rewards["reward"]
    assert found.observe_many([1, 2, 3, 4], column) == {} == expected.observe_many([1, 2, 3, 4], [1.0, 0.0, 1.0, 1.0])
    assert np.array_equal(sums(found), sums(expected))


@pytest.mark.parametrize("given", [pl.LazyFrame(COLUMNS), pl.Series([1.0]), pd.Series([1.0]), pa.array([1.0]), 7, None])
def test_what_is_no_table_is_refused_by_its_kind(given):
    with pytest.raises(ValueError, match=f"got {type(given).__name__}"):
        make().learn_log(given)


def test_choices_of_a_batch_are_a_sequence_of_choices():
    """Those of `choose` at that state: with name, id and propensity; None for who was refused."""
    bandit = make()
    choices = bandit.choose_many([*PEOPLE, {"age": "old"}])
    each = list(choices)
    assert len(choices) == 5 == len(each) and list(choices.refused) == [4] and each[4] is None
    assert [one.id for one in each[:4]] == list(choices.id[:4])
    assert [one.name for one in each[:4]] == [SCHEMA.actions[i] for i in choices.index[:4]]
    assert all(one.propensity == 0.5 for one in each[:4])  # nothing is learnt yet
    for one in each[:4]:
        assert bandit.observe(one, 1.0)
