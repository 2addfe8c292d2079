"""The share of the attainable reward after so many people: the fitted formula, for a setting of one's own."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.planning import formula
from tacit.planning.formula import Sizes
from tacit.planning.players import noise_of
from tacit.planning.setting import Setting

BANDITS = {"joint": "JointGLM", "shuffle": "ShuffleNewton", "local": "LocalIRLS"}
FITTED: dict[str, Any] = json.loads((Path(__file__).parent / "fitted.json").read_text())  # written by `fit`
LEAST = 1000  # rounds: fewer were not simulated
ERROR: dict[str, Any] = FITTED["error"]


def shares(setting: Setting, people: Sequence[int]) -> list[float]:
    """Of the people who come between n / 2 and n, for each n of `people`, all of whose rounds are learnt from."""
    own = setting.dim, setting.arms, setting.radius, *noise_of(setting)
    sizes = Sizes(*(np.full(len(people), float(number)) for number in own))
    rounds = np.array(people, float) * setting.rounds_per_person
    fitted = np.array(FITTED["models"][setting.model])
    return [float(share) for share in formula.shares(setting.model, fitted, sizes, rounds)]


def needed(setting: Setting, share: float, most: int) -> int | None:
    """The fewest people after whom it is reached, of those that make LEAST rounds at least, or None if more than
    `most`: shares rise with people."""
    if shares(setting, [most])[0] < share:
        return None
    least = math.ceil(LEAST / setting.rounds_per_person)
    if shares(setting, [least])[0] >= share:
        return least
    low, high = float(least), float(most)
    while high / low > 1.005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if shares(setting, [round(middle)])[0] >= share else (middle, high)
    return round(high)


def computed(setting: Setting, people: int) -> bool:
    """Whether that is beyond the rounds that were simulated for such a dimension."""
    reach: list[tuple[int, int]] = FITTED["reach"]
    longest = next((rounds for dim, rounds in reach if setting.dim <= dim), 0)
    return people * setting.rounds_per_person > longest
