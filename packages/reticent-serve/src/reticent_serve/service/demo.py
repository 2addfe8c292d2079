"""`reticent serve --demo`: made-up people who ask for a message and click on it some time later, over HTTP."""

import collections
import math
import threading
import time
from pathlib import Path
from typing import Any

from numpy.random import Generator, default_rng

from reticent.errors import ReticentError
from reticent.features.columns import Category, Number
from reticent.features.schema import Schema
from reticent_serve.service import config as configs
from reticent_serve.service.client import Client
from reticent_serve.service.config import Config

NAME, FILE = "messages", "reticent-demo-trial.db"
RATE = 100.0  # people a second, if the machine can
CLICK = 3.0  # seconds until a click comes
MESSAGES = ("news", "offer", "reminder", "story", "survey", "tip")
HOURS = (1, 1, 1, 1, 1, 2, 3, 5, 6, 6, 6, 6, 7, 7, 6, 6, 6, 7, 8, 9, 9, 8, 5, 3)  # people at each
COMMON = {  # how many there are of each
    "plan": {"free": 12, "basic": 6, "pro": 4},
    "country": {"DE": 8, "FR": 6, "IT": 3, "PL": 2},
    "device": {"phone": 7, "desktop": 3, "tablet": 1},
}
FEATURES = Schema(
    context={
        "hour": Number(0, 24, bins=5),
        "age": Number(18, 90, bins=2),
        **{name: Category(*values) for name, values in COMMON.items()},
    },
    arms="disjoint",
    actions=MESSAGES,
)
USUAL = -1.0  # log odds of a click; what follows adds to them, and is not known to the bandit
BY_HOUR = {"news": (-1.0, 1.8), "story": (1.4, -1.2), "tip": (-0.4, 0.6), "survey": (-0.6, -0.6)}  # evening, morning
BY_PLAN = {
    "offer": {"free": 1.1, "basic": 0.2, "pro": -1.5},
    "reminder": {"basic": 0.9, "pro": 0.3},
    "tip": {"pro": 1.6},
}
BY_COUNTRY = {"story": {"FR": 0.5}, "survey": {"DE": 0.3, "FR": -0.4}}
PROFILES = {  # whose offers the dashboard shows
    "At breakfast, on a free plan": {"hour": 7, "age": 30, "plan": "free", "country": "DE", "device": "phone"},
    "In the evening, on a free plan": {"hour": 20, "age": 30, "plan": "free", "country": "FR", "device": "tablet"},
    "At noon, pro": {"hour": 12, "age": 50, "plan": "pro", "country": "DE", "device": "desktop"},
}


SETTING: dict[str, Any] = {
    "kind": "joint-glm",
    "features": FEATURES.to_dict(),
    "budget": {"epsilon": 1.0, "delta": 1e-6},
    "reward": {"window": "10 seconds", "default": 0.0},
    "holdout": {"share": 0.1, "action": "news"},
    "profiles": {name: {"context": context} for name, context in PROFILES.items()},
}


def config(folder: Path) -> Config:
    return configs.placed(configs.convert({"bandits": {NAME: SETTING | {"database": FILE}}}), folder)


def populate(address: str) -> None:
    """In the background, until the process ends."""
    threading.Thread(target=visit, args=(address,), daemon=True, name="reticent made-up people").start()


def person(rng: Generator) -> dict[str, Any]:
    hours = [each / sum(HOURS) for each in HOURS]
    out: dict[str, Any] = {"hour": int(rng.choice(24, p=hours)), "age": int(rng.integers(18, 91))}
    for name, values in COMMON.items():
        out[name] = str(rng.choice(list(values), p=[each / sum(values.values()) for each in values.values()]))
    return out


def chance(who: dict[str, Any], message: str) -> float:
    """Of a click."""
    evening, morning = BY_HOUR.get(message, (0.0, 0.0))
    early = math.cos(2 * math.pi * (who["hour"] - 7) / 24)  # 1 at seven, -1 at nineteen
    odds = USUAL + (morning * early if early > 0 else -evening * early)
    odds += BY_PLAN.get(message, {}).get(who["plan"], 0.0) + BY_COUNTRY.get(message, {}).get(who["country"], 0.0)
    return 1 / (1 + math.exp(-odds))


def visit(address: str) -> None:
    """People who click or do not: silence is no click."""
    rng = default_rng()
    waiting: collections.deque[tuple[float, str]] = collections.deque()
    with Client(address, NAME) as client:
        while True:
            who, began = person(rng), time.monotonic()
            try:
                choice = client.choose(context=who)
                if rng.random() < chance(who, choice.name or ""):
                    waiting.append((began + CLICK, choice.id))
                while waiting and waiting[0][0] < time.monotonic():
                    client.reward(waiting.popleft()[1], 1.0)
            except ReticentError:
                time.sleep(1.0)
            time.sleep(max(0.0, rng.exponential(1 / RATE) - (time.monotonic() - began)))
