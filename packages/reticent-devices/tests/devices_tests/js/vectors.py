"""What both devices are given: billboards of our servers, people and random bytes, new ones in each run."""

import base64
import json
import math

import numpy as np
from numpy.random import default_rng

from devices_tests.js import hostile
from devices_tests.roles.boards import (
    FIELDS,
    LOCAL,
    SERVERS,
    another,
    changed,
    device,
    document,
    mutated,
    people,
    published,
    without,
)
from devices_tests.roles.test_hostile_billboards import MISSHAPEN, MISSING, NESTED, PLANS
from devices_tests.roles.test_plans import PLANNED, hostile_plan
from reticent import Budget
from reticent.errors import BadBillboard
from reticent.privacy import randomness
from reticent_devices.roles import local, shuffle

NAMES = [name for name in SERVERS if name.startswith(("irls", "newton"))]  # it is for these
DAMAGED = 75  # billboards made of each of them
PLANS_EACH = 30  # hostile plans for each of those in the shuffle model
EACH = 48  # reports by each of them
TAPE = 1 << 16  # random bytes, over and over


def text(data):
    return base64.b64encode(data).decode()


class Tape:
    """Instead of reticent.privacy.randomness.octets."""

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
    rng, given = default_rng(seed), {"random": "", "boards": [], "cases": []}
    data = rng.bytes(TAPE)
    given["random"] = text(data)
    made = []
    for name in NAMES:
        for board in published(name):
            made.append(device(board, **own(name)))
            fields = {"options": {"fields": FIELDS.to_dict()}} if own(name) else {}
            given["boards"].append({"board": text(board), **fields})
    expected, tape = [], Tape(data)
    patch.setattr(randomness, "octets", tape)
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
        floor = float(rng.choice([0.0, 0.3]))
        given["cases"].append(
            {"at": start, "board": at, "arms": arms, **actions, "floor": floor, "reward": plain(reward)}
        )
        tape.at = start
        client = another(client)
        choice = client.choose(arms, **actions, floor=floor)
        report = client.randomize(choice, reward).hex()
        expected.append({"index": choice.index, "name": choice.name, "report": report})
    return given, expected


def plain(reward):
    """As JSON takes it: what is no number of its as a text that JavaScript reads."""
    if reward is None or (-math.inf < reward < math.inf and abs(reward) < 1e300):
        return None if reward is None else float(reward)
    return "NaN" if reward != reward else "Infinity" if reward > 0 else "-Infinity"


def shown(client, arms, reward, tape):
    """What a device shows of one datum besides the bytes: how many random ones each step takes, and the length."""
    tape.at, client = 0, another(client)
    choice = client.choose(arms)
    first, tape.at = tape.at, 0
    return [first, len(client.randomize(choice, reward)), tape.at]


def spaces(board):
    return len(board) - len(board.rstrip(b" "))


def damaged(seed, patch):
    """Billboards with one thing wrong: (what a device is given, what Python's does: refuse, or show so much)."""
    rng, data = default_rng(seed), default_rng([seed, 1]).bytes(TAPE)
    boards = [changed(name, *path, to=value) for name, path, value in MISSHAPEN if name in NAMES]
    boards += [changed("newton", "plan", key, to=value) for key, value in PLANS]
    boards += [without(*place) for place in MISSING if place[0] in NAMES]
    boards += [
        *NESTED,
        published("irls")[1] + b" " * 2**23,
        *(published("irls")[1] + end for end in (b"\\", b"1", b" ", b"\xc3\xa9")),
    ]
    for name in NAMES:
        made = [json.loads(board) for board in published(name)]
        others = [document(other) for other in NAMES if (other in LOCAL) == (name in LOCAL) and other != name]
        boards += [mutated(made[i % 2], others[rng.integers(len(others))], rng) for i in range(DAMAGED)]
        boards += [hostile_plan(made[i % 2], rng) for i in range(PLANS_EACH) if name in PLANNED]
    given = {"random": text(data), "boards": [], "people": []}
    expected, places, tape = [], {}, Tape(data)
    patch.setattr(randomness, "octets", tape)
    for board, options in [*((board, {}) for board in boards), *hostile.everything()]:
        client = accepted(board, options)
        kind = (client.dim, client.rewards) if client else (1, (0.0, 1.0))
        if kind not in places:
            places[kind] = len(places)
            persons = [{"arms": arms.tolist(), "reward": plain(reward)} for arms, reward in people(*kind)]
            given["people"].append(persons)
        told = {"board": text(board.rstrip(b" ")), "more": spaces(board), "data": places[kind]}
        given["boards"].append(told | {"options": translated(options)})
        if client is None:
            expected.append("BadBillboard")
        elif client.features is not None or client.dim > 3:  # fields, or too slow to try all people
            given["boards"][-1]["data"] = None
            expected.append("accepted")
        else:
            told = [shown(client, *datum, tape) for datum in people(*kind)]
            expected.append({"cost": {"epsilon": client.cost.epsilon, "delta": client.cost.delta}, "told": told})
    return given, expected


def accepted(board, options):
    """Python's device, or None where it refuses."""
    options = dict(options)
    try:
        if b'"reticent billboard"' in board:
            budget = Budget(*(options.pop(name) for name in ("epsilon", "delta"))) if "epsilon" in options else None
            return shuffle.ShuffleClient(board, budget=budget, **options)
        return local.LocalClient(board, **{"public_arms": True} | options)
    except BadBillboard:
        return None


def translated(options):
    """As JavaScript has them."""
    names = {"public_arms": "publicArms", "features": "fields"}
    return {names.get(key, key): value.to_dict() if key == "features" else value for key, value in options.items()}


def save(given, path):
    path.write_text(json.dumps(given))
    return path
