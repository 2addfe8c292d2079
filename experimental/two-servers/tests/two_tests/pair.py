"""Both aggregators as processes, each in a folder of its own, and devices that send to the leader."""

import contextlib
import json
import socket
import sqlite3

import numpy as np

from devices_tests.service.roles.running import ask, until
from reticent.kernels.rounds import next_boundary
from reticent.privacy import randomness
from reticent_two.roles import signed
from reticent_two.roles.device import TwoServerClient
from reticent_two.roles.identity import Identities
from reticent_two.service import files

BOTH = """
[aggregator]
role = "{name}"
database = "{name}.db"
counter = "apart/{name}.counter"
identity = "{name}.identity"
peer_identity = "{theirs}"
peer_certificate = "{folder}/{other}/{other}.identity.crt"
"""
LEADER = """budget = {{epsilon = 4.0, delta = 1e-6}}
peer = "https://127.0.0.1:{port}"
every = 0.05

[bandit]
features = 2
budget = {{epsilon = 1.0, delta = 1e-6}}
helper_budget = {{epsilon = 4.0, delta = 1e-6}}
horizon = 100000
options = {{first = {first}, curvature = "{curvature}"}}
"""
HELPER = """budget = {{epsilon = 1.0, delta = 1e-6}}
listen = "127.0.0.1:{port}"
"""
ARMS = np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])


class Pair:
    def __init__(self, start, folder, first=3, curvature="none"):
        self._start, self.folder = start, folder
        with socket.socket() as place:
            place.bind(("127.0.0.1", 0))
            port = place.getsockname()[1]
        self.peer, known = f"https://127.0.0.1:{port}", []
        for name in ("leader", "helper"):
            (folder / name / "apart").mkdir(parents=True)
            known.append(files.opened(folder / name / f"{name}.identity").public)
        self.identities = Identities(*known)
        given = {"folder": folder, "port": port, "first": first, "curvature": curvature}
        own = {"name": "leader", "other": "helper", "theirs": known[1].hex()}
        other = {"name": "helper", "other": "leader", "theirs": known[0].hex()}
        self._texts = (BOTH + LEADER).format(**given | own), (BOTH + HELPER).format(**given | other)
        self.helper, self.leader = self.start(1), self.start(0)

    def rename(self, old, new):
        """Other files, in both configurations."""
        self._texts = tuple(text.replace(old, new) for text in self._texts)

    def start(self, party):
        name = ("leader", "helper")[party]
        made = self._start("aggregator", self._texts[party], folder=self.folder / name)
        setattr(self, name, made)
        return made

    def billboard(self, seconds=60.0):
        until(lambda: ask(self.leader.port, "GET", "/billboard")[0] == 200, seconds, lambda: self.status(0))
        return ask(self.leader.port, "GET", "/billboard")[2]

    def device(self, **options):
        return TwoServerClient(self.billboard(), identities=self.identities, **options)

    def reports(self, count, reward=1.0):
        own = self.device()
        return [own.report(ARMS[i % 3], reward, randomness.octets(16)) for i in range(count)]

    def send(self, report):
        return ask(self.leader.port, "POST", "/reports", report)

    def settled(self, sent):
        """Whether all reports but those of a step that is not full are in closed ones."""
        board, users, steps = signed.read(self.billboard()), 0, 0
        while (following := next_boundary(users, *board.task.steps.schedule)) <= sent:
            users, steps = following, steps + 1
        return all(self.status(party)["users"] == users for party in (0, 1)) and board.step == steps

    def read(self, party, query, ending=""):
        name = ("leader", "helper")[party]
        with contextlib.closing(sqlite3.connect(self.folder / name / f"{name}.db{ending}")) as database:
            return database.execute(query).fetchall()

    def status(self, party):
        return json.loads(ask((self.leader, self.helper)[party].port, "GET", "/status")[2])
