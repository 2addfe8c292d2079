"""Attacks by a hostile server that reads raw data off a device without noise, or keeps it busy: each is refused.

Most of them worked once; docs/measurements/attacks.md tells how."""

import json
import math

import numpy as np
import pytest

from devices_tests.roles.boards import (
    COARSE,
    LOCAL,
    SERVERS,
    Stream,
    another,
    behaviour,
    changed,
    device,
    document,
    encoded,
    is_local,
    people,
    places,
    published,
    without,
)
from devices_tests.roles.fleet import Fleet
from reticent import Budget
from reticent.errors import BadBillboard, BadReport, WrongBatch
from reticent.model import vectors
from reticent.privacy import randomness
from reticent_devices import LocalIRLS, ShuffleNewton, Shuffler
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import local, shuffle, wire
from reticent_devices.roles.wire import Parameters

# whether a report comes


@pytest.mark.parametrize("name", SERVERS)
def test_a_range_of_rewards_does_not_decide_whether_a_report_comes(name):
    """Rewards of 0 and 1 at a billboard for [0.5, 1.5]: a device that raised for one of them told which it was."""
    clients = [device(changed(name, "rewards", to=[0.5, 1.5])) for _ in range(3)]
    reports = [c.randomize(c.choose(np.eye(c.dim)), r) for c, r in zip(clients, (0.0, 1.0, None), strict=True)]
    assert len({len(report) for report in reports}) == 1


@pytest.mark.parametrize("name", ["irls", "newton"])
def test_an_application_states_its_range_and_a_billboard_with_another_is_refused(name):
    device(published(name)[1], rewards=(0, 1))
    for hostile in ([0.5, 1.5], [0.0, 1.0 + 1e-15], [-1.0, 1.0]):
        with pytest.raises(BadBillboard, match=r"rewards in \[0, 1\]"):
            device(changed(name, "rewards", to=hostile), rewards=(0.0, 1.0))
    for wrong in (1.0, (1.0, 0.0), (0.0, math.inf), (0.0, math.nan), ("0", "1"), (0.0, 0.5, 1.0)):
        with pytest.raises(ValueError, match="pair low < high"):
            device(published(name)[1], rewards=wrong)


def test_rewards_outside_are_clipped_and_nan_counts_as_none(served, monkeypatch):
    """With the same random bytes the reports are the same."""
    shared, stream = device(published(served)[1]), Stream(2)
    low, high = shared.rewards
    monkeypatch.setattr(randomness, "octets", stream)

    def report(reward):
        client = another(shared)
        stream.rewind()  # the id is drawn with the choice
        choice = client.choose(0.9 * np.eye(client.dim)[:1])
        stream.rewind()
        return client.randomize(choice, reward)

    for reward, same in (
        *((math.nan, None), (np.float32("nan"), None), (math.inf, high), (-math.inf, low), (10**400, high)),
        *((-(10**400), low), (high + 1e-9, high), (low - 3, low), (np.float16(high), high), (np.int8(low), low)),
    ):
        assert report(reward) == report(same)
    same = is_local(served) or "sblb" in served  # few bits, most of them coins
    assert same or report(low) != report(None)
    assert same or "glm" in served or report(low) != report(high)  # one that asks for rewards in later rounds


def test_no_datum_fails_in_a_program_that_raises_floating_point_errors(served, monkeypatch):
    client, stream = device(published(served)[1]), Stream(2)
    monkeypatch.setattr(randomness, "octets", stream)
    with np.errstate(all="raise"):
        shown = {behaviour(client, *datum, stream) for datum in people(client.dim, client.rewards)}
    assert len(shown) == 1 and "sent" in shown.pop()


@pytest.mark.parametrize("name", ["newton-elimination", "newton-narrow"])
def test_designs_over_tiny_arms_and_in_one_dimension_do_not_fail(name):
    """Squares of arms of 10^-155 are hardly above zero, and the step to the best design of one number is 1."""
    client = device(published(name)[1])
    for arms in (1e-155 * np.ones((3, client.dim)), np.eye(3, client.dim), np.linspace(0.01, 1, 5)[:, None] * [0.7]):
        if arms.shape[1] == client.dim:
            weights = [client.chance(arms, index).value for index in range(len(arms))]
            assert sum(weights) == pytest.approx(1.0) and client.choose(arms).index in np.flatnonzero(weights)


