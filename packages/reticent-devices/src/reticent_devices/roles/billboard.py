"""Billboards: the public documents that devices and shufflers act by. Those of reticent are read here
and nowhere else.

The server that wrote one is not trusted. An exception, a missing report or a longer one that depends on a datum tells
that datum without any noise, so a document is checked whole before a datum meets it: exactly these fields, of these
types, shapes and ranges. After that no arithmetic of a device can fail: features are at most 1 and all public numbers
between 1 / LARGE and LARGE in size, so that no product of theirs overflows, and what is divided by is not 0. Negative
squares by a matrix that is not positive are taken for 0 where they occur. What a device is asked to compute is bounded
here and, for caps, in roles.limits. How a person's fields become features is not in it, only the digest of a schema
that the application has: with a schema of its own choosing a server would decide whose fields are an error."""

import functools
import hashlib
import importlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reticent import registry
from reticent.errors import BadBillboard
from reticent.model import links
from reticent.model.vectors import pair_size
from reticent_devices.mechanisms.randomizers import FINE, SHARE, UNIT
from reticent_devices.mechanisms.shuffle.encoding import reach
from reticent_devices.roles.schema import (
    Field,
    Wrong,
    flag,
    hexadecimal,
    matrix,
    numbers,
    one_of,
    or_null,
    parse,
    real,
    record,
    variant,
    whole,
    word,
)
from reticent_devices.roles.wire import LARGEST, VERSION, Parameters, digest

LOCAL, SHUFFLE = "reticent local billboard", "reticent billboard"
PROTOCOL = 2  # of local billboards: raised where a device would make another report of the same document
TAG = 4  # bytes of a digest of what a local report was made for
LONGEST = 1 << 23  # bytes of a billboard
DEEPEST = 4  # brackets within brackets
LARGE = 1e12
WIDEST = 4096  # features
COINS = 1 << 28  # random bits of one report
TOSSES = 1 << 30  # coins of a batch in one coordinate: what they give takes their root to work out

POSITIVE, SIZE = real(1 / LARGE, LARGE), real(0.0, LARGE)
PART, BELOW_ONE = real(0.0, 1.0), real(0.0, math.nextafter(1.0, 0.0))
ROW, MATRIX = numbers(LARGE), matrix(LARGE)
USERS = whole(1, TOSSES)

RANDOMIZERS: dict[str, dict[str, Field]] = {
    "cap": {"radius": POSITIVE, "chance": whole(0, SHARE), "threshold": whole(1, 64 * UNIT * FINE), "scale": POSITIVE},
    "lattice": {"sigma": POSITIVE},
    "open": {},
    "coin": {"chance": whole(0, SHARE)},
}
LOCAL_FIELDS: dict[str, Field] = {
    "format": one_of(LOCAL),
    "protocol": one_of(PROTOCOL),
    "version": whole(0, 2**63 - 1),  # counts estimates that were published
    "bandit": word,
    "features": or_null(hexadecimal),
    "link": one_of(*links.NAMES),
    "rewards": ROW,
    "randomizer": variant("kind", RANDOMIZERS),
    "claim": record({"epsilon": or_null(POSITIVE), "delta": BELOW_ONE}),
    "theta": ROW,
    "inverse": MATRIX,
}


@dataclass(frozen=True, eq=False)
class Kinds:
    """What a device of the local model can be asked for. reports: the kinds of them, and the fields of each; policies:
    the same of how it chooses; choices: which policy goes with a report. flat: reports that need no matrix. staged:
    reports of one step of a regression, which are too late for the next one. widest: features at most. check: `need`s
    what else has to hold."""

    reports: Mapping[str, Mapping[str, Field]]
    policies: Mapping[str, Mapping[str, Field]]
    choices: Mapping[str, str]
    flat: tuple[str, ...]
    staged: tuple[str, ...] = ()
    widest: int = WIDEST
    check: Callable[[dict[str, Any]], None] = lambda board: None

    @functools.cached_property
    def fields(self) -> dict[str, Field]:
        """Of a billboard."""
        asked = {"report": variant("name", self.reports), "policy": variant("name", self.policies)}
        return LOCAL_FIELDS | {"dim": whole(1, self.widest)} | asked


