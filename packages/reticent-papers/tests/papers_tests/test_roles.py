"""Devices and servers of this package against the core's tests of hostile billboards and reports."""

import math

import numpy as np
import pytest

import devices_tests.mechanisms.test_branches as branches
import devices_tests.roles.test_fuzz_billboards as fuzz
import devices_tests.roles.test_hostile_billboards as hostile
import devices_tests.roles.test_local_trust as trust
from devices_tests.roles.test_fuzz_billboards import (
    test_no_damaged_billboard_makes_two_data_behave_differently,
    test_our_own_billboards_are_accepted_and_treat_all_data_alike,
)
from devices_tests.roles.test_fuzz_reports import (
    test_a_local_server_counts_a_report_or_changes_nothing,
    test_a_server_of_the_shuffle_model_takes_a_batch_or_changes_nothing,
    test_a_shuffler_counts_a_report_or_changes_nothing,
)
from devices_tests.roles.test_hostile_billboards import (
    test_no_datum_fails_in_a_program_that_raises_floating_point_errors,
    test_rewards_outside_are_clipped_and_nan_counts_as_none,
)
from papers_tests.boards import SERVERS
from reticent import Budget, Reward
from reticent.errors import BadBillboard
from reticent.model.linear import linear_sensitivity
from reticent.privacy import gaussian
from reticent_devices.mechanisms.randomizers import SHARE
from reticent_devices.roles.local import LocalClient
from reticent_papers import LocalGLM, LocalLinUCB, LocalOnlineUCB
from reticent_papers.shuffle.rounds import RoundsClient
from reticent_papers.shuffle.sblb_device import SBLBClient

__all__ = [
    "SERVERS",
    "test_a_local_server_counts_a_report_or_changes_nothing",
    "test_a_server_of_the_shuffle_model_takes_a_batch_or_changes_nothing",
    "test_a_shuffler_counts_a_report_or_changes_nothing",
    "test_no_damaged_billboard_makes_two_data_behave_differently",
    "test_no_datum_fails_in_a_program_that_raises_floating_point_errors",
    "test_our_own_billboards_are_accepted_and_treat_all_data_alike",
    "test_rewards_outside_are_clipped_and_nan_counts_as_none",
]
BUDGET = Budget(1.0, 1e-6)


def of_rounds(client, data):
    plan, most = client._board["plan"], math.sqrt(2) * client._board["largest"]
    rows = [client.contribution(x, reward, client._board) for x, reward in data]
    assert np.abs(rows).max() * plan["grid"] <= plan["reach"]
    coins = (plan["minimum"] - plan["malicious"]) * plan["trials"]
    for i, j in ((0, 2), (1, 4), (2, 5), (0, 1)):
        cells = in_rounds(client, np.linalg.norm(rows[i] - rows[j]), data[i], data[j])
        less = gaussian.delta(plan["epsilon"], cells / math.sqrt(coins / 4)) > plan["delta"]
        assert not less, "less noise than it claims"
    return most, rows


def in_rounds(client, first, one, other):
    """How far, in cells, two people's answers to all rounds are apart at the gradients where they are farthest."""
    board, (information, gradient) = client._board, client._board["grids"]
    asked = board | {"round": 1, "plan": board["plan"] | {"norm": 1.0}}
    thetas = [0 * one[0], 1e6 * (one[0] - other[0]), 1e6 * (other[0] - one[0]), 1e6 * (one[0] + other[0])]
    two = ([client.contribution(*user, asked | {"theta": theta}) for user in (one, other)] for theta in thetas)
    later = max(np.linalg.norm(a - b) for a, b in two)
    return math.hypot(information * first, math.sqrt(board["gradients"]) * gradient * later)


def of_bits(client, data):
    plan, most = client._plan, linear_sensitivity(1.0) / 2
    rows = np.array([client.values(x, reward) for x, reward in data])
    assert (rows >= 0).all() and (rows <= 1 + 1e-15).all()
    p, coins = plan["chance"] / SHARE, (plan["minimum"] - plan["malicious"]) * plan["bits"]
    farthest = max(np.linalg.norm(rows - row, axis=1).max() for row in rows)
    mu = farthest * plan["bits"] * (1 - p) / math.sqrt(coins * p * (2 - p) / 4)
    assert gaussian.delta(plan["epsilon"], mu) <= plan["delta"], "less noise than it claims"
    return most, rows


fuzz.MOVED.update({RoundsClient: of_rounds, SBLBClient: of_bits})
LOCAL = [
    LocalLinUCB(2, BUDGET),
    LocalOnlineUCB(2, BUDGET, Reward("identity", range=(5.0, 6.0)), learner="ogd"),
    LocalGLM(2, BUDGET),
]


@pytest.mark.parametrize("server", LOCAL)
def test_the_local_model_trusts_no_server(server):
    trust.test_the_device_finds_the_epsilon_that_the_server_calibrated(server)
    trust.test_no_billboard_moves_a_vector_beyond_what_its_noise_is_for(server)
    trust.test_one_forged_report_cannot_outweigh_all_others(server)


@pytest.mark.parametrize("server", LOCAL)
def test_our_device_makes_no_report_of_a_published_algorithm(server):
    """A server that asks for another kind of report than ours is refused before a datum meets it."""
    with pytest.raises(BadBillboard, match="a name that is glm or public or score in report"):
        LocalClient(server.billboard())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_cap_is_left_with_exactly_the_chance_that_the_claim_rests_on(epsilon, monkeypatch):
    server = LocalGLM(2, Budget(epsilon, 0.0), randomizer="hemisphere")
    branches.test_the_cap_is_left_with_exactly_the_chance_that_the_claim_rests_on(server, monkeypatch)


@pytest.mark.parametrize("options", [{}, {"eigenvalue": 0.5, "threshold": 0.0}], ids=str)
def test_lattice_noise_is_added_as_it_is_drawn(options, monkeypatch):
    kind = LocalOnlineUCB if options else LocalLinUCB
    branches.test_lattice_noise_is_added_as_it_is_drawn(kind(2, Budget(1.0, 1e-3), **options), monkeypatch)


@pytest.mark.parametrize(("name", "path", "value"), [
    ("glm", ("theta",), [0.0] * 4),
    ("glm", ("report", "bound"), 0.0),  # whether a reward came
    ("glm", ("report", "bound"), "1"), ("online-ucb", ("report", "scale"), "1"),
])  # fmt: skip
def test_a_misshapen_billboard_is_refused(name, path, value):
    hostile.test_a_misshapen_billboard_is_refused_by_devices_shufflers_and_fleets(name, path, value)


def test_a_billboard_with_a_part_missing_is_refused():
    hostile.test_a_billboard_with_a_part_missing_is_refused(("glm", "report", "bound"))


def test_numbers_of_a_report_do_not_wrap_around():
    """Where scale (y - middle) is near 2^63 cells, one reward would be sent as its opposite."""
    for middle, scale in ((1e12, 1e6), (-1e12, 1e12)):
        made = hostile.document("online-ucb")
        made["report"] |= {"middle": middle, "scale": scale}
        made["randomizer"]["sigma"] = 10 * scale
        with pytest.raises(BadBillboard, match="Expected"):
            hostile.device(hostile.encoded(made))