# shapes, types and keys: each of these failed for some data and not for others

MISSING = [
    (name, *path)
    for name in ("irls", "newton")
    for path in places(json.loads(SERVERS[name]().billboard()))
    if isinstance(path[-1], str)
]
CHANGES = {  # where -> what stands there instead
    # two columns: IndexError on one side of a half-space; longer than dim: 9 numbers are sent where epsilon was worked
    # out for 5
    ("irls", "theta"): [[[0.0, 0.0], [0.0, 0.0]], [0.0] * 3, [math.nan, 0.0]],
    ("newton-ucb", "theta"): [[[0.0, 0.0]] * 3],
    ("newton", "centre"): [[[0.0, 0.0]] * 2],
    ("irls", "dim"): [2.9, True, 0],
    ("newton", "dim"): [2.0],
    ("newton-ucb", "policy", "width"): [[0.1] * 5],
    ("irls", "report", "blend"): ["0.5"],
    ("irls", "report", "pad"): [[1.0]],
    ("irls", "report", "scale"): [1e300],
    ("irls", "report", "shake"): [1e9],
    ("irls", "inverse"): [[[1.0, 0.0]], [], [["1", "0"], ["0", "1"]], [[1e200, 0.0], [0.0, 1.0]]],
    ("newton", "inverse"): [[1.0, 0.0]],
    ("newton", "axes"): [[[1.0], [0.0]]],
    ("newton", "spread"): [[1.0], [1.0, -1.0]],
    ("irls", "policy", "root"): [[[1.0]]],
    ("irls", "policy", "random"): [1],
    ("irls", "policy"): [{"name": "ucb", "width": 1.0}, {"name": "best", "random": False}],
    ("irls", "report"): [{"name": "gradient", "bound": 1.0}, {"name": "score"}, {"name": "other"}],
    ("irls-scores", "theta"): [[0.0] * 3],
    ("irls-scores", "inverse"): [[[1.0, 0.0], [0.0, 1.0]]],
    ("irls-scores", "report"): [{"name": "score", "scale": 1.0}],
    ("irls-scores", "policy"): [{"name": "thompson", "random": True, "root": [[1.0, 0.0], [0.0, 1.0]]}],
    ("irls-scores", "policy", "random"): [1],
    ("irls-scores", "randomizer"): [{"kind": "coin", "chance": 3 * 2**30}],
    ("irls", "randomizer", "radius"): [0.0, "1"],
    ("irls", "randomizer", "chance"): [2537381351.5],
    ("irls", "randomizer", "threshold"): [2**60],
    ("irls", "randomizer"): [{"kind": "coin", "chance": 3 * 2**30}],
    ("irls-public", "randomizer"): [{"kind": "lattice", "sigma": 10.0}],
    ("irls", "claim", "epsilon"): [None],
    ("irls", "claim", "delta"): [1.0],
    ("irls", "link"): ["cubic"],
    ("irls", "extra"): [1.0],
    ("newton", "plan", "extra"): [1.0],
    ("newton", "weights"): ["none"],
    ("newton", "curvature"): [-1.0, 0.0],  # these turn a sensitivity round
    ("newton", "moment"): [-1.0],
    ("newton", "batch"): [-1],
    ("newton", "policy"): [{"name": "ucb", "width": math.nan}],
    ("irls", "rewards"): [[1.0, 1.0], [0.0, 1e-200]],  # in units of the range, arms of 10^-140 are divided by 0
    ("newton-linear", "rewards"): [[0.0, 1e-200]],
}
MISSHAPEN = [(name, tuple(path), value) for (name, *path), values in CHANGES.items() for value in values]


@pytest.mark.parametrize("place", MISSING, ids=lambda place: "-".join(place))
def test_a_billboard_with_a_part_missing_is_refused(place):
    for kind in [device] if is_local(place[0]) else [device, shuffle.ShuffleClient]:
        with pytest.raises(BadBillboard, match="exactly|got something else|got protocol 1|(name|kind) that is"):
            kind(without(*place))


