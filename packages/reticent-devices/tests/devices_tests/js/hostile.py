"""Billboards on either side of each check of a device, seldom met by random changes; and an application's options."""

import functools
import json
import math

from devices_tests.roles.boards import COARSE, FIELDS, changed, document, encoded, published, without
from reticent.features import Number, Schema
from reticent_devices import ShuffleNewton

OTHER = Schema(context={"age": Number(0, 99)}, arms="disjoint", actions=("walk",))


def with_parts(name, **parts):
    """The billboard with values changed in parts of it."""
    made = document(name)
    for part, values in parts.items():
        made[part] |= values
    return encoded(made)


@functools.cache
def wide():
    return json.loads(ShuffleNewton(30, COARSE).billboard())


def plans():
    for trials, users in ((64, 2**24), (65, 2**24)):  # coins of a batch
        yield with_parts("newton", plan={"trials": trials, "users": users, "minimum": users})
    for trials in (2**19, 2**20):  # coins of a report
        made = wide()
        yield encoded(made | {"plan": made["plan"] | {"trials": trials, "users": 1000, "minimum": 1000}})
    for reach in (2**31 - 64, 2**31):  # counts in 4 bytes
        yield with_parts("newton", plan={"grid": float(reach), "norm": 1.0, "reach": reach})
    for fewest in (49, 50, 51):  # coins to hide among
        yield with_parts("newton", plan={"trials": 1, "users": fewest, "minimum": fewest, "malicious": 0})
        yield with_parts("newton", plan={"trials": 1, "users": 90, "minimum": fewest + 3, "malicious": 3})
    yield with_parts("newton", plan={"laplace": 0.1, "reach": document("newton")["plan"]["reach"] + 4})
    yield with_parts("newton", plan={"epsilon": None})
    yield from weaker()


def weaker():
    """Plans whose coins give a little more or less than they claim."""
    for name in ("newton", "newton-elimination", "newton-greedy", "newton-linear", "newton-scores"):
        made = document(name)
        plan = made["plan"]
        for factor in (0.5, 0.9, 1 - 1e-4, 1 + 1e-4, 1.1, 2.0):
            yield with_parts(name, plan={"epsilon": plan["epsilon"] * factor})
            yield with_parts(name, plan={"delta": plan["delta"] * factor})
            yield with_parts(name, plan={"trials": round(plan["trials"] * factor)})
            yield with_parts(name, plan={"minimum": min(plan["users"], round(plan["minimum"] * factor))})
            grid = plan["grid"] * factor
            yield with_parts(name, plan={"grid": grid, "reach": math.ceil(grid * plan["norm"])})
            norm = plan["norm"] * factor
            yield with_parts(name, plan={"norm": norm, "reach": math.ceil(plan["grid"] * norm)})
            yield encoded(made | {"curvature": made["curvature"] * factor, "moment": made["moment"] * factor})
        for malicious in (1, 9, plan["minimum"] - 1, plan["users"]):
            yield with_parts(name, plan={"malicious": malicious})
        yield with_parts(name, plan={"epsilon": 1e12, "delta": 0.999})
        yield with_parts(name, plan={"delta": 0.0})


def claims():
    for chance in (0, 2**20, 2**31, 2**32 - 2, 2**32 - 1, 2**32):
        for epsilon in (1.0, 100.0, 1000.0, 1e12):
            yield with_parts("irls", randomizer={"chance": chance}, claim={"epsilon": epsilon})
            yield with_parts("irls-public", randomizer={"chance": chance}, claim={"epsilon": epsilon})
    for threshold in (1, 2**27, 4 * 2**27, 5 * 2**27, 64 * 2**27):  # candidates that are too rare
        yield with_parts("irls", randomizer={"threshold": threshold, "chance": 2**31}, claim={"epsilon": 12.0})
    for sigma in (1e-12, 1e-3, 0.05, 1.0, 10.0, 1e6, 1e12):
        for epsilon, delta in ((1.0, 1e-6), (599.0, 0.0), (601.0, 0.0), (650.0, 0.5), (1e-12, 0.999), (8.0, 1e-16)):
            yield with_parts("irls-gaussian", randomizer={"sigma": sigma}, claim={"epsilon": epsilon, "delta": delta})
    for name in ("irls", "irls-gaussian", "irls-public"):
        yield with_parts(name, claim={"epsilon": None})
        for factor in (1 - 1e-3, 1 - 2e-6, 1 + 1e-3):
            yield with_parts(name, claim={"epsilon": factor * document(name)["claim"]["epsilon"]})


def shapes():
    for protocol in (1, 2, 3, 2.0, True, "2"):
        yield changed("irls", "protocol", to=protocol)
    yield without("irls", "protocol")
    for pad in ([0.5], [0.5, 0.5, 0.5], [0.5, -0.0], [1.0, 1.1]):
        yield changed("irls-padded", "report", "pad", to=pad)
    for name in ("irls", "newton"):
        for features in ("0" * 64, "0" * 63, "A" * 64, "g" * 64, "0" * 65, "", 0):
            yield changed(name, "features", to=features)
        for bandit in ("a" * 64, "a" * 65, "1a", "a b", "a-b", "é", "", "a\n"):
            yield changed(name, "bandit", to=bandit)
        board = published(name)[1]
        yield b"\xef\xbb\xbf" + board
        yield from (board[:-1] + end for end in (b",}", b"}}", b"", b',"extra":1}', b"\n \t}\r\n"))
        yield from (
            board.replace(old, new, 1) for old, new in ((b"[", b"[,"), (b"]", b",]"), (b":", b"="), (b'"', b"'"))
        )
        yield from (board.replace(b" ", space) for space in (b"", b"\n", b"\t", b"\x0b", b"\xa0", b"\x00"))
    for number in (b"2.0", b"02", b"2.", b".2", b"+2", b"2e0", b"0x2", b"2n", b"1_0", b"-0", b"2" * 5000):
        yield published("irls")[1].replace(b'"dim": 2', b'"dim": ' + number, 1)
        yield published("newton")[1].replace(b'"batch": 1', b'"batch": ' + number, 1)
    for batch in (2**53 + 1, 2**63 - 1, 2**63):
        yield changed("newton", "batch", to=batch)


def limits():
    """(a billboard, the application's options)"""
    for name in ("irls", "irls-gaussian", "irls-rare-cap", "irls-public"):
        for epsilon in (None, 0.5, 1.0, 1.0 - 2e-6, 8.0):
            for delta in (None, 0.0, 1e-6, 1e-7, 0.5):
                given = {"epsilon": epsilon, "delta": delta}
                yield published(name)[1], {key: value for key, value in given.items() if value is not None}
    for name in ("newton",):
        for epsilon in (0.5, 1.0 - 1e-4, 1.0, 8.0):
            for delta in (0.0, 1e-3, 1e-2, 0.5):
                yield published(name)[1], {"epsilon": epsilon, "delta": delta}
    for name in ("irls", "newton", "newton-linear"):
        for rewards in ((0, 1), (0.0, 1.0 + 1e-15), (-2.0, 1.0), (-1.0, 1.0)):
            yield published(name)[1], {"rewards": rewards}
    yield published("irls-public")[1], {"public_arms": False}
    yield published("irls")[1], {"public_arms": False}
    for name in ("irls", "irls-fields", "newton-fields"):
        for schema in (FIELDS, OTHER):
            yield published(name)[1], {"features": schema}


def everything():
    """(a billboard, the application's options)"""
    return [*((board, {}) for make in (plans, claims, shapes) for board in make()), *limits()]
