"""What both devices are given: billboards of our servers, people and random bytes, new ones in each run."""

import base64
import json
import math

import numpy as np
from numpy.random import default_rng

from tacit.privacy import entropy
from tests.roles.boards import FIELDS, SERVERS, device, published

NAMES = [name for name in SERVERS if name.startswith(("irls", "newton", "shuffle"))]  # what the device is for
EACH = 48  # reports by each of them
TAPE = 1 << 16  # random bytes, over and over


def text(data):
    return base64.b64encode(data).decode()


class Tape:
    """Instead of tacit.privacy.entropy.octets."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def __call__(self, count):
        start, self.at = self.at % len(self.data), self.at + count
        return (self.data[start:] + self.data * math.ceil(count / len(self.data)))[:count]


def own(name):
    """The application's options: fields where a server has them."""
    return {"features": FIELDS} if "fields" in name else {}


def reports(seed, patch):
    """(what a device is given, what Python makes of it)."""
    rng = default_rng(seed)
    given = {"random": "", "boards": [], "cases": []}
    data = rng.bytes(TAPE)
    given["random"] = text(data)
    made = []
    for name in NAMES:
        for board in published(name):
            made.append(device(board, **own(name)))
            fields = {"options": {"fields": FIELDS.to_dict()}} if own(name) else {}
            given["boards"].append({"board": text(board), **fields})
    expected, tape = [], Tape(data)
    patch.setattr(entropy, "octets", tape)
    for number in range(EACH * len(NAMES)):
        at, start = number % len(made), int(rng.integers(TAPE))
        client = made[at]
        if client.features is not None:
            arms, actions = {"age": float(rng.uniform(-10, 120))}, {"actions": ["walk"]}
        else:
            rows = rng.standard_normal((rng.integers(1, 6), client.dim))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True) * rng.uniform(1, 3, (len(rows), 1))
            arms, actions = {f"arm{i}": row.tolist() for i, row in enumerate(rows)}, {}
        low, high = client.rewards
        reward = [None, low, high, float(rng.uniform(low, high)), high + 1.0, math.nan][rng.integers(6)]
        told = str(reward) if isinstance(reward, float) and math.isnan(reward) else reward
        given["cases"].append({"at": start, "board": at, "arms": arms, "options": actions, "reward": told})
        tape.at = start
        choice = client.choose(arms, **actions)
        report = client.randomize(choice, reward).hex()
        expected.append({"index": choice.index, "name": choice.name, "report": report})
    return given, expected


def save(given, path):
    path.write_text(json.dumps(given))
    return path
