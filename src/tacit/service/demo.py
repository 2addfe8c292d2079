"""`tacit serve --demo`: made-up people who ask for a message and click on it some time later, over HTTP."""

import collections
import threading
import time
from pathlib import Path

import numpy as np
from numpy.random import default_rng

from tacit.errors import TacitError
from tacit.service import config as configs
from tacit.service.client import Client
from tacit.service.config import Config

NAME, FILE = "messages", "tacit-demo.db"
ARMS, RATE = 7, 40.0  # people a second
CLICK, HOLD = 3.0, 10.0  # seconds until a click comes, and until a choice counts
TASTE = {"discount": 1.6, "news": 0.5, "picture": 1.1, "long text": -1.9, "seen before": -0.8}  # by feature: not known
DIM = len(TASTE)
PROFILES = {  # whose offers the dashboard shows: features of each message to them
    "Somebody new": {
        "10 % off": [0.9, 0.0, 0.2, 0.1, 0.0],
        "What is new this week": [0.0, 0.9, 0.3, 0.3, 0.0],
        "Our story": [0.0, 0.2, 0.3, 0.9, 0.0],
    },
    "A regular": {
        "10 % off": [0.7, 0.0, 0.2, 0.1, 0.6],
        "What is new this week": [0.0, 0.9, 0.4, 0.1, 0.0],
        "Thank you": [0.1, 0.0, 0.8, 0.2, 0.4],
    },
    "In a hurry": {
        "One line and a picture": [0.1, 0.3, 0.8, -0.4, 0.1],
        "The long read": [0.0, 0.7, 0.1, 0.7, 0.1],
    },
}


def config(folder: Path) -> Config:
    bandit = {
        "kind": "joint-glm",
        "dim": DIM,
        "link": "logistic",
        "radius": 3.0,
        "budget": {"epsilon": 1.0, "delta": 1e-6},
        "durable": FILE,
        "hold": HOLD,
        "population": "made-up",
        "coordinates": list(TASTE),
        "profiles": {name: {"arms": arms} for name, arms in PROFILES.items()},
    }
    return configs.placed(configs.convert({"bandits": {NAME: bandit}}), folder)


def populate(address: str) -> None:
    """In the background, until the process ends."""
    threading.Thread(target=visit, args=(address,), daemon=True, name="tacit made-up people").start()


def visit(address: str) -> None:
    """People whose clicks follow a logistic model that the bandit does not know."""
    rng = default_rng()
    theta = np.array(list(TASTE.values()))
    waiting: collections.deque[tuple[float, str, float]] = collections.deque()
    with Client(address, NAME) as client:
        while True:
            arms = rng.normal(size=(ARMS, DIM))
            arms /= np.linalg.norm(arms, axis=1)[:, None]
            try:
                choice = client.choose(arms)
                clicked = float(rng.random() < 1 / (1 + np.exp(-arms[choice.index] @ theta)))
                waiting.append((time.monotonic() + CLICK, choice.id, clicked))
                while waiting[0][0] < time.monotonic():
                    client.reward(*waiting.popleft()[1:])
            except TacitError:
                time.sleep(1.0)
            time.sleep(rng.exponential(1 / RATE))
