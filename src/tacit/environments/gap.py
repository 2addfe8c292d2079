"""One best arm in every round, a gap above all others (Shariff & Sheffet 2018, appendix D)."""

from dataclasses import dataclass

from numpy.random import Generator

from tacit.environments.base import Environment, World
from tacit.environments.worlds_kernel import fill_gap

TOP = 0.75


@dataclass(frozen=True, kw_only=True)
class gap(Environment):
    """Unit arms: one with <x, theta*> = .75 |theta*|, the others uniform where <x, theta*> / |theta*| lies in
    [-.75, .75 - gap]. The gap is in <x, theta*> / |theta*|, before the link."""

    gap: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim < 2:
            raise ValueError(f"Expected dim of at least 2 for gap, got {self.dim}.")
        if not 0 <= self.gap <= 1:
            raise ValueError(f"Expected gap in [0, 1], got {self.gap!r}.")

    def start(self, rng: Generator, horizon: int) -> World:
        theta = self.parameter(rng)
        unit = theta / self.radius
        return World(lambda block: fill_gap(rng, block, unit, TOP, self.gap, theta, self.code), theta)
