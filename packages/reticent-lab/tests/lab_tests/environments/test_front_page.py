"""Front pages are what they say."""

import numpy as np
import pytest

from core_tests.environments.test_environments import filled
from reticent_lab.environments import front_page
from reticent_lab.environments.front_page import HOURS, LEVELS, OFTEN, SCHEMA, TOPICS


def test_items_are_encoded_by_the_schema_and_clicked_at_the_base_rate():
    world = front_page(hour=100)
    arms, means, _ = filled(world, 300)
    assert arms.shape == (300, 200, SCHEMA.dim) and np.linalg.norm(arms, axis=2).max() <= 1 + 1e-12
    assert world.features is SCHEMA and means.min() > 0 and means.max() <= 0.5
    rates = [filled(world, 60, seed)[1].mean() for seed in range(12)]  # what is not even is which levels people have
    assert np.mean(rates) == pytest.approx(0.02, rel=0.1)
    alike = {arm.tobytes(): mean for arm, mean in zip(arms[0], means[0], strict=True)}
    assert all(alike[arm.tobytes()] == mean for arm, mean in zip(arms[0], means[0], strict=True))


def test_levels_are_as_frequent_as_they_should_be():
    """Of 400 people in 8 topics: 5 standard errors, false alarm below 1e-5."""
    arms, _, _ = filled(front_page(arms=200), 400, seed=3)
    level = np.array([[SCHEMA.labels[i].endswith(f"level={name}") for i in range(SCHEMA.dim)] for name in LEVELS])
    topic = np.array([[SCHEMA.labels[i] == f"topic={name}" for i in range(SCHEMA.dim)] for name in TOPICS])
    alone = level & np.array([label.startswith("level=") for label in SCHEMA.labels])
    found, kinds = (arms @ alone.T > 0).argmax(axis=2), (arms @ topic.T > 0).argmax(axis=2)
    each = np.array([[found[t][kinds[t] == k][0] for k in range(len(TOPICS))] for t in range(len(arms))])
    assert all((found[t] == each[t][kinds[t]]).all() for t in range(len(arms)))  # a person's level is the topic's
    often = np.bincount(each.ravel(), minlength=len(LEVELS)) / each.size
    assert np.abs(often - OFTEN).max() < 5 * np.sqrt(0.25 / each.size)


def test_items_age_every_hour_and_make_room():
    world = front_page(hour=10, arms=40, appeal=0.5)
    arms, means, noise = filled(world, 10 * (HOURS + 2))
    for parts in zip((arms, means, noise), filled(world, 10 * (HOURS + 2), size=7 * 4), strict=True):
        assert np.array_equal(parts[0], parts[1])
    age = SCHEMA.labels.index(next(label for label in SCHEMA.labels if label.startswith("age")))
    ages = arms[::10, :, age]
    assert (arms[:, :, age].reshape(-1, 10, 40) == ages[:, None]).all()  # for an hour
    older = np.diff(ages, axis=0)
    assert ((older > 0) | (ages[1:] == ages.min())).all() and (older < 0).sum() >= 40


@pytest.mark.parametrize("wrong", [{"hour": 0}, {"base_rate": 0.2}, {"dim": 3}, {"appeal": -1.0}])
def test_other_settings_are_refused(wrong):
    with pytest.raises(ValueError, match="Expected"):
        front_page(**wrong)
