"""Made-up people: fields as their public sums say, one by one."""

import math

import numpy as np
import pytest

from reticent.features import Category, Hashed, Number, Schema, Tags
from reticent.features.people import frequencies, made_up, row

COUNT = 20_000


def schema(cross=(), **context):
    return Schema(context=context, cross=cross, arms="disjoint", actions=("a", "b"))


def people(made, sums, count=COUNT, seed=0):
    return made_up(made, np.asarray(sums, np.float64), count, np.random.default_rng(seed))


def part(made, drawn, *names):
    """The numbers of that part, without its weight."""
    (found,) = [one for one in made.own if one.names == names]
    return drawn[:, found.start : found.start + found.size] / found.weight


def at(made, **sums):
    """The sums of features, as they would be with those of each field."""
    out = np.zeros(sum(one.size for one in made.own))
    for one in made.own:
        if len(one.names) == 1:
            out[one.start : one.start + one.size] = one.weight * np.asarray(sums[one.names[0]])
    return out


def test_values_are_as_likely_as_their_shares_and_fields_apart():
    """Within 4.5 standard errors: a false alarm for any of seven shares 5e-5, if the seed were not fixed. Negative sums
    count as 0, and the product of two fields is that of what was drawn of each."""
    made = schema(plan=Category("free", "paid", weight=2.0), sex=Category("F", "M"), cross=[("plan", "sex")])
    drawn = people(made, at(made, plan=[600, 300, 100], sex=[70, -5, 30]))
    plan, sex = part(made, drawn, "plan"), part(made, drawn, "sex")
    for found, shares in ((plan, [0.6, 0.3, 0.1]), (sex, [0.7, 0.0, 0.3])):
        assert set(np.unique(found)) <= {0.0, 1.0} and np.allclose(found.sum(axis=1), 1.0)
        error = np.sqrt(np.multiply(shares, np.subtract(1, shares)) / COUNT)
        assert (np.abs(found.mean(axis=0) - shares) <= 4.5 * error).all()
    both = part(made, drawn, "plan", "sex")
    assert np.allclose(both, (plan[:, :, None] * sex[:, None, :]).reshape(COUNT, -1))
    assert abs(both[:, 0].mean() - 0.42) < 4.5 * math.sqrt(0.42 * 0.58 / COUNT)
    assert np.allclose(np.linalg.norm(drawn, axis=1), 1.0) and np.allclose(drawn[:, 0], made.own[0].weight)


def test_a_number_is_shared_by_two_neighbours():
    """Where people have all ages alike, the made-up ones nearly do, too: the sums at knots and of neighbours' products
    are within a tenth of theirs; those who have none stay without."""
    made, rng = schema(age=Number(0, 100, bins=5)), np.random.default_rng(1)
    ages = [None if rng.random() < 0.2 else rng.uniform(0, 100) for _ in range(COUNT)]
    real = part(made, np.array([made.placed({"age": age})[1][0][:-1] for age in ages]), "age")
    drawn = part(made, people(made, at(made, age=real.sum(axis=0))), "age")
    assert np.allclose(drawn.sum(axis=1), 1.0) and (drawn >= 0).all() and (drawn[:, 5] % 1 == 0).all()
    assert all(np.ptp(np.flatnonzero(row)) <= 1 for row in drawn[:500])
    assert np.allclose(drawn.mean(axis=0), real.mean(axis=0), rtol=0.1)
    assert np.allclose((drawn[:, :-1] * drawn[:, 1:]).mean(axis=0)[:4], 0.8 / 24, rtol=0.1)


def test_at_one_knot_nobody_is_beyond_the_bounds():
    made = schema(age=Number(0, 100, bins=2))
    for sums in ([9, 0, 0], [0, 9, 0]):
        drawn = part(made, people(made, at(made, age=sums), 500), "age")
        assert (drawn >= 0).all() and np.allclose(drawn.sum(axis=1), 1) and drawn[:, np.argmax(sums)].min() >= 0.5


@pytest.mark.parametrize("sums", [np.zeros(4), -np.ones(4)])
def test_sums_that_say_nothing_are_taken_for_even(sums):
    made = schema(tags=Tags("x", "y"))
    assert np.abs(part(made, people(made, sums), "tags").mean(axis=0) - 1 / 3).max() < 4.5 * math.sqrt(2 / 9 / COUNT)


def test_what_may_be_negative_is_drawn_evenly():
    made = schema(age=Number(0, 100), city=Hashed(3))
    drawn = people(made, np.full(7, 100.0))
    age, city = part(made, drawn, "age"), part(made, drawn, "city")
    assert age[:, 0].min() < -0.99 and age[:, 0].max() > 0.99 and abs(age[:, 0].mean()) < 4.5 / math.sqrt(3 * COUNT)
    assert not age[:, 1].any() and not city[:, 3].any() and np.allclose(np.abs(city).sum(axis=1), 1)
    assert np.linalg.norm(drawn, axis=1).max() <= 1 + 1e-12
    assert [one.signed.tolist() for one in made.own] == [[False], [True, False], [True] * 3 + [False]]


def test_the_same_draws_the_same_people():
    made = schema(age=Number(0, 100, bins=3), plan=Category("a", "b"))
    sums = at(made, age=[1, 2, 3, 0], plan=[1, 1, 0])
    assert np.array_equal(people(made, sums, 50, seed=3), people(made, sums, 50, seed=3))
    assert not np.array_equal(people(made, sums, 50, seed=3), people(made, sums, 50, seed=4))


def test_the_mean_person_is_the_mean_of_people_and_a_row_is_that_of_somebody():
    """Within 5 standard errors of the mean over people; the row of given values is what the schema makes of them."""
    fields = {"plan": Category("free", "paid"), "age": Number(0, 100, bins=3), "on": Number(0, 1), "city": Hashed(4)}
    made = schema(**fields, cross=[("plan", "age")])
    given = at(made, plan=[60, 30, 10], age=[20, 40, 30, 10], on=[0, 0], city=[0] * 5)
    drawn, numbers = people(made, given), frequencies(made, given)
    error = drawn.std(axis=0) / math.sqrt(COUNT) + 1e-9
    apart = np.abs(row(made, numbers) - drawn.mean(axis=0))
    knots = np.array(["age" in label and "none" not in label for label in made.labels[: len(apart)]])
    assert (apart[~knots] <= 5 * error[~knots]).all()
    assert (apart[knots] < 0.1).all()  # people lie between the knots, too
    somebody = {"plan": np.eye(3)[1], "age": np.eye(4)[2], "on": np.array([-1.0, 0.0]), "city": np.zeros(5)}
    _, rows = made.placed({"plan": "paid", "age": 100, "on": 0, "city": "x"})
    (city,) = [one for one in made.own if one.names == ("city",)]
    rows[0, city.start : city.start + city.size] = 0.0
    assert np.allclose(row(made, somebody), rows[0, :-1])
