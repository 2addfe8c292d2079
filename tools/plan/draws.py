"""The settings that are simulated, drawn from RANGES: some to fit, others to see how far off the fit is."""

import math
from typing import Any, NamedTuple

from numpy.random import Generator, SeedSequence, default_rng

from tacit.planning.players import noise_of, possible
from tacit.planning.setting import MODELS, RANGES, Setting
from tools.plan import simulations


class Part(NamedTuple):
    """Settings and runs of two parts have nothing in common. counts: how many of each model are stored. seconds: for
    each, about. precise: a standard error of the share that is small enough. rough: one above which a setting of the
    local model, whose runs differ most, is simulated three times as long. most: rounds of a run. dim, epsilon: the
    largest. once: the share of settings with one round per person."""

    seed: int
    counts: tuple[int, int, int]
    seconds: float = 3.0
    precise: float = 0.015
    rough: float = 0.025
    most: int = 300_000
    dim: float = RANGES["dim"][1]
    epsilon: float = RANGES["epsilon"][1]
    once: float = 0.5


PARTS = {
    "fit": Part(1501, (42, 48, 86), seconds=1.2, precise=0.02, rough=1.0),
    "noisy": Part(1506, (0, 0, 16), seconds=1.6, precise=0.02, rough=1.0, epsilon=2.0, once=0.0),  # to fit, as well
    "held-out": Part(1502, (67, 67, 67)),
    "long": Part(1505, (1, 1, 1), seconds=12.0, rough=1.0, most=3_000_000, dim=8),
    "fresh": Part(1503, (0, 0, 0)),  # for a test
}


def wanted() -> list[tuple[str, int]]:
    """All that is stored, by part and number: models take turns."""
    counts = {name: dict(zip(MODELS, part.counts, strict=True)) for name, part in PARTS.items()}
    return [
        (name, len(MODELS) * i + j)
        for name, by_model in counts.items()
        for i in range(max(by_model.values()))
        for j, model in enumerate(MODELS)
        if i < by_model[model]
    ]


def draw(part: str, number: int) -> Setting:
    """Setting `number` of that part: all but the radius on a logarithmic scale, and one round per person in half of
    them. Budgets that a report cannot have (local, far below 0.1 a round) are drawn again."""
    rng = default_rng(SeedSequence([PARTS[part].seed, number]))
    while True:
        made = Setting(
            model=MODELS[number % len(MODELS)],
            dim=round(_log(rng, RANGES["dim"][0], PARTS[part].dim)),
            arms=round(_log(rng, *RANGES["arms"])),
            radius=round(float(rng.uniform(*RANGES["radius"])), 2),
            epsilon=float(f"{_log(rng, RANGES['epsilon'][0], PARTS[part].epsilon):.3g}"),
            delta=float(f"{_log(rng, *RANGES['delta']):.1g}"),
            rounds_per_person=1 if rng.random() < PARTS[part].once else round(_log(rng, *RANGES["rounds_per_person"])),
        )
        if possible(made):
            return made


def simulate(name: str, number: int) -> dict[str, Any]:
    """A row of the stored simulations."""
    setting, part = draw(name, number), PARTS[name]
    how: dict[str, Any] = {"seed": [part.seed, number], "precise": part.precise, "most": part.most}
    found = simulations.measure(setting, seconds=part.seconds, **how)
    if setting.model == "local" and max(found.error) > part.rough:
        found = simulations.measure(setting, seconds=3 * part.seconds, **how)
    noise = noise_of(setting)
    return {
        "part": name,
        "number": number,
        **vars(setting),
        "noise": [float(f"{noise.std:.6g}"), *noise[1:]],
        "share": found.share,
        "error": found.error,
    }


def _log(rng: Generator, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))