def test_devices_and_servers_of_local_reports_have_one_protocol():
    """A device of another release makes another report of the same billboard: neither side takes the other's."""
    for board, found in ((without("irls", "protocol"), 1), (changed("irls", "protocol", to=3), 3)):
        with pytest.raises(BadBillboard, match=f"of protocol 2, got protocol {found}: its server has another release"):
            device(board)
    server = SERVERS["irls"]()
    client = device(server.billboard())
    report = client.randomize(client.choose(np.eye(2)), 1.0)
    earlier = boards.tag(json.loads(server.billboard()) | {"protocol": 1})
    with pytest.raises(WrongBatch, match="made for this server's settings"):
        server.observe(report[: 1 + local.ID_BYTES] + earlier + report[1 + local.ID_BYTES + boards.TAG :])
    server.observe(report)


@pytest.mark.parametrize(("name", "path", "value"), MISSHAPEN)
def test_a_misshapen_billboard_is_refused_by_devices_shufflers_and_fleets(name, path, value):
    board = changed(name, *path, to=value)
    with pytest.raises(BadBillboard, match="Expected a billboard"):
        device(board)
    if name not in LOCAL:
        for kind in (Fleet, Shuffler, lambda made: Shuffler(made, budget=COARSE)):
            with pytest.raises(BadBillboard, match="Expected a billboard"):
                kind(board)


def test_a_name_twice_is_refused():
    """Two readers of one document could take different ones."""
    for name, twice in (("irls", b'"dim": 2'), ("newton", b'"trials": 0')):
        board = published(name)[1]
        with pytest.raises(BadBillboard, match="once"):
            device(board.replace(b'"dim": 2', b'"dim": 2, ' + twice, 1).replace(b"{", b"{" + twice + b", ", 1))


# plans of the shuffle model


RANGES = {
    # counts wrapped: sums told how many users have v + coins >= 15; wider reports than the grid and the norm make
    "reach": [2**32 - 15, 2**32, 200, 13.0],
    "trials": [2**33, 2**32 - 1],  # all memory of the machine
    "malicious": [-200_000_000_000, -2e11, 91, 0.5],  # more honest users than there are: the noise check was void
    "grid": [-11.0, math.inf],
    "norm": [0.0],
    "users": [2**60, 0],
    "minimum": [0, 10**9],
    "size": [6],
    "laplace": [-1.0],
    "sensitivity": [math.nan],
    "epsilon": [math.inf, "inf"],
    "delta": [1.0],
}
PLANS = [(key, value) for key, values in RANGES.items() for value in values]


@pytest.mark.parametrize(("key", "value"), PLANS)
def test_a_plan_out_of_its_ranges_is_refused_by_devices_shufflers_and_fleets(key, value):
    board = changed("newton", "plan", key, to=value)
    for kind in (device, Fleet, Shuffler, lambda made: Shuffler(made, budget=COARSE)):
        with pytest.raises(BadBillboard, match="Expected a billboard"):
            kind(board)


def test_plans_whose_numbers_do_not_fit_or_take_too_many_coins_are_refused():
    made = document("newton")
    for reach, fits in ((2**31 - 64, True), (2**31, False)):
        made["plan"] |= {"grid": float(reach), "norm": 1.0, "reach": reach}
        if fits:
            Shuffler(encoded(made))
        else:
            with pytest.raises(BadBillboard, match="4 bytes"):
                Shuffler(encoded(made))
    made = json.loads(ShuffleNewton(30, COARSE).billboard())
    made["plan"] |= {"trials": 2**20, "users": 1000, "minimum": 1000}  # 495 numbers: 65 MB of coins
    with pytest.raises(BadBillboard, match="coins in a report"):
        device(encoded(made))


