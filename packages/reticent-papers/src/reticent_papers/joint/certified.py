"""What is proven about theta* from what a JointGLM has released, and what follows for its regret.

`Bandit.interval` is measured; this is a theorem (docs/proofs/one-pass.md has the proof and the letters), and much
wider. Everything here is a function of released sums, public estimates and public settings."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from reticent import checks
from reticent.core.bandit import Bandit
from reticent.data import Array
from reticent.kernels.linalg import smat
from reticent.kernels.rounds import BOUNDARY, Schedule, next_boundary
from reticent.mechanisms.discounted import Discounted
from reticent.model.links import IDENTITY, built_in, kind, softness
from reticent.models.glm import GLM
from reticent.process import owner_only
from reticent_papers.joint.shapes import SHAPES

POINTS = 200  # |z| of estimates, from 0 to the largest: bounds hold between the points, too
SHARES = (0.0, 0.05, 0.5)  # of all choices, the first ones, that a confidence set may leave out
RIDGE = 4.0  # of the mixture in the self-normalised bound


class Step(NamedTuple):
    """PUBLIC: one step, and what its users' contributions were linearised at."""

    choices: int  # that came, which may be more than planned: a batch is not divided
    planned: int  # by the schedule, from the first choice on: known before anybody came
    released: Array  # at its end, as the mechanism gives it
    std: float  # of the noise in it
    theta: Array
    variance: float  # the largest eigenvalue of the estimate's covariance
    spread: float  # |standard deviations| of the draws that its users explored by


class Certified(NamedTuple):
    """theta* is in {theta: |theta - centre| <= radius, (theta - centre)' matrix (theta - centre) <= size^2}."""

    centre: Array
    radius: float
    matrix: Array
    size: float

    def half_width(self, x: Array) -> float:
        """The most by which <x, theta*> can differ from <x, centre>."""
        bound = self.radius * float(np.linalg.norm(x))
        if self.size < math.inf:
            bound = min(bound, self.size * math.sqrt(max(0.0, float(x @ np.linalg.solve(self.matrix, x)))))
        return bound

    def holds(self, theta: Array) -> bool:
        d = theta - self.centre
        return bool(np.linalg.norm(d) <= self.radius and (self.size == math.inf or d @ self.matrix @ d <= self.size**2))


class Lines(NamedTuple):
    """How the straight lines of the users of a window lie to the link."""

    flat: float  # g: chords of the link are at least so many times as steep as they are
    light: float  # the smallest m k w
    errors: Array  # of each step: the most by which a line misses the link at the centre, over m


