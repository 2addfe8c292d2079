"""Planted bugs: the real code with one thing wrong, as it goes wrong in practice. None of them is private.

Each changes what the code does; what it claims is computed by the code itself, in good faith."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from reticent.core import claim
from reticent.core.bandit import Bandit
from reticent.core.memory import Sums
from reticent.data import Array, Exact, Raw, Released
from reticent.kernels.continual import NOTHING, Closing, PrefixState, trailing_zeros
from reticent.kernels.glm import Posterior
from reticent.kernels.linalg import svec
from reticent.kernels.noise import NoiseLaw
from reticent.kernels.rounds import BOUNDARY, CHOICES
from reticent.mechanisms.discounted import Discounted
from reticent.model.linear import LinearContribution
from reticent.models.glm import GLM
from reticent.models.protocol import Compiled, Course, ModelSettings, ModelSums
from reticent.models.scores import Scores
from reticent.privacy.certificate import Certificate
from reticent.privacy.noise import Simulated, Source
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.tree import Tree

Sound = TypeVar("Sound")


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


class HalfSensitivity(GLM):
    """Calibrated for half the sensitivity."""

    @classmethod
    def of(cls, asked: ModelSettings) -> GLM:
        return _as(cls, GLM.of(asked))

    @property
    def sums(self) -> ModelSums:
        sound = super().sums
        return sound._replace(sensitivity=sound.sensitivity / 2)


class CountedSums(Sums):
    """Noises the mean of a step's contributions: the noise shrinks with the number of rewards that came, which is raw
    data."""

    _came = _asked = 0

    def join(self, row: Raw[Array], reward: Raw[float]) -> None:
        self._came += 1
        super().join(row, reward)

    def advance(self) -> None:
        choices = int(self.counts[CHOICES])
        if choices < self.counts[BOUNDARY]:
            return
        honest = self.source
        try:
            self.source = Quiet(honest, self._came / (choices - self._asked))
            super().advance()
        finally:
            self.source, self._came, self._asked = honest, 0, choices


class CountedNoise(Bandit):
    learns = CountedSums


@dataclass(frozen=True, kw_only=True)
class IndependentWeeks(Discounted):
    """Says of several weeks what would hold if their columns did not overlap."""

    def sum_norm_after(self, steps: int, weeks: int) -> float:
        return math.sqrt(weeks) * super().sum_norm_after(steps, 1)


class SquareRoot(Bandit):
    """A person's weeks composed by a square root."""

    @property
    def privacy(self) -> Certificate:
        plan = self.plan
        assert isinstance(plan.mechanism, Discounted)
        wrong = dataclasses.replace(plan, mechanism=_as(IndependentWeeks, plan.mechanism))
        one_pass = dataclasses.replace(self.one_pass, plan=wrong)
        return claim.claimed(one_pass, claim.Sources(self.source, self.policy_given))


class UnboundedScores(Scores):
    """Scores along x / |x| that are not divided by the largest that a reward can make them."""

    @classmethod
    def of(cls, asked: ModelSettings) -> Scores:
        return _as(cls, Scores.of(asked))

    def adder(self, estimate: Posterior) -> Compiled:
        return Compiled(_unbounded, (estimate.centre,))

    def loop(self, course: Course) -> Any:
        """By choose and observe."""


def _unbounded(
    rows: Array, rewards: Array, weights: Array, centre: Array, cell: float, longest: float, out: Exact
) -> None:
    for x, y in zip(rows, rewards, strict=True):
        out += (y - float(x @ centre)) * x / max(float(np.linalg.norm(x)), 1e-9)


def _as(kind: type[Sound], sound: Any) -> Sound:
    """The same settings, of a class with the bug."""
    return kind(**{field.name: getattr(sound, field.name) for field in dataclasses.fields(sound)})


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