def test_counts_are_encoded_only_within_their_range():
    of = Parameters(0, bytes(16), 2, 10, 5)
    assert wire.decode_report(wire.encode_report(of, bytes(8), np.array([0, 25])), of)[1].tolist() == [0, 25]
    for counts in ([0, 26], [-1, 0], [0], [0, 2**32]):
        with pytest.raises(ValueError, match=r"counts in \[0, 25\]"):
            wire.encode_report(of, bytes(8), np.array(counts))
        with pytest.raises(ValueError, match=r"sums in \[0, 25\]"):
            wire.encode_batch(of, 1, np.array(counts))
    with pytest.raises(ValueError, match=r"below 2\^32"):
        wire.encode_report(of._replace(reach=2**31), bytes(8), np.array([0, 2**32]))


def test_a_batch_of_more_reports_than_numbers_can_count_is_refused():
    server = SERVERS["newton"]()
    shuffler, clients = Shuffler(server.billboard()), [device(server.billboard()) for _ in range(60)]
    shuffler.add_many(b"".join(client.randomize(client.choose([[0.5, 0.1]]), 1.0) for client in clients))
    good, at = shuffler.close(), wire.BATCH.size - 18
    assert int.from_bytes(good[at : at + 8], "little") == 60
    for reports in (2**64 - 1, 2**63, 2**60):
        with pytest.raises(BadReport, match="more reports"):
            server.observe(good[:at] + reports.to_bytes(8, "little") + good[at + 8 :])
    assert server.users == 0
    server.observe(good)


# claims, and work


@pytest.mark.parametrize("claim", [math.inf, math.nan, "inf", "1", 0.0, -1.0, True, 10**400])
def test_a_claim_that_is_no_positive_number_is_refused_without_a_limit(claim):
    for name in ("irls", "irls-gaussian", "irls-public"):
        with pytest.raises(BadBillboard, match="number"):
            device(changed(name, "claim", "epsilon", to=claim))


NESTED = [b"[" * 10**5, b'{"a":' * 10**5, b'["]",' * 10**5, b'{"format": ' + b"[" * 10**5]


@pytest.mark.parametrize("deep", NESTED)
def test_nested_brackets_are_refused_before_they_are_parsed(deep):
    for kind in (lambda made: device(made + b'"reticent billboard"'), device, Shuffler, Fleet):
        with pytest.raises(BadBillboard, match="brackets"):
            kind(deep)


def test_long_billboards_and_other_encodings_are_refused():
    board = published("irls")[1]
    device(board + b" " * 1000)
    for bad in (board + b" " * 2**23, board.decode().encode("utf-16"), board + b"\\", b"", b"1" * 5000, b"null"):
        with pytest.raises(BadBillboard, match="Expected"):
            device(bad)
    for other in (board.decode(), None, json.loads(board), bytearray(board)):
        for kind in (local.LocalClient, shuffle.ShuffleClient, Shuffler, Fleet):
            with pytest.raises(BadBillboard, match="bytes of a billboard"):
                kind(other)


def test_a_cap_that_takes_a_device_seconds_is_refused():
    """A cap of probability 2^-15 in 7380 numbers: 7 s and 2 GB, where the claim is true."""
    made = json.loads(LocalIRLS(120, Budget(12.0, 0.0)).billboard())
    device(encoded(made))
    made["randomizer"] |= {"threshold": 4 * 2**27, "chance": 2**31}
    with pytest.raises(BadBillboard, match="noise"):
        device(encoded(made))


def test_a_shufflers_work_is_bounded():
    """With as many coins as this the table of one binomial law took 102 GiB."""
    made = document("newton")
    made["plan"] |= {"users": 2**50, "minimum": 2**50}
    with pytest.raises(BadBillboard, match="Expected a billboard"):
        Shuffler(encoded(made), budget=COARSE)
    made["plan"] |= {"users": 2**24, "minimum": 2**24, "trials": 64}
    assert Shuffler(encoded(made), budget=COARSE).minimum == 2**24
    made["plan"] |= {"trials": 65}
    with pytest.raises(BadBillboard, match="coins in a batch"):
        Shuffler(encoded(made), budget=COARSE)


def test_what_billboards_leave_in_memory_is_bounded():
    for dim in range(1, 12):
        client = device(LocalIRLS(dim, Budget(1.0, 0.0)).billboard())
        client.randomize(client.choose(np.eye(dim)), 1.0)
    assert vectors._upper_half.cache_info().currsize <= 8
