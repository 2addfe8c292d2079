"""What a device does with each random number, exactly: its randomness is given, and all cases are gone through.

No statistics: a chance that is off by 2^-32 is seen. That the numbers are uniform is tested where they are drawn."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from devices_tests.roles.fleet import Fleet
from reticent import Budget
from reticent.privacy import randomness
from reticent_devices import LocalIRLS, ShuffleNewton
from reticent_devices.mechanisms import local, randomizers
from reticent_devices.mechanisms.randomizers import CELLS, FINE, SHARE
from reticent_devices.roles import billboard, wire

BUDGET = Budget(1.0, 1e-3)
NOBODY = np.zeros((1, 2))


def report(server):
    """What a device sends without a reward, decoded as far as whole numbers."""
    client = server.device()
    return server._body(client.randomize(client.choose(NOBODY), None))


CAPS = [LocalIRLS(2, Budget(epsilon, 0.0), randomizer="cap") for epsilon in (0.3, 1.0, 4.0)]


@pytest.mark.parametrize("server", CAPS, ids=lambda server: f"{type(server).__name__}-{server.budget.epsilon:g}")
def test_the_cap_is_left_with_exactly_the_chance_that_the_claim_rests_on(server, monkeypatch):
    """Candidates inside and outside the cap are given, marked by their first number, and the 32 bits that decide
    between them: the device sends the one inside for exactly `chance` of the 2^32 cases."""
    made, dim = server._randomizer, server._size + 1
    near = math.ceil(made.threshold / FINE)
    inside, outside = np.zeros((2, dim), np.int16)
    inside[0], inside[-1] = 1, near  # no contribution: the unit vector is the last one
    outside[0], outside[-1] = 2, near - 1
    monkeypatch.setattr(randomizers, "candidates", lambda rows, size: np.tile([inside, outside], (rows, 1))[:rows])

    def sends(bits):
        monkeypatch.setattr(randomness, "octets", lambda count: bits.to_bytes(count, "little"))
        mark = int(np.frombuffer(report(server), "<i2")[0])
        assert mark in (1, 2)
        return mark == 1

    low, high = 0, SHARE  # sends(low) and not sends(high), if more bits never bring it back
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if sends(middle) else (low, middle)
    rng = np.random.default_rng(0)
    for bits in (0, high - 1, high, SHARE - 1, *map(int, rng.integers(SHARE, size=50))):
        assert sends(bits) == (bits < high)
    assert high == made.chance
    used = dataclasses.replace(made, chance=high)
    assert local.cap_epsilon(used, server._size) <= server.privacy.epsilon * (1 + 1e-9)
    more = dataclasses.replace(made, chance=math.ceil(1.02 * high))
    assert local.cap_epsilon(more, server._size) > server.privacy.epsilon * 1.01


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_randomised_response_flips_with_exactly_its_chance(epsilon, monkeypatch):
    made = local.coin(epsilon)
    for y in (0.0, 0.25, 1.0):
        ones = int(y * 2**53)
        first = {bits for bits in (0, ones - 1, ones, 2**53 - 1) if 0 <= bits < 2**53}
        for bits, more in itertools.product(first, (0, made.chance - 1, made.chance, SHARE - 1)):
            drawn = iter((bits, more))
            monkeypatch.setattr(randomness, "octets", lambda count, drawn=drawn: next(drawn).to_bytes(count, "little"))
            assert made.encode(y)[0] == (bits < ones) ^ (more >= made.chance)
    assert local.coin_epsilon(made) <= epsilon < local.coin_epsilon(made) + 1e-7


@pytest.mark.parametrize("server", [LocalIRLS(2, BUDGET, randomizer="gaussian")])
def test_lattice_noise_is_added_as_it_is_drawn(server, monkeypatch):
    """The parameter asked for, in cells, is the one that the certificate's standard deviation is made of."""
    known, asked = np.arange(1, server._size + 1) * 10**6, []
    monkeypatch.setattr(randomness, "discrete_gaussian", lambda sigma, count: (asked.append(sigma), known[:count])[1])
    sent = np.frombuffer(report(server), "<i8")
    assert np.array_equal(sent, known) and asked == [float(CELLS)]
    assert server._randomizer.sigma == server.privacy.releases[0].std
    assert server._decode(b"L" + bytes(8) + server._tag + sent.tobytes()) == pytest.approx(
        known / CELLS * server.privacy.releases[0].std, rel=1e-12
    )


@pytest.mark.parametrize("first", [60, 2000])  # many coins of a user, and few
@pytest.mark.parametrize("fleet", [False, True])
def test_every_coin_of_a_device_counts_once(first, fleet, monkeypatch):
    """One random bit is 1, all others are 0: over all bits that are read, `trials` count in each coordinate."""
    server = ShuffleNewton(2, BUDGET, first=first)
    board, trials = server.billboard(), server.privacy.releases[0].trials
    of, _ = billboard.shuffle(board)

    def counts():
        if fleet:
            return np.frombuffer(Fleet(board).reports(np.zeros((1, of.size))), of.record)["counts"][0] - of.reach
        return wire.decode_report(server.device().report(np.zeros(2), None), of)[1] - of.reach

    read = []
    monkeypatch.setattr(randomness, "octets", lambda count: (read.append(count), bytes(count))[1])
    assert not counts().any()
    total = np.zeros(of.size, int)
    for call, length in enumerate(list(read)):
        for bit in range(8 * length):
            at = itertools.count()
            ones = (1 << bit).to_bytes(length, "little")
            monkeypatch.setattr(
                randomness,
                "octets",
                lambda count, at=at, ones=ones, call=call: ones if next(at) == call else bytes(count),
            )
            total += counts()
    assert (total == trials).all()
    monkeypatch.setattr(randomness, "octets", lambda count: b"\xff" * count)
    assert (counts() == trials).all()
