"""Billboards of a batch whose users answer several rounds: round 0 asks for the information, each later one for a
gradient at `theta`; and what all rounds of a batch cost one of its users."""

import functools
import hashlib
import json
from typing import Any

from reticent.model.vectors import packed_size
from reticent_devices.mechanisms.shuffle.encoding import reach
from reticent_devices.roles.billboard import (
    BELOW_ONE,
    COINS,
    LARGE,
    MATRIX,
    POSITIVE,
    ROW,
    SIZE,
    TOSSES,
    USERS,
    WIDEST,
    as_bytes,
    checked,
    need,
    parsed,
)
from reticent_devices.roles.limits import hidden as hidden
from reticent_devices.roles.schema import Field, hexadecimal, one_of, or_null, real, record, whole, word
from reticent_devices.roles.wire import VERSION, Parameters, digest
from reticent_papers.links import BOUNDED
from reticent_papers.mechanisms.together import Part, together_epsilon
from reticent_papers.shuffle.apart import apart

FORMAT = "reticent billboard of rounds"
ASKED = 1 << 20  # rounds of a batch

FIELDS: dict[str, Field] = {
    "format": one_of(FORMAT),
    "version": one_of(VERSION),
    "model": one_of("shuffle"),
    "bandit": word,
    "batch": whole(0, 2**63 - 1),  # counts shuffled sums: rounds of all batches
    "round": whole(0, ASKED),
    "gradients": whole(1, ASKED),  # rounds after the first
    "dim": whole(1, WIDEST),
    "features": or_null(hexadecimal),
    "link": one_of(*BOUNDED),
    "rewards": ROW,
    "plan": record(
        {
            "users": USERS,
            "minimum": USERS,
            "malicious": whole(0, TOSSES),
            "trials": whole(0, 2**20),
            "information": POSITIVE,  # cells of the grid per unit
            "gradient": POSITIVE,
            "epsilon": or_null(POSITIVE),
            "delta": BELOW_ONE,
        }
    ),
    "largest": real(1 / LARGE, 1.0),  # weight of an arm in the information
    "first": SIZE,  # widths of the intervals that rule arms out: of batch 1, and of later ones
    "later": SIZE,
    "radius": POSITIVE,
    "thetas": MATRIX,  # a row for each closed batch
    "inverses": MATRIX,  # as many rows as features for each of them
    "theta": ROW,
}

PASSING = ("batch", "round", "theta")  # what changes from round to round; all else are the terms of a batch


def read(billboard: bytes) -> tuple[Parameters, dict[str, Any]]:
    """As reticent_devices.roles.billboard.shuffle. `plan` is that of the round; `terms` a digest of all that
    stays the same throughout the batch."""
    return _read(as_bytes(billboard))


@functools.lru_cache(maxsize=4)
def _read(billboard: bytes) -> tuple[Parameters, dict[str, Any]]:
    document = parsed(billboard, "shuffle", FORMAT)
    board = checked(document, FIELDS)
    dim, plan, closed = board["dim"], board["plan"], len(board["thetas"])
    gradient = board["round"] > 0
    need(board["theta"].shape == (dim * gradient,), "theta in a round that asks for a gradient, and in no other")
    need(board["thetas"].shape == (closed, dim * (closed > 0)), "thetas of as many numbers as there are features")
    need(board["inverses"].shape == (closed * dim, dim * (closed > 0)), "an inverse for each of thetas")
    need(board["round"] <= min(board["gradients"], board["batch"]), "a round of its batch")
    need(max(plan["minimum"], plan["malicious"]) <= plan["users"], "no more users than the plan has")
    size, norm = (dim, 1.0) if gradient else (packed_size(dim), board["largest"])
    grids = plan.pop("information"), plan.pop("gradient")
    board["grids"] = grids
    for grid, longest in zip(grids, (board["largest"], 1.0), strict=True):
        need(2 * reach(grid, longest) + plan["trials"] < 2**32, "a grid whose numbers fit into 4 bytes")
    need(plan["trials"] * packed_size(dim) <= COINS, f"at most {COINS} coins in a report")
    need(plan["trials"] * plan["users"] <= TOSSES, f"at most {TOSSES} coins in a batch")
    grid = grids[gradient]
    plan |= {"size": size, "grid": grid, "reach": reach(grid, norm), "laplace": 0.0, "norm": norm}
    fixed = {name: value for name, value in document.items() if name not in PASSING}
    board["terms"] = hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()
    return Parameters(board["batch"], digest(billboard), size, plan["reach"], plan["trials"]), board


def together(document: dict[str, Any], reports: int) -> list[Part]:
    """All sums of a batch whose users answer several rounds, with the noise of so many reports in each, less those who
    may leave theirs out. Derivation: shuffle.apart; a gradient is cut to norm 1, a weight to `largest`."""
    plan, dim, (information, gradient) = document["plan"], document["dim"], document["grids"]
    coins = (min(reports, plan["users"]) - plan["malicious"]) * plan["trials"]
    matrices, gradients = apart()
    cells = document["largest"] * information
    return [
        Part(packed_size(dim), 1, tuple(cells * far for far in matrices), coins),
        Part(dim, document["gradients"], tuple(gradient * far for far in gradients), coins),
    ]


def spent(document: dict[str, Any], delta: float, reports: int) -> float:
    """epsilon at delta, as roles.limits has it."""
    return together_epsilon(together(document, reports), delta)
