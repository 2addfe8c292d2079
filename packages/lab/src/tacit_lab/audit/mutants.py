"""Planted bugs: the real code with one thing wrong, as it goes wrong in practice. None of them is private.

Each changes what the code does; what it claims is computed by the code itself, in good faith."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.bandits import Bandit, JointGLM
from tacit.data import Array, Exact, Raw, Released
from tacit.kernels.continual import NOTHING, Closing, PrefixState, trailing_zeros
from tacit.kernels.linalg import svec
from tacit.kernels.noise import NoiseLaw
from tacit.kernels.rounds import BOUNDARY, CHOICES
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.discounted import Discounted
from tacit.model.linear import LinearContribution
from tacit.privacy.noise import Simulated, Source
from tacit_lab.mechanisms.toeplitz import Toeplitz
from tacit_lab.mechanisms.tree import Tree


class Quiet:
    """A source whose noise is `factor` times as strong as it was asked for (one factor, or one a coordinate)."""

    private = False
    description = "too quiet"

    def __init__(self, source: Source, factor: float | Array) -> None:
        self.source, self.factor = source, np.asarray(factor)

    def rows(self, count: int, size: int, law: NoiseLaw) -> Array:
        out: Array = self.factor * self.source.rows(count, size, law)
        return out


class WrittenSeed(Simulated):
    """Noise from a seed that is written in the program: anyone can draw it again, and subtract it."""

    def __init__(self, _ignored: int = 0) -> None:
        super().__init__(20_210_715)


@dataclass(frozen=True, kw_only=True)
class ForgottenLevel(Tree):
    """Calibrated for one level fewer than a leaf is in."""

    def column_norm_after(self, steps: int) -> float:
        return math.sqrt(max(1, steps.bit_length() - 1))


@dataclass(frozen=True, kw_only=True)
class SilentLevel(Tree):
    """The nodes of one level get no noise."""

    level: int = 1

    def release(self, state: PrefixState, source: Source, closing: Closing = NOTHING) -> Released:
        silent = trailing_zeros(int(state.noise.step[0]) + 1) == self.level
        return super().release(state, Quiet(source, 0.0) if silent else source, closing)


@dataclass(frozen=True, kw_only=True)
class Redrawn(Tree):
    """The noise of every node is drawn again at each release, so that it averages out."""

    def release(self, state: PrefixState, source: Source, closing: Closing = NOTHING) -> Released:
        state.noise.levels[:] = source.rows(self.levels, self.size, self.law)
        return super().release(state, source, closing)


@dataclass(kw_only=True, eq=False)
class HalfSensitivity(JointGLM):
    """Calibrated for half the sensitivity."""

    @property
    def _bound(self) -> float:
        return super()._bound / 2


@dataclass(kw_only=True, eq=False)
class CountedNoise(JointGLM):
    """Noises the mean of a step's contributions: the noise shrinks with the number of rewards that came, which is raw
    data."""

    def __post_init__(self) -> None:
        self._came = self._asked = 0
        super().__post_init__()

    def init(self) -> Any:
        self._came = self._asked = 0
        return super().init()

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        self._came += 1
        super()._join(row, reward)

    def _advance(self) -> None:
        if self._state.counts[CHOICES] < self._state.counts[BOUNDARY]:
            return
        honest = self.source
        try:
            self.source = Quiet(honest, self._came / (self.choices - self._asked))
            super()._advance()
        finally:
            self.source, self._came, self._asked = honest, 0, self.choices


@dataclass(frozen=True, kw_only=True)
class IndependentWeeks(Discounted):
    """Says of several weeks what would hold if their columns did not overlap."""

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return math.sqrt(weeks) * super().sum_norm_after(steps, 1)


@dataclass(kw_only=True, eq=False)
class SquareRoot(JointGLM):
    """A person's weeks composed by a square root."""

    def _with_noise(self, noiseless: Continual, sensitivity: float, mu: float, **options: Any) -> Continual:
        assert isinstance(noiseless, Discounted)
        wrong = IndependentWeeks(**{f.name: getattr(noiseless, f.name) for f in dataclasses.fields(noiseless)})
        return super()._with_noise(wrong, sensitivity, mu, **options)


class UnboundedScores(JointGLM):
    """Scores along x / |x| that are not divided by the largest that a reward can make them."""

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        def add(x: Array, y: float, out: Exact) -> None:
            residual = y - float(x @ self._state.estimate.centre)
            out += residual * x / max(float(np.linalg.norm(x)), 1e-9)

        self._state.prefix.absorb(add, row, reward)

    _play = Bandit._play  # by choose and observe


class UnclippedContribution(LinearContribution):
    """Adds x and y as they come: the sum is clipped later, by `ClippedSum`."""

    def add(self, x: Array, y: float, out: Array) -> None:
        packed = np.empty(self.dim * (self.dim + 1) // 2)
        svec(np.outer(x, x), packed)
        out += np.concatenate([packed, self.scale * y * x])


@dataclass(frozen=True, kw_only=True)
class ClippedSum(Toeplitz):
    """Clips the sum of a step to what its users may contribute together, instead of each contribution."""

    largest: float

    def release(self, state: PrefixState, source: Source, closing: Closing = NOTHING) -> Released:
        norm = float(np.linalg.norm(state.open))
        state.open[:] *= self.largest / max(self.largest, norm)
        return super().release(state, source, closing)
