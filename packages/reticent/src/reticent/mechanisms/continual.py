"""Continual release of prefix sums: what the mechanisms have in common.

Contributions are added to the open step; closing a step (a leaf) releases the sum of all closed steps with noise.
A mechanism is a factorisation (prefix matrix) = B C. It is as if C x + z were released, z independent noise, and B
applied to it: post-processing. Replacing one contribution moves C x by at most (largest column norm of C) times the
sensitivity D, and Gaussian noise is exactly as private against contributions chosen adaptively (Denisov et al. 2022,
arXiv:2202.08312, Theorem 2.1).

Late contributions: all columns of every C here are non-negative, so a user who contributes v to leaf s in one world
and v' to leaf s' in the other moves C x by
    |c_s|^2 |v|^2 + |c_s'|^2 |v'|^2 - 2 <c_s, c_s'> <v, v'> <= (largest column norm)^2 max(|v - v'|^2, |v|^2 + |v'|^2),
and D^2 >= |v|^2 + |v'|^2 for the contributions of this package: when a reward arrives costs nothing extra.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from reticent import checks
from reticent.data import Array, Exact, Released
from reticent.errors import HorizonReached, NotSecure
from reticent.kernels.continual import (
    NOTHING,
    Closing,
    ContinualState,
    Entering,
    PrefixState,
    close_step,
    draws_needed,
    enter,
    noise_step,
)
from reticent.kernels.noise import NoiseLaw, gaussian_law
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.noise import Source


class RowAdder(Protocol):
    """What adds the contributions of rows (models.protocol.Adder)."""

    def add(self, rows: Array, rewards: Array, cell: float, longest: float, out: Exact) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Continual(ABC):
    """Settings of a mechanism for `leaves` steps of vectors of length `size`, with Gaussian noise of std sigma.

    spacing: the fewest leaves of a week, where what a person did in several is accounted for (mechanisms.together)."""

    leaves: int
    size: int
    sigma: float
    spacing: int = 1

    def __post_init__(self) -> None:
        checks.positive_int(leaves=self.leaves, size=self.size, spacing=self.spacing)
        checks.non_negative(sigma=self.sigma)

    @property
    def law(self) -> NoiseLaw:
        """Of the fresh noise vectors."""
        return gaussian_law(self.sigma)

    @property
    def kind(self) -> Any:
        """Of Grid, where it has one of its own."""
        return None

    @property
    def fading(self) -> float:
        """The factor by which earlier steps fade at each step: 1 for plain prefix sums."""
        return 1.0

    @property
    def window(self) -> int:
        """A release depends on so many of the last leaves, of those that are kept one by one."""
        return self.leaves

    @property
    def column_norm(self) -> float:
        """The largest l2 norm of a column of the encoder over all leaves."""
        return self.column_norm_after(self.leaves)

    def column_norm_after(self, steps: int) -> float:
        """The same over the first `steps` releases: what the user who has been exposed most has been exposed to."""
        return self.sum_norm_after(steps, 1)

    @abstractmethod
    def sum_norm_after(self, steps: int, weeks: int) -> float:
        """The same for the worst sum of columns, one from each of so many weeks."""

    @abstractmethod
    def gain(self, steps: Array) -> Array:
        """Standard deviation of the released prefix at each of `steps`, per unit of sigma."""

    @property
    @abstractmethod
    def memory(self) -> int:
        """Floats of noise state per coordinate."""

    @abstractmethod
    def noise_state(self, source: Source) -> ContinualState:
        """The noise state before the first leaf."""

    def prefix(self, noise: Any, noisy: Released) -> Released:
        """The released prefix that ends with that noisy leaf, the next one; `noise` follows."""
        out = np.zeros(self.size)
        noise_step(noise, noisy[None], out)
        return Released(out)

    def encoder(self) -> Array:
        """The first column of C, where C is lower triangular Toeplitz."""
        raise NotSecure(
            f"Expected a mechanism that can be run on integers, got {type(self).__name__}: its noise is floats only. "
            "For experiments give source=Simulated(seed)."
        )

    @property
    def step(self) -> float:
        """Noise is a multiple of it; 0 where it is floats."""
        return 0.0

    @property
    def capacity(self) -> int | None:
        """How many choices cannot overflow; None where sums are floats."""
        return None

    def sensitivity(self, exact: float, size: int | None = None) -> float:
        """How far replacing a contribution moves a leaf, where the contribution's own bound is `exact`; so many of its
        numbers, where the bound is theirs."""
        return exact

    def numbers(self, steps: int, size: int | None = None) -> int:
        """How many integers of noise `steps` releases draw, at most, for so many numbers; 0 where noise is floats."""
        return 0

    def entry(
        self,
        name: str,
        statistic: str,
        exact: float,
        steps: int,
        rounds: int,
        *,
        size: int | None = None,
        relation: str,
    ) -> GaussianRelease:
        """What the ledger records after `steps` releases, for replacing `rounds` contributions of bound `exact`. size:
        of a part of the vector that has an entry of its own; squares of the parts' distances add up, so that their mu
        compose as those of separate mechanisms do. relation: the neighbours that `exact` is for."""
        return GaussianRelease(
            name,
            statistic,
            self.sensitivity(exact, size),
            self.column_norm_after(steps),
            self.sigma,
            rounds,
            self.step,
            self.numbers(steps, size),
            relation=relation,
        )

    def absorb(self, state: PrefixState, add: Callable[[Exact], None]) -> None:
        """One contribution joins the open step: `add` adds it to the vector that it is given."""
        add(state.open)

    def add(
        self, state: PrefixState, rows: Array, rewards: Array, adder: RowAdder, entering: Entering | None = None
    ) -> None:
        """The contributions of rows join the open step; one whose reward is NaN adds nothing. entering: what moves with
        the sums, where choices enter in the order of their numbers: who is interrupted has added nothing."""
        if entering is None:
            self._sum(rows, rewards, adder, state.open)
        else:
            sums = Exact(state.open.copy())
            self._sum(rows, rewards, adder, sums)
            enter(sums, state.open, entering, len(rewards))

    def _sum(self, rows: Array, rewards: Array, adder: RowAdder, out: Exact) -> None:
        adder.add(rows, rewards, 0.0, 0.0, out)

    def init(self, source: Source) -> PrefixState:
        """The state before the first leaf."""
        zeros, fading = np.zeros(self.size), np.array([self.fading])
        return PrefixState(Exact(zeros.copy()), Exact(zeros.copy()), fading, self.noise_state(source), Released(zeros))

    def release(self, state: PrefixState, source: Source, closing: Closing = NOTHING) -> Released:
        """Close the open step, and what goes with it, and return the new released prefix. Each leaf's noise is drawn
        here, once. Who is interrupted before the end has closed nothing, and has shown nothing of that noise."""
        if state.noise.step[0] >= self.leaves:
            raise HorizonReached(f"Expected at most {self.leaves} steps, and they have all been released.")
        close_step(state, source.rows(draws_needed(state.noise), self.size, self.law), closing)
        return state.released

    def _state(
        self,
        kind: int,
        *,
        levels: int = 0,
        pads: Array | None = None,
        weights: Array | None = None,
        decay: Array | None = None,
        table: Array | None = None,
    ) -> ContinualState:
        none = np.zeros((0, self.size))
        zeros = np.zeros(levels)
        return ContinualState(
            np.array([kind], np.int64),
            np.zeros(1, np.int64),
            np.zeros((levels, self.size)) if pads is None else pads.copy(),
            none if pads is None else pads,
            zeros if weights is None else weights,
            zeros if decay is None else decay,
            none if table is None else table,
        )


def row_norms(decoder: Array, steps: Array) -> Array:
    """Of the rows of B at each of `steps`, B lower triangular Toeplitz with these coefficients and zeros after them."""
    squares = np.concatenate([[0.0], np.cumsum(decoder**2)])
    out: Array = np.sqrt(squares[np.minimum(steps, decoder.size).astype(np.int64)])
    return out
