"""What Prometheus may read: public counts and releases. No counter of rewards, none by arm, no latency (it depends on
how many arms a person has, and on how many rewards come), and no collectors of process and garbage (CPU seconds count
rewards)."""

import math
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from reticent.errors import ReticentError
from reticent.privacy.relations import REPLACE
from reticent_serve.service.served import Served

LISTED = {
    "reticent_choices": "Choices made so far.",
    "reticent_entered": "Choices that have entered the sums: each does at its deadline.",
    "reticent_choices_left": "Choices until its horizon, or whatever ends it, is used up; 0 if it was retired.",
    "reticent_version": "Releases that choices are made by.",
    "reticent_next_release_after": "The number of choices that have entered when the open step closes.",
    "reticent_epsilon": "The claim at the end of the plan, for these neighbours.",
    "reticent_epsilon_spent": "What the releases so far have cost, for these neighbours.",
    "reticent_delta": "The claim's delta.",
    "reticent_ready": "1 if it serves by its last release.",
}
CLAIMS = ("reticent_epsilon", "reticent_epsilon_spent")  # numbers that say nothing without their neighbours


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
            "reticent_choices": head.choices,
            "reticent_entered": one.stored.entered,
            "reticent_choices_left": math.inf if left is None else left,
            "reticent_version": one.stored.version,
            "reticent_next_release_after": head.boundary,
            "reticent_epsilon": privacy.epsilon or 0.0,
            "reticent_epsilon_spent": privacy.spent or 0.0,
            "reticent_delta": privacy.delta or 0.0,
            "reticent_ready": 1,
        }
    except ReticentError:
        return {"reticent_ready": 0}
