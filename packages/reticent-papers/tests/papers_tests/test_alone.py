"""Steps released alone do what every mechanism of continual release must: by the core's own tests."""

import numpy as np
import pytest

import core_tests.mechanisms.test_continual as core
import core_tests.mechanisms.test_grid as grids
from reticent.mechanisms.grid import on_grid
from reticent_papers.mechanisms.alone import Alone


@pytest.mark.parametrize("check", [
    core.test_without_noise_it_is_a_running_sum, core.test_an_honest_error_at_the_horizon,
    core.test_noise_has_the_std_it_says_and_no_other, core.test_what_an_adversary_sees_of_the_first_user,
    core.test_spent_so_far_grows_to_the_whole,
])  # fmt: skip
def test_it_is_a_mechanism_of_continual_release(check):
    check(Alone)


@pytest.fixture
def listed(monkeypatch):
    monkeypatch.setitem(grids.MECHANISMS, "alone", lambda n=40, size=3: Alone(leaves=n, size=size, sigma=0.0))


@pytest.mark.parametrize("check", [
    grids.test_without_noise_it_is_the_sum_of_what_was_rounded,
    grids.test_noise_and_column_norm_from_the_matrices_in_use, grids.test_the_noise_has_the_law_that_is_claimed,
])  # fmt: skip
@pytest.mark.usefixtures("listed")
def test_it_is_one_on_the_grid(check):
    check("alone")


def test_on_the_grid_its_bound_is_that_of_rounded_numbers():
    made = Alone(leaves=32, size=2, sigma=1.0, spacing=2)
    assert made.gain(np.array([1.0, 9.0])).tolist() == [1.0, 3.0] and made.sum_norm_after(32, 4) == 2.0
    grid = on_grid(made, sensitivity=2.0, mu=1.0)
    for mechanism in (made, grid):
        one = mechanism.sum_norm_after(32, 1)
        assert one == mechanism.column_norm < mechanism.sum_norm_after(32, 3) <= 3 * one
        norms = [mechanism.column_norm_after(steps) for steps in range(1, 33)]
        assert norms == sorted(norms)
    assert grid.column_norm == pytest.approx(made.column_norm, rel=1e-4)
