"""Learning from a log: the same sums, releases and counts as the same people would have left live."""

import functools

import numpy as np
import polars as pl
import pytest
from numpy.random import default_rng

from core_tests.made import algorithm, joint
from core_tests.pieces import Pieces
from reticent import Bandit, Budget, Secure, Simulated
from reticent.core import repeated
from reticent.errors import HorizonReached
from reticent.features import Category, Number, Schema
from reticent.mechanisms.opening import opened
from reticent_serve import Stored

BUDGET = Budget(1.0, 0.02)


def make(**options):
    return joint(**{"features": 4, "budget": BUDGET, "source": Simulated(2)} | options)


def opened_at(path, **options):
    """On a database."""
    given = {"features": 4, "budget": BUDGET, "window": "1 minute"}
    return Stored(algorithm(**given | options), path, background=False)


def log(count=120, seed=0):
    rng = default_rng(seed)
    x = rng.uniform(-0.4, 0.4, (count, 4))
    return {f"x{i}": x[:, i] for i in range(4)} | {"reward": rng.integers(2, size=count).astype(float)}


def same(one, other):
    assert one.choices == other.choices and one.sums.steps == other.sums.steps
    assert np.array_equal(opened(one.sums.state.prefix).open, opened(other.sums.state.prefix).open)
    assert np.array_equal(one.sums.state.prefix.released, other.sums.state.prefix.released)


def test_as_if_they_had_come_live():
    """Each row as a choice among one arm, answered at once; then both go on live."""
    learnt, live, table = make(horizon=400), make(horizon=400), log()
    assert learnt.learn_log(table) == {}
    for row in range(120):
        live.observe(live.choose([[table[f"x{i}"][row] for i in range(4)]]), table["reward"][row])
    same(learnt, live)
    assert learnt.sums.steps > 0 and learnt.privacy.spent == live.privacy.spent
    for bandit in (learnt, live):
        bandit.observe(bandit.choose([[0.1, 0.2, 0.3, 0.4]]), 1.0)
    learnt.learn_log({name: column[:60] for name, column in table.items()})  # and between live choices
    assert learnt.choices == 181


def test_a_bad_row_is_refused_alone_and_counts():
    """Whatever is in it: the sums and the schedule are those of a round that nobody answered."""
    table, silent = log(), log()
    silent["reward"][7] = np.nan
    expected = make()
    assert expected.learn_log(silent) == {}
    for column, value in (("x1", np.nan), ("x2", 3.0), ("reward", 7.0), ("reward", "much"), ("x0", "a")):
        bad = {name: list(values) for name, values in table.items()}
        bad[column][7] = value
        bandit = make()
        refused = bandit.learn_log(bad)
        assert list(refused) == [7] and ("norm at most 1" in refused[7]) == (column != "reward")
        same(bandit, expected)


@pytest.mark.parametrize("bad", [120, 13, 12])
def test_a_log_of_which_more_than_a_tenth_is_refused_is_another_than_was_meant(bad, tmp_path):
    """Nothing of it is learnt, in memory, in pieces or on a database, and the first rows are named."""
    table = log()
    table["x0"] = np.where(np.arange(120) < bad, 3.0, table["x0"])
    with opened_at(tmp_path / "stored.db") as stored:
        holders = [
            (made := make(source=source), functools.partial(made.learn_log, given))
            for source in (Simulated(2), Secure())
            for given in (table, Pieces(pl.DataFrame(table)))
        ]
        holders += [(stored, functools.partial(stored.learn_log, table, log="june"))]
        for bandit, learn in holders:
            if bad == 12:
                assert list(learn()) == list(range(12)) and bandit.choices == 120
                continue
            told = rf"one row in 10 to be refused, got {bad} of 120; nothing was learnt\. Row 0: .* Row 4: "
            for _ in range(2):
                with pytest.raises(ValueError, match=told):
                    learn()
            assert bandit.choices == 0 and bandit.privacy.spent == 0


