"""The local paper's table, the local suite, and the bench of local noise."""

from types import SimpleNamespace

import numpy as np

from reticent import Budget, environments
from reticent_devices.mechanisms import local
from reticent_devices.mechanisms.randomizers import Cap
from reticent_papers.reproductions import ldp_figure1, ldp_table1, local_suite
from tools.bench import local as bench


def test_one_parameter_and_many_are_told_apart():
    """Around one theta* the played arms of section 5 have a small eigenvalue, which an average over many hides."""
    medians = {}
    for reading, (kind, shared) in ldp_table1.READINGS.items():
        world = kind(dim=5, arms=100, radius=1.0)
        medians[reading] = np.median(ldp_table1.eigenvalues(world, 1000, 40, shared)[500:])
    one, anew, sphere, gaussian = medians.values()
    assert 4 * one < ldp_table1.FLOOR < min(sphere, anew) / 2 and gaussian > 0.1


def test_the_table_of_the_suite_fits_a_terminal():
    """All environments, with regrets of five digits in every place."""
    labels = [spec.label for spec in local_suite.specs(environments.ball(dim=3))]
    names = [world.name.replace("_", "-") for world in local_suite.worlds()]
    rows = [{"label": label, "regret_mean": 23456.7} for label in labels]
    results = {name: SimpleNamespace(rows=rows) for name in names}
    text = local_suite.render(local_suite.EPSILONS[0], results)
    assert text.count("23457") == len(names) * 12 and max(map(len, text.splitlines())) <= 100


def test_no_gaussian_noise_is_smaller_than_the_pure_one():
    """So the suite runs pure bandits once for every delta."""
    for epsilon in local_suite.EPSILONS:
        for delta in local_suite.DELTAS:
            assert isinstance(local.best(Budget(epsilon, delta), sensitivity=2.0, radius=1.0, size=20), Cap)


def test_published_noise_gives_another_epsilon():
    assert "10 -> 17.9" in ldp_figure1.true_epsilons(1000)["OnlineUCB"]


def test_the_bench_shows_the_smaller_noise_of_the_cap(monkeypatch):
    monkeypatch.setattr(bench, "DIMS", (5,))
    monkeypatch.setattr(bench, "EPSILONS", (1.0,))
    rows = bench.measure(lambda share: None)
    cap, hemisphere, gaussian = (row["std"] for row in rows)
    assert cap < hemisphere < gaussian
    text = bench.render(rows)
    assert "PrivUnit" in text and max(map(len, text.splitlines())) <= 100
