"""Both parties of a small task, each with a real store and a counter file, and the way of a report through them."""

import shutil
import time

import numpy as np

from reticent import Budget
from reticent.privacy import randomness
from reticent_two import TwoServerClient, TwoServerGLM
from reticent_two.aggregators.aggregator import Aggregator
from reticent_two.roles import identity
from reticent_two.roles.board import NOTHING
from reticent_two.roles.identity import Identities
from reticent_two.roles.signed import Billboard
from reticent_two.roles.task import HELPER, LEADER, committed

HALVES = bytes(range(32)), bytes(range(32, 64))
SIGNERS = bytes(range(64, 96)), bytes(range(96, 128))
IDENTITIES = Identities(*map(identity.public, SIGNERS))
KEYS = {}  # what each party of a task has shown last, by the task's digest
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])
NAMES = "leader", "helper"


def server(**options):
    given = {"features": 2, "budget": Budget(1.0, 1e-6), "first": 3, "horizon": 10_000, "curvature": "none"}
    known = tuple(one.hex() for one in IDENTITIES)
    return TwoServerGLM(**given | options, identities=known, commitments=tuple(map(committed, HALVES)))


def billboard(made, leader=None, helper=None, /, **given):
    """Signed by both identities; by the parties, if they are given."""
    now, task = int(time.time()), made.task
    about = {"version": made.version, "previous": NOTHING, "leaves": (NOTHING, NOTHING), "made": now}
    board = made.board(**about | {"expires": now + 3600} | given)
    signed = [identity.signed(one, identity.TASK, task.text) for one in SIGNERS]
    if leader is None:
        both = b"".join(identity.signed(one, identity.BOARD, board) for one in SIGNERS)
    else:
        both = leader.sign(board) + helper.sign(board)
    return Billboard(task.text, b"".join(signed), board, both, tuple(KEYS[task.digest])).text


def device(made, **options):
    return TwoServerClient(billboard(made), identities=IDENTITIES, **options)


class Place:
    """Where a party's database and its counter file lie."""

    def __init__(self, folder, task, party):
        self.task, self.party, self.folder = task, party, folder
        self.database, self.counter = folder / f"{NAMES[party]}.db", folder / f"{NAMES[party]}.counter"

    def open(self, **options):
        own = SIGNERS[self.party]
        opened = Aggregator(self.task, self.party, self.database, self.counter, HALVES, signer=own, **options)
        KEYS.setdefault(self.task.digest, [b"", b""])[self.party] = opened.key()
        return opened

    def take_keys(self, other):
        shutil.copy(f"{other.counter}.keys", f"{self.counter}.keys")

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


def opened(folder, **options):
    """A server, where its parties' files lie, leader and helper."""
    made = server(**options)
    where = places(folder, made.task)
    return made, where, *(place.open() for place in where)


def shut(*parties):
    for one in parties:
        one.close()


def reports(made, count, reward=1.0):
    own = device(made)
    return b"".join(own.report(ARMS[0], reward, randomness.octets(16)) for _ in range(count))


def verify(leader, helper):
    """Until nothing waits that has room."""
    while jobs := leader.jobs():
        leader.decide(helper.verify(jobs))


def close(leader, helper):
    """Both leaves of the step that is full, as the analyzer takes them."""
    certificates = leader.certificate(), helper.certificate()
    said = leader.release(certificates[1]), helper.release(certificates[0])
    return leader.leaf(said[1]) + helper.leaf(said[0])