def test_persons_are_counted_with_live_rounds():
    bandit, alone = make(rounds=2, first=50), make(rounds=2, first=50)
    bandit.observe(bandit.choose([[0.1] * 4], person="ada"), 1.0)
    alone.observe(alone.choose([[0.1] * 4], person="ada"), 1.0)
    table = {name: column[:4] for name, column in log().items()}
    assert bandit.learn_log(table | {"person": ["ada", "ada", "bob", "bob"]}) == {} and bandit.choices == 5
    assert sorted(bandit.memory.persons.counts.values()) == [2, 2]  # the third of ada teaches nothing
    kept = {name: [value for row, value in enumerate(column) if row != 1] for name, column in table.items()}
    assert alone.learn_log(kept | {"person": ["ada", "bob", "bob"]}) == {}
    assert np.array_equal(opened(bandit.sums.state.prefix).open, opened(alone.sums.state.prefix).open)


def test_persons_are_in_a_log_where_they_are_limited_and_nowhere_else(tmp_path):
    """Else each row would be refused, or taken for another person, and epsilon spent all the same."""
    table = {name: column[:4] for name, column in log().items()}
    named = table | {"person": ["ada", "ada", "bob", None]}
    for options, wrong, message in (
        ({}, named, "Expected a budget for a person for a log"),
        ({"rounds": 2}, table, "Expected a column person"),
    ):
        bandit = joint(features=4, budget=BUDGET, **options)
        with opened_at(tmp_path / f"{len(options)}.db", **options) as stored:
            for given in (wrong, Pieces(pl.DataFrame(wrong))):
                for learn in (bandit.learn_log, functools.partial(stored.learn_log, log="june")):
                    with pytest.raises(ValueError, match=message):
                        learn(given)
            assert bandit.choices == stored.choices == 0


def test_the_certificate_counts_them_and_files_keep_that(tmp_path):
    bandit = joint(features=4, budget=BUDGET)
    assert "log" not in " ".join(bandit.privacy.caveats)
    bandit.learn_log(log(30))
    assert any(c.startswith("30 of the choices are rows of a log") for c in bandit.privacy.caveats)
    bandit.save(tmp_path / "bandit.json")
    assert Bandit.load(tmp_path / "bandit.json").privacy.caveats == bandit.privacy.caveats


def test_actions_have_coordinates_of_their_own():
    x = default_rng(3).uniform(-0.5, 0.5, (50, 2))
    actions, rewards = ["tea", "coffee"] * 25, [1.0, 0.0] * 25
    table = {"action": actions, "reward": rewards, "x0": x[:, 0], "x1": x[:, 1]}
    dense = make()
    dense.learn_log(table, actions=("coffee", "tea"))
    expected, arms = make(), np.zeros((50, 2, 4))
    arms[:, 0, :2] = arms[:, 1, 2:] = x
    expected.learn_log({"arms": arms.tolist(), "action": [1, 0] * 25, "reward": rewards})
    same(dense, expected)


def test_fields_of_a_schema():
    schema = Schema(context={"age": Number(0, 100), "sex": Category("F", "M")}, arms="disjoint", actions=("a", "b"))
    sex, action = ["F", "?"] + ["M"] * 8, ["a", "c"] + ["b"] * 8
    bandit, live = (joint(features=schema, budget=BUDGET, source=Simulated(2)) for _ in range(2))
    refused = bandit.learn_log({"age": [30] * 10, "sex": sex, "action": action, "reward": [1.0] * 10})
    assert list(refused) == [1]  # there is no action c; an unknown sex is no error
    for one, played in zip(sex, action, strict=True):
        if played != "c":
            live.observe(live.choose({"age": 30, "sex": one}, actions=[played]), 1.0)
    assert np.array_equal(opened(bandit.sums.state.prefix).open, opened(live.sums.state.prefix).open)


def test_a_field_of_the_schema_without_a_column_is_no_missing_value(tmp_path):
    schema = Schema(context={"age": Number(0, 100), "sex": Category("F", "M")}, arms="disjoint", actions=("a", "b"))
    table = {"Age": [30, 60], "sex": ["F", None], "action": ["a", "b"], "reward": [1.0, 1.0]}
    bandit = joint(features=schema, budget=BUDGET)
    with opened_at(tmp_path / "stored.db", features=schema) as stored:
        for learn in (bandit.learn_log, functools.partial(stored.learn_log, log="june")):
            for given in (table, Pieces(pl.DataFrame(table))):
                with pytest.raises(ValueError, match="got none named age\\."):
                    learn(given)
            assert learn(table | {"age": [None, None]}) == {}
        assert bandit.choices == stored.choices == 2


