"""JointGLM with a released curvature: one-pass iteratively reweighted least squares (model.glm), dense or in blocks."""

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import special
from tacit.bandits import irls
from tacit.bandits.chances import Values
from tacit.core.choices import Index
from tacit.bandits.joint import covariance
from tacit.bandits.joint.glm_kernel import glm_block_rounds, glm_rounds
from tacit.bandits.joint.summing import Cells, GLMSummer, Summer
from tacit.data import Array, Released
from tacit.kernels.block import Block
from tacit.kernels.formulas import add_glm
from tacit.kernels.glm import Posterior
from tacit.kernels.rounds import Range
from tacit.mechanisms.grid import Grid
from tacit.model.glm import GLMContribution, balanced_curvature
from tacit.model.public import RewardContribution
from tacit.privacy.noise import generator_of
from tacit.privacy.relations import ZERO_OUT

if TYPE_CHECKING:
    from tacit.bandits.joint.glm import JointGLM

STATISTIC = "weighted x x' and x"
# Chosen, with kernels.glm.Tuning, among some 100 settings by regret on tuning seeds (docs/measurements/joint-glm.md;
# the single runs were not kept); none of them touches privacy.
BLEND = 0.85  # of tangent and chord (model.glm.line), where there is noise: without, only tangents settle on the truth
NOISY = 4  # the mu (of mu-GDP) up to which there is noise enough for all of it
CURVATURE_SHARE = 0.136  # see balanced_curvature
GROWTH = 1.03  # of steps
DISCOUNT = 0.995  # of earlier steps, at each step
PER_SIGMA = 2.5  # of the noise's std: so many more people in the smallest step
# Intervals cover at least 96 % at level .9 in six environments, T = 5000 and 50000.
WIDENING = 2.2  # of their standard deviations
BEYOND = 0.2  # the share by which an end above 0 is moved up, and one below 0 down: with chords, estimates fall short


def blend(bandit: "JointGLM") -> float:
    """Where preferences change (`forget`), contributions are linearised by the tangent: what is expected weighs little
    then, and what surprises much."""
    return BLEND * min(1.0, NOISY / bandit._mu) if bandit._link.odd and bandit.forget is None else 0.0


def contribution(bandit: "JointGLM", **parts: Any) -> GLMContribution:
    reach, apart = bandit.radius / bandit._unit, 1.0 if bandit.budget.adjacency == ZERO_OUT else 2.0
    scale = balanced_curvature(bandit._link, reach, share=CURVATURE_SHARE, apart=apart)
    return GLMContribution(**parts, blend=blend(bandit), scale=scale)


def before(bandit: "JointGLM") -> Posterior:
    own, radius, known, explore = bandit._own_dim, bandit.radius, bandit._known, bandit._tuning.explore
    if bandit._blocks > 1:
        return irls.prior_of_blocks(own, radius, bandit._blocks, bandit._live, known, explore)
    return irls.prior(own, radius, known, explore)


def update(bandit: "JointGLM", released: Released) -> None:
    learnt, options = bandit._for_learning(released), settings(bandit)
    if bandit._shape is not None:
        learnt, options["scale"] = covariance.drawn(bandit, learnt, bandit._shape)
    irls.update(learnt, **options)


def settings(bandit: "JointGLM") -> dict[str, Any]:
    """What an estimate depends on beside what was released."""
    return {
        "scale": bandit.contribution.scale,
        "unit": bandit._unit,
        "std": bandit._std(),
        "radius": bandit.radius,
        "tuning": bandit._tuning,
        "known": bandit._known,
        "live": bandit._live,
        "posterior": bandit._state.posterior,
    }


def pick(bandit: "JointGLM", arms: Array) -> Index:
    assert bandit.policy is not None
    return irls.choose_many(bandit.policy, arms, bandit._state.posterior, random=bandit._random)


def values(bandit: "JointGLM", arms: Array, posterior: Posterior) -> Values:
    return irls.values(arms, posterior)


def beliefs(bandit: "JointGLM", arms: Array, level: float) -> tuple[Array, Array]:
    widths = WIDENING * float(special.ndtri((1 + level) / 2))
    middle, half = irls.beliefs(arms, bandit._state.posterior, widths)
    low, high, beyond = middle - half, middle + half, BEYOND if blend(bandit) else 0.0
    low, high = low + beyond * np.minimum(low, 0.0), high + beyond * np.maximum(high, 0.0)
    return (low + high) / 2, (high - low) / 2


def learn(bandit: "JointGLM", kept: Array, reward: float) -> None:
    c, x, now = _own(bandit), kept[: bandit._width], bandit._state.posterior
    if bandit._blocks > 1:
        a = int(x[-1])
        add(bandit, kept, x[:-1], reward, now.theta[a], now.inverse[a], c.part(a))
    else:
        add(bandit, kept, x, reward, now.theta, now.inverse, slice(0, c.size))


def add(bandit: "JointGLM", kept: Array, x: Array, reward: float, theta: Array, inverse: Array, part: Any) -> None:
    """A user of features x joins the open step in that part of the sums, linearised at this estimate."""
    c = _own(bandit)
    own = functools.partial(add_glm, x, reward, theta, inverse, c.link.code, c.blend, c.scale, c.low, c.high)
    bandit._add(kept, reward, own, part)


def summer(bandit: "JointGLM") -> Summer | None:
    if not isinstance(bandit.mechanism, Grid):
        return None
    c, now, own = _own(bandit), bandit._state.posterior, bandit._own_dim
    theta, inverse = now.theta.reshape(-1, own).copy(), now.inverse.reshape(-1, own, own).copy()
    cells = Cells.of(bandit.mechanism, c.size)
    return GLMSummer(theta, inverse, c.link.code, c.blend, c.scale, c.low, c.high, cells)


def play(bandit: "JointGLM", block: Block) -> bool:
    for part in covariance.parts(bandit, block):
        played(bandit, part, _own(bandit), 0.0)
    return True


def played(bandit: "JointGLM", block: Block, c: GLMContribution | RewardContribution, longest: float) -> None:
    """The rounds of a block in one compiled loop."""
    assert bandit.policy is not None
    given = (
        bandit.policy,
        generator_of(bandit.source),
        block,
        bandit._state,
        bandit.mechanism.law,
        bandit._gains,
        bandit._schedule,
        Range(*map(float, bandit.rewards)),
        c.link.code,
        c.blend,
        longest,
        c.scale,
        bandit._unit,
        bandit.radius,
        bandit._tuning,
        bandit._known,
    )
    if bandit._blocks > 1:
        glm_block_rounds(*given, bandit._live)
    else:
        glm_rounds(*given)


def _own(bandit: "JointGLM") -> GLMContribution:
    assert isinstance(bandit.contribution, GLMContribution)
    return bandit.contribution
