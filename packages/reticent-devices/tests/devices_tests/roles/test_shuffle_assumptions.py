"""What the shuffle model rests on, as attacks that succeed where it does not hold and fail where it does: the sentences
of docs/roles.md and docs/measurements/attacks.md are these numbers. All devices use the operating system's randomness;
each test states how often it fails by chance."""

import numpy as np
import pytest

from devices_tests.roles.boards import another
from devices_tests.roles.fleet import Fleet
from reticent import Budget, Reward
from reticent.errors import BadBillboard
from reticent_devices import ShuffleNewton, Shuffler
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire
from reticent_devices.roles.shuffle import ShuffleClient

USERS, BUDGET = 1000, Budget(1.0, 1e-6)
ARM, MIRRORED = [0.54, 0.72], [-0.54, 0.72]  # of the person whom the attack is on


def billboard(malicious=0.0):
    return ShuffleNewton(2, BUDGET, Reward(radius=3.0), first=USERS, malicious=malicious).billboard()


class Attacker:
    """Knows all of a person but one of two things, and has tried out on a device of its own how reports of both
    look."""

    def __init__(self, board, *worlds):
        self.of, self.worlds, self._client = boards.shuffle(board)[0], worlds, ShuffleClient(board)
        one, other = (np.mean([self.decoded(self.report(w)) for _ in range(300)], axis=0) for w in worlds)
        self._middle, self._apart = (one + other) / 2, other - one

    def report(self, world):
        arm, reward = world
        client = another(self._client)
        return client.randomize(client.choose([arm]), reward)

    def decoded(self, report):
        return wire.decode_report(report, self.of)[1]

    def guess(self, counts):
        return self.worlds[int((counts - self._middle) @ self._apart > 0)]


def right(board, *, own, tries):
    """How often the analyzer reads the reward of one person of a batch, if it sends `own` of the reports itself. Of all
    others it knows everything but their coins."""
    attacker, rng = Attacker(board, (ARM, 0.0), (ARM, 1.0)), np.random.default_rng(0)
    of, fleet, others = attacker.of, Fleet(board), USERS - 1 - own
    expected, found = others * (of.reach + of.trials / 2), 0
    for _ in range(tries):
        truth, shuffler = attacker.worlds[rng.integers(2)], Shuffler(board)
        mine = fleet.reports(np.zeros((own, of.size)))
        shuffler.add_many(mine + fleet.reports(np.zeros((others, of.size))))
        shuffler.add(attacker.report(truth))
        _, sums = wire.decode_batch(shuffler.close(), of)
        known = np.frombuffer(mine, of.record)["counts"].sum(axis=0, dtype=np.int64)
        found += attacker.guess(sums - known - expected) == truth
    return found


def test_whoever_sends_all_other_reports_reads_the_one_that_is_left():
    """Epsilon is 1 by the certificate, and holds if the other 999 are honest. By chance this fails once in 10^5
    runs."""
    assert right(billboard(), own=USERS - 1, tries=40) >= 38


@pytest.mark.parametrize(("malicious", "own"), [(0.0, 0), (0.99, 990)])
def test_with_the_honest_users_of_the_plan_the_same_attack_fails(malicious, own):
    """Also where 990 of 1000 reports are the analyzer's, and the plan says so: it is right 54 % of the time, where
    epsilon = 1 allows 73 %. Catches a plan that counts on the coins of malicious users (85 %). By chance this fails
    once in 10^5 runs."""
    assert right(billboard(malicious), own=own, tries=200) <= 138


def test_a_shuffler_whose_operator_expects_as_many_refuses_a_plan_that_does_not():
    with pytest.raises(BadBillboard, match="without the coins of 500 of 1000 users"):
        Shuffler(billboard(), budget=BUDGET, malicious=0.5)
    assert Shuffler(billboard(0.5), budget=BUDGET, malicious=0.5).epsilon <= 1 + 1e-6


def test_a_single_report_tells_the_shuffler_the_reward_and_mostly_the_sign_of_a_feature():
    """So the shuffler is trusted: what a report hides by itself is little. The reward, if the features are known: 100
    %. The sign of a feature, if the rest is known: 90 % or more. By chance this fails once in 10^5 runs."""
    for worlds, least in (((ARM, 0.0), (ARM, 1.0)), 390), (((ARM, 1.0), (MIRRORED, 1.0)), 360):
        attacker = Attacker(billboard(), *worlds)
        assert sum(attacker.guess(attacker.decoded(attacker.report(w))) == w for w in worlds * 200) >= least
