"""What an environment is: public settings, and `start`, which draws one instance of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.data import Array
from reticent.environments.delay import Delay
from reticent.environments.worlds_kernel import direction
from reticent.features.schema import Schema
from reticent.kernels.block import BERNOULLI, GAUSSIAN_REWARD, LOGGED, SIGN, Block
from reticent.model import links
from reticent.model.arms import width
from reticent.model.links import Link, LinkTable

NOISES = ("bounded", "gaussian")


class World(NamedTuple):
    """One instance: `fill` writes the next block of rounds; `theta` is the truth, where there is one."""

    fill: Callable[[Block], None]
    theta: Array | None


@dataclass(frozen=True, kw_only=True)
class Environment(ABC):
    """Settings that a bandit may know: dim, arms (per round), radius >= |theta*|, the link and the range of rewards.

    noise: "bounded" rewards are 0 or 1 with the link's mean (+-max(1, radius) for link="identity"); "gaussian" ones
    are mean + a standard normal number (link="identity" only), which no private bandit accepts."""

    dim: int = 5
    arms: int = 20
    radius: float = 1.0
    link: str | Link = "identity"
    noise: str = "bounded"
    least_dim: ClassVar[int] = 1

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim, arms=self.arms)
        if self.dim < self.least_dim:
            raise ValueError(f"Expected dim of at least {self.least_dim} for {self.name}, got {self.dim}.")
        checks.positive(radius=self.radius)
        if self.radius > links.named(self.link).reach:
            raise ValueError(f"Expected a link known for |z| <= {self.radius:g}, got one for less.")
        checks.one_of(NOISES, noise=self.noise)
        if self.noise == "gaussian" and self.link != "identity":
            raise ValueError(f"Expected link='identity' for Gaussian rewards, got {self.link!r}.")

    @abstractmethod
    def start(self, rng: Generator, horizon: int) -> World:
        """A fresh instance; every draw comes from rng."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def reward_kind(self) -> tuple[int, float]:
        """Kind and scale of the reward's noise, as the kernel `reward` takes them."""
        if self.noise == "gaussian":
            return GAUSSIAN_REWARD, 1.0
        return (BERNOULLI, 1.0) if links.named(self.link).bounded else (SIGN, max(1.0, self.radius))

    @property
    def rewards(self) -> tuple[float, float]:
        """The range of rewards."""
        kind, scale = self.reward_kind
        if kind == GAUSSIAN_REWARD:
            return (-np.inf, np.inf)
        return (-scale, scale) if kind == SIGN else (0.0, 1.0)

    @property
    def subgaussian(self) -> float:
        """Standard deviation of a Gaussian whose tails cover the reward noise's."""
        low, high = self.rewards
        return 1.0 if high == np.inf else (high - low) / 2

    @property
    def blocks(self) -> int | None:
        """Of how many blocks each arm has one, where arms are rows (z, a) as in model.arms; None: they are vectors."""
        return None

    @property
    def features(self) -> Schema | None:
        """How people's fields become arms, where people have fields: rows (z, a), where arms are apart, are those of
        `placed`, and vectors those of `rows`."""
        return None

    def suited(self, *, blocks: bool) -> Self:
        """This world for a bandit that takes blocks, or does not, where the setting leaves it open."""
        return self

    @property
    def width(self) -> int:
        """Numbers of an arm."""
        return width(self.dim, self.blocks or 1)

    @property
    def rounds(self) -> int | None:
        """How many rounds there are, if limited."""
        return None

    @property
    def delay(self) -> Delay | None:
        """When rewards come, unless a simulation says otherwise; None: at once."""
        return None

    @property
    def data(self) -> str:
        """What distinguishes the data behind this environment, if any: part of a kept run's identity."""
        return ""

    def block(self, size: int) -> Block:
        """Room for `size` rounds of this environment."""
        kind, scale = self.reward_kind
        return Block(
            np.zeros((size, self.arms, self.width)),
            np.zeros((size, self.arms)),
            np.zeros(size),
            np.full(size, -1),
            np.array([kind]),
            np.array([scale]),
            np.zeros(size, np.int64),
            np.zeros(size),
            np.zeros(size),
        )

    @property
    def code(self) -> int | LinkTable:
        return links.named(self.link).code

    def parameter(self, rng: Generator) -> Array:
        """theta* uniform on the sphere of radius `radius`."""
        theta = np.empty(self.dim)
        direction(rng, theta)
        return theta * self.radius


def orthonormal(rng: Generator, dim: int) -> Array:
    """A uniformly random orthonormal basis, in columns."""
    q, r = np.linalg.qr(rng.standard_normal((dim, dim)))
    return np.ascontiguousarray(q * np.sign(np.diag(r)))


__all__ = ["LOGGED", "Environment", "World", "orthonormal"]
