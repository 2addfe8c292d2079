"""What the tests of hostile billboards share: a billboard of every kind that our servers publish, their devices, and
random bytes that can be counted and repeated."""

import copy
import functools
import json
import math

import numpy as np
from numpy.random import default_rng

from reticent import Budget, Reward
from reticent.features import Number, Schema
from reticent_devices import LocalIRLS, ShuffleNewton, Shuffler
from reticent_devices.roles import local, shuffle

BUDGET, COARSE = Budget(1.0, 1e-6), Budget(1.0, 1e-2)
FIELDS = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk",))
SERVERS = {
    "irls": lambda: LocalIRLS(2, BUDGET, Reward(radius=3.0)),
    "irls-rare-cap": lambda: LocalIRLS(3, Budget(8.0, 0.0), Reward(radius=3.0)),
    "irls-gaussian": lambda: LocalIRLS(2, BUDGET, Reward("probit"), randomizer="gaussian"),
    "irls-padded": lambda: LocalIRLS(2, BUDGET, Reward("identity", range=(0.0, 1.0))),
    "irls-linear": lambda: LocalIRLS(2, BUDGET, Reward("identity", range=(-1.0, 1.0))),
    "irls-scores": lambda: LocalIRLS(2, BUDGET, Reward(radius=3.0), curvature="none"),
    "irls-scores-linear": lambda: LocalIRLS(
        3, BUDGET, Reward("identity", range=(-2.0, 1.0)), curvature="none", randomizer="gaussian"
    ),
    "irls-public": lambda: LocalIRLS(2, BUDGET, public_arms=True),
    "irls-public-padded": lambda: LocalIRLS(2, BUDGET, Reward("identity", range=(2.0, 5.0)), public_arms=True),
    "irls-fields": lambda: LocalIRLS(FIELDS, BUDGET),
    "newton": lambda: ShuffleNewton(2, COARSE, first=60),
    "newton-fields": lambda: ShuffleNewton(FIELDS, COARSE, first=60),
    "newton-ucb": lambda: ShuffleNewton(3, COARSE, Reward("probit"), first=60, explore="ucb"),
    "newton-greedy": lambda: ShuffleNewton(2, COARSE, first=60, explore="greedy", malicious=0.1),
    "newton-elimination": lambda: ShuffleNewton(2, COARSE, first=60, explore="elimination", dropout=0.1),
    "newton-narrow": lambda: ShuffleNewton(1, COARSE, first=60, explore="elimination"),
    "newton-linear": lambda: ShuffleNewton(2, COARSE, Reward("identity", range=(-2.0, 1.0)), first=60),
    "newton-scores": lambda: ShuffleNewton(2, COARSE, Reward("probit"), first=60, curvature="none"),
    "newton-scores-linear": lambda: ShuffleNewton(
        3, COARSE, Reward("identity", range=(-2.0, 1.0)), first=60, curvature="none"
    ),
}
ALL = dict(SERVERS)  # with those of packages: a package that imports these tests adds its own
DEVICES = {}  # what stands in a billboard -> its device, where it is not one of ours


def fellows(name):
    """Those of its package's tests: what a test does is the same whoever else's were loaded."""
    return SERVERS if name in SERVERS else ALL


def is_local(name):
    return "Local" in ALL[name].__code__.co_names[0]


LOCAL = [name for name in SERVERS if is_local(name)]


@functools.cache
def published(name):
    """Its first billboard, and one after some reports of real devices."""
    server = ALL[name]()
    rng, first = default_rng(7), server.billboard()
    low, high = server.rewards
    shuffler = None if is_local(name) else Shuffler(first)
    members = []
    for _ in range(66):
        arms, client = rng.uniform(-0.5, 0.5, (3, server.dim)), device(server.billboard())
        choice = client.choose(arms)
        report = client.randomize(choice, rng.choice([low, high]))
        members.append((client, choice))
        if shuffler is None:
            server.observe(report)
        else:
            shuffler.add(report)
    if shuffler is not None:
        server.observe(shuffler.close())
    while b'"round": ' in server.billboard() and json.loads(server.billboard())["round"]:  # until the batch is closed
        shuffler = Shuffler(server.billboard())
        for client, choice in members:
            shuffler.add(client.answer(choice, server.billboard()))
        server.observe(shuffler.close())
    return first, server.billboard()


def document(name):
    """The later of them, to be changed."""
    return json.loads(published(name)[1])


def device(billboard, **options):
    """The device for a billboard: of either model, and with leave for public arms."""
    for mark, kind in DEVICES.items():
        if mark in billboard:
            return kind(billboard, **options)
    if b'"reticent billboard"' in billboard:
        return shuffle.ShuffleClient(billboard, **options)
    return local.LocalClient(billboard, public_arms=True, **options)


def another(client):
    """The device of another person at the same billboard."""
    return copy.copy(client)


def encoded(made):
    return json.dumps(made).encode()


def changed(name, *path, to):
    """The billboard with one value changed."""
    made = document(name)
    *way, last = path
    part = functools.reduce(lambda inner, key: inner[key], way, made)
    part[last] = to
    return encoded(made)