@dataclass
class Trail:
    """Follows a JointGLM from its beginning: call `look` once in every step, after at least one choice in it.

    Guarantee: with probability 1 - failure, over rewards and noise, every set that `certified` returns holds theta*, if
    rewards in their range have mean mu(<x, theta*>) given the past, shortest <= |x| <= 1, |theta*| <= radius, and come
    before their step ends, or never, whatever they are. Batches (`choose_many`) may have any size, which may
    depend on the past. Then `regret`, after any step, is at least the regret of its users and of those before, expected
    over the exploring draws."""

    bandit: Bandit
    failure: float = 0.05
    shortest: float = 0.0  # norm of an arm, if that is known: sets are smaller then
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        checks.probability(failure=self.failure)
        checks.non_negative(shortest=self.shortest)
        b = self.bandit
        self._reward, mechanism = b.plan.reward, b.plan.mechanism
        built_in(self._reward.link)
        if b.features is not None or self._reward.window is not None:
            raise ValueError("Expected a JointGLM with dense arms and without a window, got another.")
        model = b.one_pass.learnt
        if not isinstance(model, GLM):
            raise ValueError("Expected curvature and moment of each user in the released sums, got others.")
        if not isinstance(getattr(mechanism, "real", mechanism), Discounted):
            raise ValueError(f"Expected exact discounted sums, got those of {type(mechanism).__name__}.")
        self._user = model.contribution
        self._unit = 1.0 if self._user.link.bounded else max(map(abs, self._reward.range))
        self.regret = 0.0
        self._lock, self._own = b._lock, b._own
        with self._lock:
            steps = b.sums.steps
            if steps:
                raise ValueError(f"Expected a JointGLM that has released nothing, got one with {steps} releases.")
            self._open = self._now()

    @owner_only
    def look(self) -> None:
        """Note what the last step has released, if one has ended since."""
        plan, sums = self.bandit.plan, self.bandit.sums
        steps = sums.steps
        if steps == len(self.steps):
            return
        if steps != len(self.steps) + 1:
            raise ValueError(f"Expected a look in every step, got one after {steps - len(self.steps)} steps.")
        if steps > plan.mechanism.window:
            raise ValueError(f"Expected at most {plan.mechanism.window} steps, after which sums are cut, got more.")
        choices = opened(int(sums.counts[BOUNDARY]), plan.schedule) - sum(step.choices for step in self.steps)
        before = sum(step.planned for step in self.steps)
        planned = next_boundary(before, *plan.schedule) - before
        theta, variance, spread = self._open
        self.regret += choices * self._promised(theta, spread)
        std = self.bandit.one_pass.course.std(steps)
        self.steps.append(Step(choices, planned, sums.released.copy(), std, theta, variance, spread))
        self._open = self._now()

    def _now(self) -> tuple[Array, float, float]:
        posterior = self.bandit.sums.state.estimate
        variance = float(np.linalg.eigvalsh(posterior.inverse)[-1])
        return posterior.theta.copy(), variance, float(np.linalg.norm(posterior.spread))

    def _promised(self, theta: Array, spread: float) -> float:
        """Of one user who plays the best arm by theta and a draw: mu(best) - mu(chosen) <= 2 (steepest slope)
        (|theta* - theta| + |draw|), since arms have norm at most 1."""
        (low, high), radius = self._reward.range, self._reward.radius
        span = high - low if self._user.link.bounded else 1.0
        most = span if self._user.link.bounded else 2 * radius
        if not self.steps:
            return most
        found = self.certified()
        far = min(radius + float(np.linalg.norm(theta)), found.radius + float(np.linalg.norm(found.centre - theta)))
        return min(most, 2 * span * self._user.link.steepest * (far + spread))

    @owner_only
    def certified(self) -> Certified:
        """The smallest set among those that leave out some of the first steps: all of them hold at once."""
        if not self.steps:
            d = self.bandit.plan.dim
            return Certified(np.zeros(d), self._reward.radius, np.eye(d), math.inf)
        counts = np.cumsum([0, *(step.choices for step in self.steps)])
        firsts = {int(np.searchsorted(counts, share * counts[-1])) for share in SHARES} - {len(self.steps)}
        found = [self._around(first, theta) for first in sorted(firsts) for theta in (None, self._open[0])]
        return min(found, key=lambda one: one.radius)

    def _around(self, first: int, centre: Array | None) -> Certified:
        """From steps first + 1, ..., t, around that centre, or the one that solves their equations."""
        plan, t, window = self.bandit.plan, len(self.steps), self.steps[first:]
        d, fading, sums, std = plan.dim, plan.mechanism.fading, window[-1].released, window[-1].std
        (low, high), most = self._reward.range, self._reward.radius
        if first:
            old, rest = self.steps[first - 1], fading ** (t - first)
            sums, std = sums - rest * old.released, std + rest * old.std
        smat(np.ascontiguousarray(sums[:-d]), gram := np.empty((d, d)))
        gram, moment = gram / self._user.scale, self._unit * sums[-d:]
        if centre is None:
            centre = np.asarray(np.linalg.lstsq(gram, moment, rcond=None)[0])
            centre = centre * min(1.0, most / max(float(np.linalg.norm(centre)), 1e-300))
        length, lines = float(np.linalg.norm(centre)), self._lines(window, centre)
        u = math.sqrt(2 * math.log(6 * t * t * (t + 1) / self.failure))
        weights = fading ** np.arange(len(window) - 1, -1, -1.0)
        choices, planned = (np.array([step[i] for step in window], float) for i in (0, 1))
        rounded = getattr(plan.mechanism, "cell", 0.0) / 2 * math.sqrt(self._user.size) * float(weights @ choices)
        noise = (std * (math.sqrt(2 * d) + u) + rounded) / self._user.scale
        others = float(np.linalg.norm(moment - gram @ centre)) + float(weights * choices @ lines.errors)
        others += self._unit * (std * (math.sqrt(d) + u) + rounded) + noise * length
        matrix = gram - noise * np.eye(d)
        least, radius = float(np.linalg.eigvalsh(matrix)[0]), most + length
        if least <= 0:
            return Certified(centre, radius, matrix, math.inf)
        sub = 0.5 if self._user.link.bounded else (high - low) / 2  # of a reward
        expected, came = float(weights**2 @ planned), float(weights**2 @ choices)
        if np.all(choices <= planned):
            drift = math.sqrt(expected) * (math.sqrt(d) + u)
        else:
            drift = math.sqrt((expected + came) * (d * math.log1p(came / expected) + u * u))
        pull = others + (2 * sub if self._user.link.bounded else sub) * drift
        radius = min(radius, pull / (lines.flat * least))
        size = math.sqrt(radius * pull / lines.flat)
        if self.shortest:
            heavy = 1 / (lines.light * self.shortest)
            above = heavy * (gram + noise * np.eye(d)) + RIDGE * np.eye(d)
            width = sub * math.sqrt(float(np.linalg.slogdet(above)[1]) - d * math.log(RIDGE) + u * u)
            along = math.sqrt(heavy * (1 + 2 * noise / least)) * width
            size = min(size, (along + (others + math.sqrt(RIDGE) * width) / math.sqrt(least)) / lines.flat)
            radius = min(radius, size / math.sqrt(least))
        return Certified(centre, radius, matrix, size)

    def _lines(self, window: list[Step], centre: Array) -> Lines:
        """Functions of |z| that rise or fall are taken at the end of each interval where the bound is safe."""
        if kind(self._user.link.code) == IDENTITY:
            return Lines(1.0, 1.0, np.zeros(len(window)))
        mean, slope, _ = SHAPES[self._user.link.name]
        blend = self._user.blend

        def steep(v: Array) -> Array:  # w, of a user's line, as model.glm.line has it: falls with v >= 0
            chord = np.where(v > 1e-6, (mean(v) - 0.5) / np.maximum(v, 1e-6), self._user.link.steepest)
            share = blend * 4 * mean(v) * (1 - mean(v))
            return (1 - share) * slope(v) + share * chord

        theta = np.stack([step.theta for step in window])
        z = np.linalg.norm(theta, axis=1)[:, None] * np.linspace(0, 1, POINTS + 1)
        low, high = z[:, :-1], z[:, 1:]
        apart = np.linalg.norm(centre - theta, axis=1)[:, None]
        variances = np.array([step.variance for step in window])[:, None]
        softest = 1 / np.sqrt(1 + softness(self._user.link.code) * variances)  # k is at least this
        most, fewest = steep(softest * low), softest * steep(high)  # k w lies between them
        level = mean(softest * low) - steep(softest * low) * softest * low  # m: the line's value at 0, rises with v
        end = np.array(self._reward.radius)
        reach = np.minimum(np.minimum(high + apart, float(np.linalg.norm(centre))), end)
        chord = np.where(end - reach > 1e-6, (mean(end) - mean(reach)) / np.maximum(end - reach, 1e-6), slope(end))
        above = slope(np.maximum(low - apart, 0)) - fewest
        below = most - slope(high + apart)
        wrong = apart * np.maximum(np.maximum(above, below), 0) + (1 - softest) * high * slope(softest * low)
        return Lines(float(np.min(chord / most)), float(np.min(level * fewest)), np.max(wrong / level, axis=1))


def opened(boundary: int, schedule: Schedule) -> int:
    """The choice count at which a step that closes there was opened: `next_boundary` rises with it, by 1 at least."""
    return bisect_right(range(boundary), boundary, key=lambda choices: next_boundary(choices, *schedule)) - 1
