"""Public settings of worlds as users have them, each drawn from a number."""

import functools
import math
from typing import NamedTuple

from numpy.random import Generator, SeedSequence, default_rng

from reticent.environments.delay import Delay
from reticent.environments.people import Field
from reticent.features.columns import Category, Column, Number

MOST = 150  # numbers of a vector in which each action has a part: references keep its square
ROUNDS = (500, 100_000)
RATES = (0.005, 0.5)
STRENGTHS = (0.3, 1.2)
LINKS, LINK_CHANCES = ("logistic", "probit", "identity"), (0.6, 0.2, 0.2)
ENTROPY = 20_261_118  # beside the number: other draws from small numbers are other numbers


class WorldSetting(NamedTuple):
    """Everything but what a run draws."""

    schema: bool  # people have fields, and actions are disjoint; else arms are vectors
    arms: int
    features: int  # numbers of a person, or of an arm, with the constant
    horizon: int
    rate: float  # mean reward of uniform play
    strength: float  # standard deviation of scores: in units of the link, or of the rate where it is the identity
    link: str  # of the world, and what a bandit is told
    radius: float  # what a bandit is told
    alone: float  # variance of what an action is to everybody, beside that of fields; the share of vectors that stays
    irrelevant: float  # share of the fields or numbers that do not matter
    dependent: float  # how much fields or numbers depend on each other, 0 to 1
    alike: float  # share of its variance that an arm has in common with the others
    wrong: str  # "interaction" of two fields or numbers, or a "bend" of the mean, or "" for neither
    drift: float  # by how many right angles tastes turn within the horizon
    delay: Delay | None
    fields: dict[str, Field]


@functools.cache
def setting(number: int) -> WorldSetting:
    """That of a number."""
    rng = default_rng(SeedSequence([ENTROPY, number]))
    schema = bool(rng.random() < 0.5)
    arms, features, fields = _sizes(rng, schema)
    horizon = round(_between(rng, *ROUNDS))
    rate, strength = _between(rng, *RATES), float(rng.uniform(*STRENGTHS))
    link = LINKS[int(rng.choice(len(LINKS), p=LINK_CHANCES))]
    reach = 1.0 if link == "identity" else abs(math.log(rate / (1 - rate))) / (1.6 if link == "probit" else 1.0)
    guess = float(rng.choice([0.5, 1.0, 2.0]))
    return WorldSetting(
        schema=schema,
        arms=arms,
        features=features,
        horizon=horizon,
        rate=rate,
        strength=strength,
        link=link,
        radius=max(1.0, round(guess * (reach + 2 * strength), 1)),
        alone=float(rng.choice([0.0, 0.1, 0.3])),
        irrelevant=float(rng.choice([0.0, 0.3, 0.6])),
        dependent=float(rng.choice([0.0, 0.5, 0.9])),
        alike=float(rng.choice([0.0, 0.5, 0.9])),
        wrong=_wrong(rng, len(fields) if schema else features - 1),
        drift=float(rng.choice([0.0, 0.0, 0.0, 0.5])),
        delay=_delay(rng, horizon),
        fields=fields,
    )


def _between(rng: Generator, low: float, high: float) -> float:
    """With a uniform logarithm."""
    return float(low * (high / low) ** rng.random())


def _sizes(rng: Generator, schema: bool) -> tuple[int, int, dict[str, Field]]:
    """Arms, features and fields: 2 to 50 and 1 to 30, together few enough to simulate."""
    while True:
        arms = round(_between(rng, 2, 50))
        if not schema:
            return arms, round(_between(rng, 1, 30)), {}
        fields = _fields(rng, int(rng.integers(2, 31)))
        features = 1 + sum(field.column.size for field in fields.values())
        if features <= 30 and arms * features <= MOST:
            return arms, features, fields


def _fields(rng: Generator, numbers: int) -> dict[str, Field]:
    """Categories, numbers with knots and numbers on a line, until there are about so many numbers."""
    out: dict[str, Field] = {}
    while not out or 1 + sum(field.column.size for field in out.values()) < numbers:
        kind = rng.random()
        values: tuple[str, ...] | range
        if kind < 0.5:
            values = tuple(f"value {i}" for i in range(int(rng.integers(2, 7))))
            column: Column = Category(*values)
        else:
            values = range(int(rng.integers(10, 80)))
            column = Number(0, len(values) - 1, bins=int(rng.integers(2, 7)) if kind < 0.8 else 1)
        out[f"field {len(out)}"] = Field(column, values, tuple(rng.exponential(size=len(values)) + 0.1))
    return out


def _wrong(rng: Generator, parts: int) -> str:
    """One alone has nothing to interact with."""
    found = str(rng.choice(["", "", "interaction", "bend"]))
    return "bend" if found == "interaction" and parts < 2 else found


def _delay(rng: Generator, horizon: int) -> Delay | None:
    """In three worlds of ten: 10 choices to a tenth of the horizon, and of some worlds a tenth of rewards never."""
    late, law, scale = (
        rng.random() < 0.3,
        str(rng.choice(["exponential", "lognormal"])),
        _between(rng, 10, horizon / 10),
    )
    never = float(rng.choice([0.0, 0.1]))
    return Delay(law=law, scale=float(round(scale)), never=never) if late else None