def without(name, *path):
    made = document(name)
    *way, last = path
    del functools.reduce(lambda inner, key: inner[key], way, made)[last]
    return encoded(made)


class Stream:
    """Instead of reticent.privacy.randomness.octets: the same bytes after every `rewind`, and how many were drawn."""

    def __init__(self, seed):
        self.bytes, self.drawn = default_rng(seed).bytes(1 << 16), 0

    def rewind(self):
        self.drawn = 0

    def __call__(self, count):
        start, self.drawn = self.drawn % len(self.bytes), self.drawn + count
        return (self.bytes[start:] + self.bytes * math.ceil(count / len(self.bytes)))[:count]


def people(dim, rewards):
    """Data that differ in everything: (arms, reward)."""
    low, high = rewards
    eye, rng = np.eye(dim), default_rng(3)
    some = rng.standard_normal((5, dim))
    some /= np.linalg.norm(some, axis=1, keepdims=True) * rng.uniform(1, 3, (5, 1))
    tiny = 1e-160 * some
    return [
        (eye[:1], low),
        (-eye[:1], high),
        (some, high),
        (-some[:4], low),
        (some[:3], None),
        (np.zeros((2, dim)), high),
        (tiny, low),
        (1e5 * tiny[:2], high),  # squares are no longer normal numbers
        (np.concatenate([-some[:2], tiny[:1]]), low + 0.3 * (high - low)),
        (np.repeat(some[:1], 4, axis=0), high + 1.0),
        (some[1:3], low - 1.0),
        (eye[:1] * (1 + 1e-7), math.inf),
        (1e-200 * eye[:1], math.nan),
        (0.5 * eye[:1], 10**400),
    ]


def behaviour(client, arms, reward, stream):
    """All that a device shows of one datum besides the bytes of its report: errors, lengths, random bytes."""
    client, shown = another(client), []
    stream.rewind()
    try:
        choice = client.choose(arms)
        shown += ["chosen", stream.drawn]
        stream.rewind()
        report = client.randomize(choice, reward)
        shown += ["sent", type(report).__name__, len(report), stream.drawn]
    except Exception as error:  # what must not depend on the datum
        shown.append(type(error).__name__)
    return tuple(shown)


# changes of one value

VALUES = [
    *(None, True, False, 0, 1, -1, 2, 3, 5, 49, 2**31 - 1, 2**31, 2**32 - 15, 2**32, 2**33, 2**53, 2**63, 2**64),
    *(-2e11, 10**30, 10**400, 0.0, -0.0, 0.5, 1.5, 2.9, -1.0, 1e-300, 5e-324, 1e-12, 1e-13, 1e12, 1e13, 1e300),
    *(math.nan, math.inf, -math.inf, "", "inf", "1", "nan", "glm", "ucb", "identity", "probit", "saturating", "x" * 99),
    *([], {}, [0.0], [0.5, 1.5], [1.0, 0.0], [[]], [[0.0]], [[0.0, 0.0], [0.0, 0.0]], [[1e12, 0.0], [0.0, -1e12]]),
]


def places(part, path=()):
    """Paths of all values in a document."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    return [path] * bool(path) + [way for key in keys for way in places(part[key], (*path, key))]


def near(value, rng):
    """Another value that looks like this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-(2**20), -7, -1, 1, 7, value, 2**20]))
    if isinstance(value, float):
        return float(
            rng.choice(
                [
                    *(-value, 2 * value, value / 2, value + 1, np.nextafter(value, 2), value * (1 + 1e-9)),
                    *(rng.choice([-1, 1], 6) * 10 ** rng.uniform(-14, 14, 6)),
                    *rng.uniform(0, 1, 3),
                ]
            )
        )
    if isinstance(value, list) and value:
        return [value[:-1], [*value, value[0]], [value], value[::-1], [*value[:-1], [value[-1]]]][rng.integers(5)]
    if isinstance(value, dict) and value:
        return {key: value[key] for key in list(value)[1:]}
    return [value]


def mutated(made, other, rng):
    """The document with one value changed, taken away, added, doubled, or taken from another document."""
    made = copy.deepcopy(made)
    ways = places(made)
    *way, last = ways[rng.integers(len(ways))]
    part, kind = functools.reduce(lambda inner, key: inner[key], way, made), rng.integers(12)
    if kind < 5:
        part[last] = near(part[last], rng)
    elif kind < 8:
        part[last] = VALUES[rng.integers(len(VALUES))]
    elif kind == 8:
        del part[last]
    elif kind == 9 and isinstance(part, dict):
        part[str(rng.choice(["blend", "extra", "root", "share", "shake", "width"]))] = near(part[last], rng)
    elif kind == 10 and isinstance(part, dict):
        text, pair = encoded(made), encoded({last: part[last]})[1:-1]
        return text.replace(pair, pair + b", " + encoded({last: near(part[last], rng)})[1:-1], 1)
    else:
        shared = sorted(set(made) & set(other))
        key = shared[rng.integers(len(shared))]
        made[key] = other[key]
    return encoded(made)