KINDS = Kinds(  # roles.local says what they are
    reports={"glm": {"scale": POSITIVE, "blend": PART, "pad": numbers(1.0)}, "public": {}, "score": {}},
    policies={"thompson": {"random": flag, "root": MATRIX}, "best": {"random": flag}},
    choices={"glm": "thompson", "public": "thompson", "score": "best"},
    flat=("score",),
)

PLAN: dict[str, Field] = {
    "users": USERS,
    "minimum": USERS,
    "malicious": whole(0, TOSSES),
    "size": whole(1, LARGEST),
    "grid": POSITIVE,
    "reach": whole(1, 2**31),
    "trials": whole(0, 2**20),
    "laplace": SIZE,
    "norm": POSITIVE,
    "sensitivity": POSITIVE,
    "epsilon": or_null(POSITIVE),
    "delta": BELOW_ONE,
}
SHUFFLE_POLICIES: dict[str, dict[str, Field]] = {
    "random": {"width": SIZE},
    "thompson": {"width": SIZE, "share": PART},
    "ucb": {"width": SIZE},
    "greedy": {"width": SIZE},
    "elimination": {"width": SIZE},
}
SHUFFLE_FIELDS: dict[str, Field] = {
    "format": one_of(SHUFFLE),
    "version": one_of(VERSION),
    "model": one_of("shuffle"),
    "bandit": word,
    "batch": whole(0, 2**63 - 1),
    "dim": whole(1, WIDEST),
    "features": or_null(hexadecimal),
    "link": one_of(*links.NAMES),
    "rewards": ROW,
    "plan": record(PLAN),
    "weights": one_of("saturating", "plain", "score"),  # roles.shuffle says what they are
    "curvature": POSITIVE,
    "moment": POSITIVE,
    "policy": variant("name", SHUFFLE_POLICIES),
    "theta": ROW,
    "centre": ROW,
    "inverse": MATRIX,
    "axes": MATRIX,
    "spread": ROW,
}


FIXED = ("protocol", "bandit", "dim", "features", "link", "rewards", "randomizer", "claim")  # of a local server


def local(billboard: bytes, kinds: Kinds = KINDS) -> tuple[dict[str, Any], bytes]:
    """(the checked document, its tag) of a billboard of the local model that asks for one of these kinds, or
    BadBillboard."""
    return _local(as_bytes(billboard), kinds)


def shuffle(billboard: bytes) -> tuple[Parameters, dict[str, Any]]:
    """(what its messages have in common, the checked document) of a billboard of the shuffle model, or BadBillboard."""
    return _shuffle(as_bytes(billboard))


def batch(billboard: bytes) -> tuple[Parameters, dict[str, Any]]:
    """The same of any format, those of other packages included."""
    start = as_bytes(billboard)[:LONGEST]
    other = next((name for name in registry.table("BOARDS") if name.encode() in start), None)
    return shuffle(billboard) if other is None else of_format(other).read(billboard)


def of_format(name: str) -> Any:
    """The module of a billboard's format, from another package (reticent.registry); None for this one's."""
    home = registry.table("BOARDS").get(name)
    return home and importlib.import_module(home)


def tag(document: dict[str, Any], *, staged: bool = False) -> bytes:
    """Of a local billboard as JSON gives it: what does not change from one version to the next, so that no server reads
    a report that was made for another's. Where reports are for one step, also the version."""
    fixed = [document[name] for name in FIXED]
    if staged:
        fixed.append(document["version"])
    return hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).digest()[:TAG]


