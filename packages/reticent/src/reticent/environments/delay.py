"""When rewards come, in simulation: after how many later choices, or never."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from reticent import checks, special
from reticent.data import Array, Integers

NEVER = 2**62  # later choices
LAWS = ("fixed", "exponential", "lognormal")
GRAMMAR = "fixed:COUNT, exponential:MEAN or lognormal:MEDIAN/SPREAD, and after a comma, or alone, never:SHARE"


@dataclass(frozen=True, kw_only=True)
class Delay:
    """How many later choices have been made when a reward comes, whatever the reward is.

    law: "fixed" (`scale` of them), "exponential" (of mean `scale`) or "lognormal" (of median `scale`; its logarithm has
    standard deviation `spread`), rounded down. never: the share of rewards that never come.
    """

    law: str = "fixed"
    scale: float = 0.0
    spread: float = 1.0
    never: float = 0.0

    def __post_init__(self) -> None:
        checks.one_of(LAWS, law=self.law)
        checks.non_negative(scale=self.scale)
        checks.positive(spread=self.spread)
        if not 0 <= self.never <= 1:
            raise ValueError(f"Expected never to be a share in [0, 1], got {self.never!r}.")

    @classmethod
    def read(cls, text: str) -> Self:
        """From words: `exponential:100`, `lognormal:100/1.5,never:0.1`."""
        given: dict[str, float | str] = {}
        for part in text.split(","):
            name, _, rest = part.partition(":")
            try:
                numbers = [float(number) for number in rest.split("/")]
            except ValueError:
                numbers = []
            if name == "never" and "never" not in given and len(numbers) == 1:
                given["never"] = numbers[0]
            elif name in LAWS and "law" not in given and len(numbers) == 1 + (name == "lognormal"):
                given |= {"law": name} | dict(zip(("scale", "spread"), numbers, strict=False))
            else:
                raise ValueError(f"Expected a delay as {GRAMMAR}, got {text!r}.")
        return cls(**given)  # type: ignore[arg-type]

    def __str__(self) -> str:
        """The words that `read` takes."""
        spread = f"/{self.spread:g}" * (self.law == "lognormal")
        return f"{self.law}:{self.scale:g}{spread}" + f",never:{self.never:g}" * (self.never > 0)

    def soon(self, share: float) -> int:
        """A deadline (`hold`) by which at least that share of the rewards that ever come has come."""
        checks.probability(share=share)
        return 1 + int(self._later(np.array(share)))

    def draw(self, rng: Generator, count: int) -> Integers:
        """For so many rounds; how rounds are cut into blocks changes nothing."""
        uniform = rng.random((count, 2))
        out = self._later(uniform[:, 0]).astype(np.int64)
        out[uniform[:, 1] < self.never] = NEVER
        return out

    def _later(self, uniform: Array) -> Array:
        """The law's quantiles."""
        later = np.full(uniform.shape, float(self.scale))
        if self.law == "exponential":
            later *= -np.log1p(-uniform)
        elif self.law == "lognormal":
            with np.errstate(over="ignore"):
                later *= np.exp(self.spread * special.ndtri(uniform))
        out: Array = np.minimum(np.floor(later), NEVER)
        return out
