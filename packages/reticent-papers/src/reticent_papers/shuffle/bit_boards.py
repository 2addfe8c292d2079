"""Billboards of a batch whose users send bits, some of them replaced by coins (mechanisms.flips)."""

import functools
from typing import Any

from reticent.model import links
from reticent.model.vectors import pair_size
from reticent_devices.roles.billboard import (
    BELOW_ONE,
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
from reticent_devices.roles.schema import Field, hexadecimal, one_of, or_null, record, whole, word
from reticent_devices.roles.wire import LARGEST, VERSION, Parameters, digest
from reticent_papers.mechanisms import flips as bits

FORMAT = "reticent billboard of bits"

FIELDS: dict[str, Field] = {
    "format": one_of(FORMAT),
    "version": one_of(VERSION),
    "model": one_of("shuffle"),
    "bandit": word,
    "batch": whole(0, 2**63 - 1),
    "dim": whole(1, WIDEST),
    "features": or_null(hexadecimal),
    "link": one_of(*links.NAMES),
    "rewards": ROW,
    "plan": record(
        {
            "users": whole(1, bits.MOST_USERS),
            "minimum": USERS,
            "malicious": whole(0, TOSSES),
            "bits": whole(1, bits.MOST_BITS),  # of each number
            "chance": whole(0, bits.SHARE - 1),
            "epsilon": or_null(POSITIVE),
            "delta": BELOW_ONE,
        }
    ),
    "width": SIZE,
    "theta": ROW,
    "inverse": MATRIX,
}


def read(billboard: bytes) -> tuple[Parameters, dict[str, Any]]:
    """As reticent_devices.roles.billboard.shuffle."""
    return _read(as_bytes(billboard))


@functools.lru_cache(maxsize=4)
def _read(billboard: bytes) -> tuple[Parameters, dict[str, Any]]:
    board = checked(parsed(billboard, "shuffle", FORMAT), FIELDS)
    dim, plan = board["dim"], board["plan"]
    need(board["theta"].shape == (dim,), f"{dim} numbers in theta")
    need(board["inverse"].shape == (dim, dim), f"{dim} rows and columns in inverse")
    need(max(plan["minimum"], plan["malicious"]) <= plan["users"], "no more users than the plan has")
    plan["size"] = pair_size(dim)
    need(plan["size"] <= LARGEST and plan["size"] * plan["bits"] <= bits.MOST_BITS, "fewer numbers and bits")
    return Parameters(board["batch"], digest(billboard), plan["size"], 0, plan["bits"]), board


def spent(document: dict[str, Any], delta: float, reports: int) -> float:
    """epsilon at delta, as roles.limits has it."""
    plan = document["plan"]
    honest = min(reports, plan["users"]) - plan["malicious"]
    return bits.epsilon_of(plan["chance"], honest, plan["size"] * plan["bits"], delta)


def hidden(plan: dict[str, Any]) -> bool:
    """Whether reports by this plan have coins to hide among."""
    return bool(plan["chance"] > 0)