@functools.lru_cache(maxsize=4)  # all devices of a simulation read one billboard
def _local(billboard: bytes, kinds: Kinds) -> tuple[dict[str, Any], bytes]:
    document = parsed(billboard, "local", LOCAL)
    _same(document.get("protocol", 1), "protocol", PROTOCOL)  # the first had no number
    board = checked(document, kinds.fields)
    dim, kind, policy = board["dim"], board["report"]["name"], board["policy"]
    wide = board["theta"].size
    if kind == "glm":
        need(board["report"]["pad"].size == 2, "two numbers in pad")
        need(wide == dim + bool(board["report"]["pad"][1]), "theta of as many numbers as there are features")
    else:
        need(wide == dim or (kind == "public" and wide == dim + 1), "theta of as many numbers as there are features")
    square = (0, 0) if kind in kinds.flat else (wide, wide)
    need(board["inverse"].shape == square, "an inverse of theta's size")
    need(policy["name"] == kinds.choices[kind], f"the policy {kinds.choices[kind]} with a report of the kind {kind}")
    need(policy["name"] != "thompson" or policy["root"].shape == square, "a root of theta's size")
    need((board["randomizer"]["kind"] == "coin") == (kind == "public"), "a randomizer for what the report holds")
    kinds.check(board)
    return board, tag(document, staged=kind in kinds.staged)


@functools.lru_cache(maxsize=4)
def _shuffle(billboard: bytes) -> tuple[Parameters, dict[str, Any]]:
    document = parsed(billboard, "shuffle", SHUFFLE)
    _same(document.get("version"), "version", VERSION)
    board = checked(document, SHUFFLE_FIELDS)
    dim, plan = board["dim"], board["plan"]
    score = board["weights"] == "score"
    wide = 0 if score else dim
    for name, size in (("theta", dim), ("centre", dim), ("spread", wide)):
        need(board[name].shape == (size,), f"{size} numbers in {name}")
    for name in ("inverse", "axes"):
        need(board[name].shape == (wide, wide), f"{wide} rows and columns in {name}")
    need((board["spread"] >= 0).all(), "no negative number in spread")
    need(not score or board["policy"]["name"] in ("random", "thompson"), "a policy that needs no matrix")
    need(plan["size"] == (dim if score else pair_size(dim)), "a plan for as many numbers as a report has")
    need(plan["reach"] == reach(plan["grid"], plan["norm"], plan["laplace"]), "the reach of the plan's grid and norm")
    need(2 * plan["reach"] + plan["trials"] < 2**32, "a grid whose numbers fit into 4 bytes")
    need(max(plan["minimum"], plan["malicious"]) <= plan["users"], "no more users than the plan has")
    need(plan["trials"] * plan["size"] <= COINS, f"at most {COINS} coins in a report")
    need(plan["trials"] * plan["users"] <= TOSSES, f"at most {TOSSES} coins in a batch")
    given = Parameters(board["batch"], digest(billboard), plan["size"], plan["reach"], plan["trials"])
    return given, board


def as_bytes(billboard: bytes) -> bytes:
    if not isinstance(billboard, bytes):
        raise BadBillboard(f"Expected the bytes of a billboard, got {type(billboard).__name__}.")
    return billboard


def parsed(billboard: bytes, model: str, format: str) -> dict[str, Any]:
    try:
        document = parse(billboard, longest=LONGEST, deepest=DEEPEST)
    except Wrong as wrong:
        raise BadBillboard(f"Expected a billboard of the {model} model with {wrong}, got another.") from None
    if type(document) is not dict or document.get("format") != format:
        raise BadBillboard(f"Expected a billboard of the {model} model, got something else.")
    return document


def _same(found: Any, name: str, number: int) -> None:
    """Raise where it is another number: server and device are of different releases. What is no such number is left to
    `checked`."""
    if type(found) is int and found != number and 0 <= found < 2**31:
        raise BadBillboard(
            f"Expected a billboard of {name} {number}, got {name} {found}: its server has another release of reticent."
        )


def checked(document: dict[str, Any], fields: dict[str, Field]) -> dict[str, Any]:
    try:
        board: dict[str, Any] = record(fields)(document)
    except Wrong as wrong:
        raise BadBillboard(f"Expected a billboard with {wrong}, got another.") from None
    if "rewards" in fields:
        rewards = board["rewards"]
        need(rewards.size == 2 and rewards[1] - rewards[0] >= 1 / LARGE, "a range low < high of rewards")
        board["rewards"] = float(rewards[0]), float(rewards[1])
    return board


def need(holds: bool, what: str) -> None:
    if not holds:
        raise BadBillboard(f"Expected a billboard with {what}, got another.")
