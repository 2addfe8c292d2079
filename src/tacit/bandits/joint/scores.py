"""JointGLM without curvature (curvature="none"): what is released is d numbers, the sums of scores at public estimates
(model.scores), and the estimate is a multiple of them.

As long as theta is wrong, scores push it: the sum grows until their mean is 0. So noise that was in an earlier release
is undone by the people who come after it, in every direction in which there are some; no estimate of the curvature,
which would be d (d + 1) / 2 numbers with noise of their own, stands between.

theta = eta_k S_k after release k, eta_k = model.scores.pace(std_k, n_k, ...) for noise of std_k in each number of S_k
and the n_k people of the step that follows."""

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit import checks
from tacit.bandits import chances, irls
from tacit.bandits.chances import Values
from tacit.core.choices import Index
from tacit.bandits.joint import covariance
from tacit.bandits.joint.scores_kernel import score_rounds
from tacit.data import Array, Integers, Released
from tacit.kernels.block import Block
from tacit.kernels.formulas import add_score
from tacit.kernels.glm import Posterior
from tacit.kernels.rounds import Range, Schedule, next_boundary
from tacit.kernels.scores import best_rows, follow, unlearnt
from tacit.model.links import Link
from tacit.model.scores import REACH, ScoreContribution, pace, steepness
from tacit.privacy.noise import generator_of

if TYPE_CHECKING:
    from tacit.bandits.joint.glm import JointGLM

STATISTIC = "scores"
# Chosen by regret on tuning seeds (docs/measurements/scores.md); none of them touches privacy.
GROWTH, DISCOUNT = 1.02, 0.997  # of steps
PER_SIGMA = 1.0  # of the noise's std: so many more people in the smallest step
AVERAGE = 0.1  # of the way to the latest estimate that the average of estimates, by which one plays, goes
FRESH = 0.25  # of the std of theta's noise: that of a draw that is added for each choice
CURVATURES = ("auto", "released", "none")
# "auto" releases no curvature from MANY dimensions on; where the horizon is known, from LEAST on and below ENOUGH
# blocks p^1.5 / mu rounds, p the features of an arm: noise of std 1 / mu in p^2 numbers, seen by one in `blocks`.
# Blocks that share nothing have their shape in common, so that far fewer rounds do; MANY is of one block's dimensions.
LEAST, MANY, ENOUGH, ENOUGH_APART = 50, 100, 150.0, 0.5


def check(bandit: "JointGLM") -> tuple[bool, str]:
    """Whether scores alone are released, and why, in words for the certificate where "auto" has chosen; ValueError if
    they cannot be."""
    checks.one_of(CURVATURES, curvature=bandit.curvature)
    if bandit.curvature != "auto":
        if bandit._public and bandit.curvature == "none":
            raise ValueError('Expected curvature="released" with contexts="public", where it has no noise, got "none".')
        return bandit.curvature == "none", ""
    if bandit._public:
        return False, ""
    if bandit.covariance is not None and bandit.dim >= LEAST:
        return True, f"; without curvature, as dimensions are {LEAST} or more and the features' covariance is given"
    return _few_rounds(bandit.dim, bandit._blocks, bandit._shared, bandit.horizon, bandit._mu)


def _few_rounds(dim: int, blocks: int, shared: int, horizon: int | None, mu: float) -> tuple[bool, str]:
    """Whether the rounds to come are too few to learn a curvature through its noise, and a sentence about it. All of it
    is public."""
    apart, own = blocks > 1 and not shared, shared + (dim - shared) // blocks
    if dim < LEAST:
        return False, f"; with curvature, as dimensions are fewer than {LEAST}"
    if horizon is None or (apart and own >= MANY):
        few = (own if apart else dim) >= MANY
        than = f"dimensions{' of a block' if apart else ''} are {f'{MANY} or more' if few else f'fewer than {MANY}'}"
    else:
        enough = (ENOUGH_APART if apart else ENOUGH) * blocks * own**1.5 / mu
        few = horizon < enough
        than = f"the horizon is {'below' if few else 'not below'} {enough:.3g} rounds"
    return few, f"; {'without' if few else 'with'} curvature, as {than}"


def contribution(bandit: "JointGLM", **parts: Any) -> ScoreContribution:
    return ScoreContribution(**parts)


def before(bandit: "JointGLM") -> Posterior:
    known = bandit._known.theta
    return unlearnt(known.ravel().copy() if known.size else np.zeros(bandit.dim))


