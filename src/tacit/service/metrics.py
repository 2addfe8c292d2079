"""What Prometheus may read: public counts and releases. No counter of rewards, none by arm, no latency (it depends on
how many arms a person has, and on how many rewards come), and no collectors of process and garbage (CPU seconds count
rewards)."""

import math
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from tacit.errors import TacitError
from tacit.privacy.relations import REPLACE
from tacit.service.served import Served

LISTED = {
    "tacit_choices": "Choices made so far.",
    "tacit_entered": "Choices that have entered the sums: each does at its deadline.",
    "tacit_choices_left": "Choices until its horizon, or whatever ends it, is used up; 0 if it was retired.",
    "tacit_version": "Releases that choices are made by.",
    "tacit_next_release_after": "The number of choices that have entered when the open step closes.",
    "tacit_epsilon": "The claim at the end of the plan, for these neighbours.",
    "tacit_epsilon_spent": "What the releases so far have cost, for these neighbours.",
    "tacit_delta": "The claim's delta.",
    "tacit_ready": "1 if it serves by its last release.",
}
CLAIMS = ("tacit_epsilon", "tacit_epsilon_spent")  # numbers that say nothing without their neighbours


def text(everyone: Iterable[Served]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    gauges = {
        name: Gauge(name, about, ["bandit", "neighbours"] if name in CLAIMS else ["bandit"], registry=registry)
        for name, about in LISTED.items()
    }
    for one in everyone:
        for name, value in values(one).items():
            labels = (one.name, REPLACE) if name in CLAIMS else (one.name,)
            gauges[name].labels(*labels).set(value)
    return generate_latest(registry)


def values(one: Served) -> dict[str, float]:
    """Nothing but that it is not ready, where its database is away."""
    try:
        one.ready()
        head, privacy, left = one.stored.head, one.certificate(), one.stored.left
        return {
            "tacit_choices": head.choices,
            "tacit_entered": one.stored.entered,
            "tacit_choices_left": math.inf if left is None else left,
            "tacit_version": one.stored.version,
            "tacit_next_release_after": head.boundary,
            "tacit_epsilon": privacy.epsilon or 0.0,
            "tacit_epsilon_spent": privacy.spent or 0.0,
            "tacit_delta": privacy.delta or 0.0,
            "tacit_ready": 1,
        }
    except TacitError:
        return {"tacit_ready": 0}
