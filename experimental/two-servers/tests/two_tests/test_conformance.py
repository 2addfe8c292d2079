"""What every bandit is held to: its certificate against two worlds, its draws, and replay."""

from unittest import mock

import msgspec
import numpy as np
import pytest

from devices_tests.roles.boards import another
from reticent import Budget, Secure, Simulated
from reticent.errors import WrongBatch
from reticent_two import TwoServerGLM
from reticent_two.bandits import memory
from reticent_two.roles import wire
from reticent_two.roles.task import HELPER, LEADER
from reticent_two.shares import SharedSteps, joined
from reticent_two.vdaf.field_kernel import P
from tests.audit import worlds
from tests.audit.test_certificates import COARSE, RUNS
from tests.whole import replay, tape
from tests.whole.leaks import Answered, Counted, Raw, Waiting
from tests.whole.test_replay import embedded

OPTIONS = [{}, {"curvature": "none"}, {"helper_budget": Budget(4.0, 0.02)}]


def shares(server, party):
    """Two aggregators: what that one releases of two steps, the first of which has one person's report and no other,
    as the other aggregator sees it, who knows its own share of that report."""
    client, task = server.device(), server.task
    grid, circuit = task.grids[party], task.circuit

    def leave(fate, runs):
        out = []
        for _ in range(runs):
            device = another(client)
            made = wire.unpacked(task, device.randomize(device.choose([fate.arm]), worlds.given(server, fate.reward)))
            own, known = SharedSteps(grid), SharedSteps(grid)
            for index, key in enumerate(server._own.keys):
                share = wire.share(task, index, made, key)
                kept, _ = task.prio3.verifier_share(bytes(32), index, made.nonce, made.public, share)
                (own if index == party else known).add(kept.numbers)
            leaves = [[one.release(source) for one in (own, known)] for source in (Paired(), Paired())]
            counts = [1], [1, 0]
            out.append(np.concatenate([joined(grid, circuit, *both) for both in zip(counts, leaves, strict=True)]))
        return np.array(out)

    return leave


class Paired:
    """Noise for the first who asks, and none for the other, who knows what its own was."""

    def __init__(self):
        self.asked = False

    def integers(self, count, size, cells):
        first, self.asked = not self.asked, True
        return Secure().integers(count, size, cells) if first else np.zeros((count, size), np.int64)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_shares_against_each_aggregator(options, runs):
    server = TwoServerGLM(**{"features": 2, "budget": COARSE, "first": 2} | options)
    for party, (epsilon, delta) in enumerate(server.against.values()):
        claim = msgspec.structs.replace(server.privacy, epsilon=epsilon, delta=delta)
        assert not worlds.convicted(claim, shares(server, 1 - party), **runs)


@pytest.mark.parametrize("party", [LEADER, HELPER])
def test_noise_is_as_large_as_the_certificate_says(party):
    """20 000 numbers of a party without reports: six standard errors of their variance; 2/3 of sigma is outside."""
    server = TwoServerGLM(2, COARSE, horizon=8, first=1, helper_budget=Budget(4.0, 0.02))
    grid, sigma, found = server.task.grids[party], server.privacy.releases[1 - party].sigma, []
    while len(found) < 20_000:
        sums = SharedSteps(grid)
        for _ in range(8):
            leaf = sums.release(Secure())
            found += [(int(one) - P * (int(one) > P // 2)) * grid.step / sigma for one in leaf]
    error = 6 * (2 / len(found)) ** 0.5
    assert abs(np.var(found) - 1) < error < 1 - (2 / 3) ** 2


# the same releases and other people: what is shown is identical


SECRETS = memory.drawn()


def joined_leaf(tape, function):
    def seam(grid, circuit, counts, leaves):
        out = function(grid, circuit, counts, leaves)
        tape.release(("joined", grid.size, counts), out)
        return out

    return seam


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    """What both aggregators have released is a release."""
    monkeypatch.setitem(tape.SEAMS, joined, joined_leaf)


def paired(**options):
    """Both aggregators in one process, of the same era and with the same keys in every run."""

    def make(source, leak=None):
        with mock.patch.object(memory, "drawn", return_value=SECRETS):
            return embedded(TwoServerGLM, first=16, era="0" * 64, **options)(source, leak)

    return make


MADE = {"plain": paired(), "scores": paired(curvature="none")}


@pytest.mark.parametrize("source", [None, 4])
@pytest.mark.parametrize("name", MADE)
def test_replay(name, source):
    assert replay.check(lambda: MADE[name](source and Simulated(source))) >= 2


@pytest.mark.parametrize("name", MADE)
def test_replay_in_a_compiled_loop(name):
    assert replay.check(lambda: MADE[name](Simulated(4)), replay.blocks) >= 2


@pytest.mark.parametrize("leak", [Raw, Counted, Answered, Waiting])
@pytest.mark.parametrize("name", MADE)
def test_leaks_are_found(leak, name):
    with pytest.raises((AssertionError, WrongBatch), match="with other people|as its billboard says"):
        replay.check(lambda: MADE[name](Simulated(4), leak))
