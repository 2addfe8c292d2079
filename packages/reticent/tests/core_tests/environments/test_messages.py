"""The world of messages: people's fields as the schema encodes them, and gains as its docstring says."""

import numpy as np
import pytest
from scipy import stats

from core_tests.environments.test_environments import filled
from reticent import Budget, JointGLM, LinUCB, Spec, environments, simulate
from reticent.environments.messages import FIELDS, NAMES
from reticent.features import Category
from reticent.model import arms


def rounds(count=2000, seed=0, size=None, **options):
    world = environments.messages(**{"disjoint": True} | options)
    return world.features, filled(world, count, seed, size)


def people(schema, rows):
    """The fields of each person, read from the numbers of one row."""
    own = schema.dim // schema.blocks
    labels = [label.removeprefix("news: ") for label in schema.labels[:own]]
    out = []
    for z in rows[:, 0, :own]:
        person = {}
        for name, column in schema.context.items():
            at = labels.index(f"{name}={column.labels()[0]}")
            shares = z[at : at + column.size - 1] / z[0]
            assert shares.sum() == pytest.approx(1) and z[at + column.size - 1] == 0  # nobody leaves a field out
            if isinstance(column, Category):
                person[name] = column.values[int(shares.argmax())]
            else:
                place = shares @ np.arange(column.bins) / (column.bins - 1)
                person[name] = round(column.low + (column.high - column.low) * place)
        out.append(person)
    return out


@pytest.mark.parametrize("fields", [1, 3, 5])
def test_arms_are_the_rows_of_the_schema(fields):
    schema, (rows, _, _) = rounds(200, fields=fields)
    assert len(schema.context) == fields and "hour" in schema.context and schema.actions == NAMES
    found = people(schema, rows)
    assert len({tuple(person.values()) for person in found}) > 10
    for person, row in zip(found, rows, strict=True):
        assert (schema.placed(person)[1] == row).all()


def test_a_world_is_the_same_in_any_form_and_however_it_is_cut():
    schema, (rows, means, noise) = rounds(300)
    for options in ({"size": 60}, {"disjoint": False}, {"fields": 1}, {"base_rate": 0.03}):
        other, found = rounds(300, **options)
        assert (found[2] == noise).all()
        if "base_rate" in options:
            assert np.allclose(found[1] / means, found[1][0, 0] / means[0, 0])
        else:
            assert (found[1] == means).all()
        if options.get("disjoint") is False:
            assert (found[0] == [arms.whole(row, schema.dim, 6) for row in rows]).all()
        assert (other == schema) == ("fields" not in options)
    assert not (rounds(300, seed=1)[1][1] == means).any()


def test_gains_are_as_the_docstring_says():
    """Averages over 80 worlds of 4000 people, whose standard errors are about 1 point."""
    for options, by_hour in (({}, 0.80), ({"dependent": True}, 0.83)):
        gains = []
        for seed in range(80):
            _, (rows, means, _) = rounds(4000, seed, fields=1, **options)
            hours = np.unique(rows[:, 0, :-1].round(9), axis=0, return_inverse=True)[1].ravel()
            best_by_hour = sum(means[hours == hour].sum(axis=0).max() for hour in range(24)) / 4000
            uniform = means.mean()
            gains.append((uniform, means.max(axis=1).mean(), means.mean(axis=0).max(), best_by_hour))
        uniform, best, single, hour = np.mean(gains, axis=0)
        assert abs(uniform - 0.28) < 0.015 and abs(best - uniform - 0.16) < 0.01
        assert abs((single - uniform) / (best - uniform) - 0.19) < 0.03
        assert abs((hour - uniform) / (best - uniform) - by_hour) < 0.025


@pytest.mark.parametrize("rate", [0.01, 0.1])
def test_the_overall_rate(rate):
    """Of 20 000 people, whose standard error is 1 %."""
    for dependent in (False, True):
        _, (_, means, _) = rounds(20_000, base_rate=rate, dependent=dependent)
        assert means.mean() == pytest.approx(rate, rel=0.05) and means.max() < 1


def test_dependent_fields_are_dependent_and_each_alone_is_not_changed():
    """Chi-squared tests of false alarm 1e-6 each."""
    for dependent in (False, True):
        schema, (rows, _, _) = rounds(4000, dependent=dependent)
        found = people(schema, rows)
        codes = {
            name: np.array([list(field.values).index(person[name]) for person in found])
            for name, field in FIELDS.items()
        }
        for name, field in FIELDS.items():
            counts = np.bincount(codes[name], minlength=len(field.values))
            assert stats.chisquare(counts, np.array(field.chances) / np.sum(field.chances) * 4000).pvalue > 1e-6
        together = np.histogram2d(codes["plan"], codes["country"], [4, 5])[0]
        assert (stats.chi2_contingency(together).pvalue < 1e-6) == dependent


def test_who_takes_a_schema_is_told_of_it_and_others_play_the_same_world():
    world, private = environments.messages(fields=2), Spec(JointGLM, budget=Budget(4.0, 1e-2))
    built = private.build(world, 100, np.random.SeedSequence(0))
    assert built.features == world.features and built.plan.dim == world.dim == 6 * 12
    assert (built.plan.reward.range, built.plan.reward.link) == ((0.0, 1.0), "logistic")
    vectors = Spec(JointGLM, budget=Budget(4.0, 1e-2)).build(
        environments.messages(fields=2, disjoint=False), 100, np.random.SeedSequence(0)
    )
    assert vectors.features is None and vectors.plan.dim == 72
    glm, linear = simulate([private, Spec(LinUCB)], world, horizon=200, runs=2, seed=0).groups()
    assert [run.uniform_regret for run in glm] == [run.uniform_regret for run in linear]


@pytest.mark.parametrize(
    "wrong", [{"fields": 0}, {"fields": 6}, {"base_rate": 0.0}, {"base_rate": 0.2}, {"dim": 7}, {"arms": 5}]
)
def test_bad_settings(wrong):
    with pytest.raises(ValueError, match="Expected"):
        environments.messages(**wrong)
