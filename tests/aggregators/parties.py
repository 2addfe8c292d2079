"""Both parties of a small task, each with a real store and a counter file, and the way of a report through them."""

import secrets

import numpy as np

from tacit import Budget, TwoServerGLM
from tacit.aggregators.aggregator import Aggregator
from tacit.roles.two.task import HELPER, LEADER, committed

HALVES = bytes(range(32)), bytes(range(32, 64))
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])
NAMES = "leader", "helper"


def server(**options):
    given = {"dim": 2, "budget": Budget(1.0, 1e-6), "first": 3, "horizon": 10_000, "curvature": "none"}
    return TwoServerGLM(**given | options, commitments=(committed(HALVES[0]), committed(HALVES[1])))


class Place:
    """Where a party's database and its counter file lie."""

    def __init__(self, folder, task, party):
        self.task, self.party, self.folder = task, party, folder
        self.database, self.counter = folder / f"{NAMES[party]}.db", folder / f"{NAMES[party]}.counter"

    def open(self):
        return Aggregator(self.task, self.party, self.database, self.counter, HALVES)

    def files(self):
        """The database as it lies there, with what is written ahead."""
        return {path: path.read_bytes() for path in self.folder.glob(f"{NAMES[self.party]}.db*")}

    def restore(self, files):
        for path in self.folder.glob(f"{NAMES[self.party]}.db*"):
            path.unlink()
        for path, content in files.items():
            path.write_bytes(content)


def places(folder, task):
    return [Place(folder, task, party) for party in (LEADER, HELPER)]


def reports(made, count, reward=1.0):
    device = made.device()
    return b"".join(device.report(ARMS[0], reward, secrets.token_bytes(8)) for _ in range(count))


def verify(leader, helper):
    """Until nothing waits that has room."""
    while jobs := leader.jobs():
        leader.decide(helper.verify(jobs))


def close(leader, helper):
    """Both leaves of the step that is full, as the analyzer takes them."""
    certificates = leader.certificate(), helper.certificate()
    said = leader.release(certificates[1]), helper.release(certificates[0])
    return leader.leaf(said[1]) + helper.leaf(said[0])
