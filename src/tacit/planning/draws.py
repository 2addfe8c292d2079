"""The settings that are simulated, drawn from RANGES: some to fit, others to see how far off the fit is."""

import math
from typing import Any

from numpy.random import Generator, SeedSequence, default_rng

from tacit.planning import simulations
from tacit.planning.players import noise_of, possible
from tacit.planning.setting import MODELS, RANGES, Setting

PARTS = ("fit", "held-out")  # what is stored; "fresh": for a test
SEEDS = {"fit": 1501, "held-out": 1502, "fresh": 1503}  # settings and runs of two parts have nothing in common
SECONDS = {"fit": 1.2, "held-out": 3.0, "fresh": 3.0}  # for each setting, about
PRECISE = {"fit": 0.02, "held-out": 0.015, "fresh": 0.015}  # a standard error of the share that is small enough


def draw(part: str, number: int) -> Setting:
    """Setting `number` of that part: models take turns; all but the radius on a logarithmic scale, and one round per
    person in half of them. Budgets that a report cannot have (local, far below 0.1 a round) are drawn again."""
    model = MODELS[number % len(MODELS)]
    rng = default_rng(SeedSequence([SEEDS[part], number]))
    while True:
        made = Setting(
            model=model,
            dim=round(_log(rng, *RANGES["dim"])),
            arms=round(_log(rng, *RANGES["arms"])),
            radius=round(float(rng.uniform(*RANGES["radius"])), 2),
            epsilon=float(f"{_log(rng, *RANGES['epsilon']):.3g}"),
            delta=float(f"{_log(rng, *RANGES['delta']):.1g}"),
            rounds_per_person=1 if rng.random() < 0.5 else round(_log(rng, *RANGES["rounds_per_person"])),
        )
        if possible(made):
            return made


def simulate(part: str, number: int) -> dict[str, Any]:
    """A row of the stored simulations."""
    setting = draw(part, number)
    found = simulations.measure(
        setting, seed=[SEEDS[part], number], seconds=SECONDS[part], precise=PRECISE[part], most=300_000
    )
    noise = noise_of(setting)
    return {
        "part": part,
        "number": number,
        **vars(setting),
        "noise": [float(f"{noise.std:.6g}"), *noise[1:]],
        "share": found.share,
        "error": found.error,
    }


def _log(rng: Generator, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))
