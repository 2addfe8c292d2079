"""What a device refuses of a server, and a server of a device: nobody is trusted."""

import json
import math

import numpy as np
import pytest

from reticent import Budget, Reward
from reticent.errors import BadBillboard, DuplicateReport
from reticent.privacy.randomness import Seeded
from reticent_devices import LocalIRLS
from reticent_devices.bandits.local import server as local_server
from reticent_devices.mechanisms.randomizers import CELLS, Lattice
from reticent_devices.roles import limits
from reticent_devices.roles.local import ID_BYTES, LocalClient

BUDGET = Budget(1.0, 1e-6)
SERVERS = [
    LocalIRLS(2, BUDGET, Reward(radius=3.0)),
    LocalIRLS(2, BUDGET, Reward(radius=3.0), randomizer="gaussian"),
    LocalIRLS(2, BUDGET, Reward("probit"), randomizer="gaussian", scale=3.0),
    LocalIRLS(2, BUDGET, Reward("identity", range=(0.0, 1.0)), randomizer="gaussian"),
    LocalIRLS(2, BUDGET, public_arms=True),
    LocalIRLS(2, BUDGET, Reward(radius=3.0), curvature="none"),
    LocalIRLS(2, BUDGET, Reward("identity", range=(-1.0, 3.0)), curvature="none", randomizer="gaussian"),
]


def changed(server, **parts):
    document = json.loads(server.billboard())
    for name, part in parts.items():
        document[name] = document[name] | part if isinstance(part, dict) else part
    return json.dumps(document).encode()


@pytest.mark.parametrize("server", SERVERS)
def test_the_device_finds_the_epsilon_that_the_server_calibrated(server):
    device = type(server.device())
    client = device(server.billboard(), epsilon=1.0, delta=1e-6, public_arms=True)
    assert (client._size, client._sensitivity) == (server._size, pytest.approx(server._sensitivity, rel=1e-12))
    with pytest.raises(BadBillboard, match="at most 0.9"):
        device(server.billboard(), epsilon=0.9, delta=1e-6, public_arms=True)
    with pytest.raises(BadBillboard, match="claimed"):
        device(changed(server, claim={"epsilon": 0.99 * server.epsilon}), public_arms=True)


def test_a_billboard_without_noise_is_refused():
    made = json.loads(SERVERS[0].billboard())
    for bad in (
        {"randomizer": {"kind": "open"}},
        {"randomizer": made["randomizer"] | {"chance": 2**32}},
        {"randomizer": {"kind": "coin", "chance": 2**32}, "report": {"name": "public"}},
        {"randomizer": made["randomizer"] | {"threshold": 6 * 2**27}, "claim": made["claim"] | {"epsilon": 40.0}},
    ):
        with pytest.raises(BadBillboard, match="Expected"):
            LocalClient(json.dumps(made | bad).encode(), public_arms=True)


def test_lattices_without_noise_are_refused_and_arms_in_the_clear_need_leave():
    for sigma in (1e-6, 0.0, math.inf, -1.0):
        with pytest.raises(BadBillboard):
            LocalClient(changed(SERVERS[1], randomizer={"sigma": sigma}))
    with pytest.raises(BadBillboard, match="public_arms"):
        LocalClient(SERVERS[4].billboard())


def test_simulation_may_use_what_a_device_may_not():
    open_server = LocalIRLS(2, Budget(math.inf, 1e-6))
    with pytest.raises(BadBillboard):
        LocalClient(open_server.billboard())
    LocalClient(open_server.billboard(), noise=Seeded(np.random.default_rng(0)))


@pytest.mark.parametrize("server", [s for s in SERVERS if not getattr(s, "public_arms", False)])
def test_no_billboard_moves_a_vector_beyond_what_its_noise_is_for(server):
    """Hostile public numbers: any theta, inverse and padding; pairs of users at random and extreme ones."""
    rng = np.random.default_rng(2)
    low, high = server.rewards
    document = json.loads(server.billboard())
    width = len(document["theta"])
    for size in (0.0, 1.0, 1e6):
        root = rng.standard_normal((width, width))
        parts = {"theta": (size * rng.standard_normal(width)).tolist()}
        if document["inverse"]:
            parts["inverse"] = (size * root).tolist()
        if "pad" in document["report"]:
            parts["report"] = {"pad": [rng.choice([-1.0, 1e-9, 1.0]), float(width > 2)]}
        client = type(server.device())(changed(server, **parts))
        rows = [client._vector(np.zeros(2), None)]
        for _ in range(60):
            x = rng.standard_normal(2)
            x *= rng.choice([1.0, 0.1, 1e-100, 2e-162]) / np.linalg.norm(x)
            rows += [client._vector(s * x, y) for s in (1, -1) for y in (low, high)]
        vectors = np.array([limits.clipped(row, client._norm) for row in rows])
        assert max(np.linalg.norm(vectors - row, axis=1).max() for row in vectors) <= client._sensitivity * (1 + 1e-8)


def test_a_retry_counts_once_and_the_memory_for_it_is_bounded(monkeypatch):
    monkeypatch.setattr(local_server, "REMEMBERED", 3)
    for made in (LocalIRLS(2, BUDGET), LocalIRLS(2, BUDGET, public_arms=True)):
        client = LocalClient(made.billboard(), public_arms=True)
        for _ in range(5):
            report = client.randomize(client.choose(np.eye(2)), 1.0)
            made.observe(report)
            sums = made._state.sums.copy()
            with pytest.raises(DuplicateReport):
                made.observe(report)
            assert (made._state.sums == sums).all()
        assert made.users == 5 and len(made._seen) == 3


@pytest.mark.parametrize("server", SERVERS)
def test_one_forged_report_cannot_outweigh_all_others(server):
    before = server.users
    if isinstance(server._randomizer, Lattice):
        forged = np.full(server._size, 14 * CELLS, "<i8").tobytes()
    else:
        forged = np.full(server._size, 32767, "<i2").tobytes()
    with pytest.raises(ValueError, match="Expected"):
        server.observe(b"L" + bytes(ID_BYTES) + forged)
    assert server.users == before


def test_a_limit_of_delta_holds_without_one_of_epsilon():
    board = LocalIRLS(2, Budget(1.0, 0.3)).billboard()
    LocalClient(board)
    with pytest.raises(BadBillboard, match="delta at most 1e-09"):
        LocalClient(board, delta=1e-9)