@functools.lru_cache(maxsize=64)
def _lengths(schedule: Schedule, leaves: int) -> Array:
    """How many choices the step has that opens after k releases; the last number is that of all later ones, too."""
    out: list[float] = []
    at = 0
    while len(out) < leaves and (not out or out[-1] < schedule.longest):
        end = next_boundary(at, *schedule)
        out.append(float(end - at))
        at = end
    return np.array(out)


def steps(stds: Array, lengths: Array, dim: int, radius: float, link: Link, span: float) -> tuple[Array, Array]:
    """eta and the std of a fresh draw after k releases, from the std of each release and the lengths of steps;
    the last numbers are those of all later ones. span: of the rewards, which are shares of it."""
    count = np.arange(max(len(stds), len(lengths)))
    std, length = stds[np.minimum(count, len(stds) - 1)], lengths[np.minimum(count, len(lengths) - 1)]
    etas = pace(std, length, dim, radius, steepness(link, span))
    return etas, FRESH * etas * std


def _paces(bandit: "JointGLM") -> tuple[Array, Array]:
    stds, lengths = bandit.mechanism.sigma * bandit._gains, _lengths(bandit._schedule, bandit.mechanism.leaves)
    if bandit._shape is not None:
        stds, lengths = bandit._shape.noise * stds, bandit._shape.slope * lengths
    low, high = bandit.rewards
    return steps(stds, lengths, len(_here(bandit)), bandit.radius, bandit._link, high - low)


def _here(bandit: "JointGLM") -> Integers:
    """The coordinates that the estimate is of."""
    return bandit._layout.coordinates(bandit._live)


def update(bandit: "JointGLM", released: Released) -> None:
    etas, spreads = _paces(bandit)
    k = min(bandit._steps, len(etas) - 1)
    at = bandit._steps, etas[k], AVERAGE, spreads[k], REACH * bandit.radius, _here(bandit), bandit._known
    learnt = bandit._for_learning(released)
    sums = learnt if bandit._shape is None else covariance.turned(learnt, bandit._shape)
    follow(sums, *at, bandit._state.posterior)


def pick(bandit: "JointGLM", arms: Array) -> Index:
    """The best arm by theta and fresh noise, or a uniformly random one."""
    assert bandit.policy is not None
    posterior, shared = bandit._state.posterior, bandit._shared
    if bandit._random:
        return irls.choose_many(bandit.policy, arms, posterior, random=True)
    out = np.zeros(len(arms), np.int64)
    drawn = bandit.dim if posterior.spread[0] > 0 else 0
    draws = bandit.policy.standard_normal((len(arms), drawn))
    best_rows(arms, posterior, draws, shared + bandit._own_dim, shared, out)
    return out


def learn(bandit: "JointGLM", kept: Array, reward: float) -> None:
    width, shared, c = bandit._shared + bandit._own_dim, bandit._shared, bandit.contribution
    x = kept[: bandit._width]
    start = shared + int(x[-1]) * bandit._own_dim if bandit._blocks > 1 else shared
    at = x[:width], reward, bandit._state.posterior.centre, shared, start
    bandit._add(kept, reward, functools.partial(add_score, *at, c.link.code, c.low, c.high), slice(0, c.size))


def summer(bandit: "JointGLM") -> None:
    return None


def play(bandit: "JointGLM", block: Block) -> bool:
    if bandit._shared:
        return False
    assert bandit.policy is not None
    for part in covariance.parts(bandit, block):
        score_rounds(
            bandit.policy,
            generator_of(bandit.source),
            part,
            bandit._state,
            bandit.mechanism.law,
            *_paces(bandit),
            AVERAGE,
            bandit._schedule,
            Range(*map(float, bandit.rewards)),
            bandit._link.code,
            REACH * bandit.radius,
            _here(bandit),
            bandit._known,
            bandit._shared + bandit._own_dim,
            bandit._shared,
        )
    return True


def values(bandit: "JointGLM", arms: Array, posterior: Posterior) -> Values:
    """A draw that is alike in all directions, along those of the arms alone."""
    arms = _whole(bandit, arms)
    along, _ = np.linalg.qr(arms.T)
    return chances.values(arms, posterior.theta, posterior.spread[0] * along)


def beliefs(bandit: "JointGLM", arms: Array, level: float) -> tuple[Array, Array]:
    """The estimate of <x, theta*>, and as much to both sides as |theta*| <= radius allows. Without a curvature nothing
    else is known of how far the estimate may be off."""
    arms = _whole(bandit, arms)
    middle = arms @ bandit._state.posterior.theta
    return middle, np.abs(middle) + bandit.radius * np.linalg.norm(arms, axis=1)


def _whole(bandit: "JointGLM", arms: Array) -> Array:
    """Arms with their zeros."""
    return bandit._layout.whole(arms) if bandit._blocks > 1 else arms