def test_tables_without_what_is_needed():
    for table, message in (
        ({"x0": [1.0]}, "column reward"),
        ({"reward": [1.0]}, "x0, x1"),
        ({"reward": [1.0], "x0": [0.5], "x1": [0.5]}, "Expected 4 columns .* a column action, got 2"),
        ({"reward": [1.0], "x0": [0.5], "x1": [0.5], "x2": [0.5]}, "a part of 4 features"),
    ):
        with pytest.raises(ValueError, match=message):
            make().learn_log(table)


def test_a_row_of_any_kind_is_refused_alone():
    """Whatever is in one row, the others are learnt from."""
    schema = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk", "sleep"))
    bandit = joint(features=schema, budget=Budget(1, 1e-6))
    action, reward = ["walk", ["sleep"], "sleep", *["walk"] * 17], [1, 1, np.ones(2), *[0] * 17]
    table = {"age": list(range(20)), "action": action, "reward": reward}
    assert set(bandit.learn_log(table, actions={"walk": {}, "sleep": {}})) == {1, 2} and bandit.choices == 20


def test_the_same_log_is_refused_a_second_time(tmp_path):
    """In whatever form it comes, and after a file; a part of it, another row, or a log of few different rows is not."""
    path, table = tmp_path / "bandit.json", log()
    pieces, bandit = Pieces(pl.DataFrame(table)), make()
    bandit.learn_log(table)
    bandit.save(path)
    lists = {name: list(table[name]) for name in reversed(table)}
    forms = [table, pl.DataFrame(table), lists, pieces, table | {"day": [1] * 120}]
    for known in (bandit, Bandit.load(path)):
        for form in forms:
            with pytest.raises(ValueError, match="one whose rows it has learnt"):
                known.learn_log(form)
        assert known.choices == 120
        known.learn_log({name: column[:-1] for name, column in table.items()})
        known.learn_log(table | {"reward": 1 - table["reward"]})
        assert known.choices == 120 + 119 + 120
    assert repeated.digest(make().memory.validator, table, bytes(32)) not in path.read_text()
    alike = {name: np.repeat(column[:15], 8) for name, column in table.items()}  # other people may well look so
    bandit.learn_log(alike)
    bandit.learn_log(alike)
    other = make()
    other.learn_log(pieces)
    with pytest.raises(ValueError, match="one whose rows it has learnt"):
        other.learn_log(table)


def test_a_log_that_was_refused_as_a_whole_may_be_given_again():
    for table in (log(), Pieces(pl.DataFrame(log()))):
        small, other = make(horizon=100), make(features=6)
        with pytest.raises(HorizonReached):
            small.learn_log(table)
        with pytest.raises(ValueError, match="a part of 6 features, got 4 columns"):
            other.learn_log(table)
        assert small.choices == other.choices == 0 and not small.memory.logs and not other.memory.logs


def test_digests_are_keyed_and_the_same_in_every_form():
    validator, table = make().memory.validator, log()
    person = validator.__class__(**{**vars(validator), "limited": True})
    first = repeated.digest(validator, table, bytes(32))
    assert (
        first
        == repeated.digest(validator, pl.DataFrame(table), bytes(32))
        != repeated.digest(validator, table, b"k" * 32)
    )
    assert repeated.digest(person, table | {"person": [f"p{i}" for i in range(120)]}, bytes(32)) != first
    assert repeated.digest(validator, table | {"reward": [int(y) for y in table["reward"]]}, bytes(32)) == first
    missing = [table | {"reward": [None, *table["reward"][1:]]}, table | {"reward": [np.nan, *table["reward"][1:]]}]
    assert len({repeated.digest(validator, one, bytes(32)) for one in missing}) == 1
