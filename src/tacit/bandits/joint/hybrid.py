"""JointGLM where arms have a part that all share and a part of their own: what is released leaves out the zeros between
two actions (model.hybrid), and the estimate is that of the dense bandit from the rest.

The estimate shrinks each eigenvector of the whole curvature by what is known along it. That is no linear function of
the curvature, so it cannot be had block by block by elimination: it is computed from one matrix of all coordinates that
are in use, once a release. A choice needs products with the asking user's own numbers alone."""

import functools
from typing import TYPE_CHECKING

import numpy as np

from tacit.bandits import irls
from tacit.bandits.chances import Values
from tacit.bandits.choices import Index
from tacit.bandits.joint import curvature
from tacit.data import Array, Integers, Released
from tacit.kernels.block import Block
from tacit.kernels.blocks import thompson_hybrid_rows
from tacit.kernels.glm import Known, Posterior, Tuning, combine, fit_with
from tacit.mechanisms import leaves
from tacit.model.hybrid import Layout
from tacit.model.vectors import packed_size, pair_size

if TYPE_CHECKING:
    from tacit.bandits.joint.glm import JointGLM

STATISTIC, GROWTH, DISCOUNT, PER_SIGMA = (
    curvature.STATISTIC,
    curvature.GROWTH,
    curvature.DISCOUNT,
    curvature.PER_SIGMA,
)
contribution = curvature.contribution


@functools.lru_cache(maxsize=1024)
def places(layout: Layout, block: int) -> tuple[Integers, Integers]:
    """The coordinates of a user in that block, and where what such a user adds is kept."""
    here = layout.coordinates(block)
    return here, layout.places(here)


def before(bandit: "JointGLM") -> Posterior:
    return prior(bandit._layout, bandit.radius, bandit._live, bandit._known, bandit._tuning.explore)


def prior(layout: Layout, radius: float, live: Integers, known: Known, explore: float) -> Posterior:
    """As irls.prior, of the coordinates that are in use; others have the same variance."""
    here = layout.coordinates(live)
    one = irls.prior(len(here), radius, _of(known, here), explore)
    spread, precision = np.zeros(layout.dim), np.full(layout.dim, len(here) / radius**2)
    out = Posterior(
        spread.copy(), spread.copy(), np.eye(layout.dim), precision, spread, np.eye(layout.dim) * radius**2 / len(here)
    )
    _put(one, here, out)
    return out


def update(bandit: "JointGLM", released: Released) -> None:
    fit(bandit._for_learning(released), layout=bandit._layout, **curvature.settings(bandit))


def fit(
    released: Released,
    *,
    scale: float,
    unit: float,
    std: float,
    radius: float,
    tuning: Tuning,
    posterior: Posterior,
    known: Known,
    live: Integers,
    layout: Layout,
) -> None:
    """As irls.update, of the coordinates that are in use; the rest stays as it is."""
    here = layout.coordinates(live)
    one = irls.prior(len(here), radius)
    together = leaves.part(released, slice(None))
    keep = pool(together, layout, live, std)
    whole = leaves.placed(together, layout.places(here))
    fit_with(whole, scale, unit, std, _touched(layout, keep), False, radius, tuning, one)
    if known.theta.size:
        combine(_of(known, here), radius, one)
    posterior.spread[:] = 0.0  # of what is not in use
    _put(one, here, posterior)


def pool(released: Released, layout: Layout, live: Integers, std: float) -> Array:
    """What blocks have to themselves, (s z', z z'), is drawn towards the trace of z z' times the shape that all blocks
    have together, as far as its distance from there may be noise (kernels.blocks.pool); without noise nothing changes.
    Changes `released`, and returns which share of its own noise each block keeps."""
    shared, own = layout.shared, layout.own
    most = shared * own + packed_size(own)
    parts = released[pair_size(shared) :].reshape(layout.blocks, layout.each)
    mine, diagonal = parts[live, :most], shared * own + np.cumsum([0, *range(own, 1, -1)])
    traces = mine[:, diagonal].sum(axis=1)
    if traces.sum() <= 0:  # nothing but noise
        return np.ones(len(live))
    target = np.maximum(traces, 0.0)[:, None] / traces.sum() * mine.sum(axis=0)
    squares = np.sum((mine - target) ** 2, axis=1)
    expected = (most - 1) * std**2
    keep = np.where(squares > expected, 1 - expected / np.maximum(squares, 1e-300), 0.0)
    parts[live, :most] = target + keep[:, None] * (mine - target)
    return keep


def _touched(layout: Layout, keep: Array) -> float:
    """The share of |theta*|^2 that noise in the curvature multiplies, on average over coordinates: all of it in a
    shared one; and in one of a block, for the noise that the block keeps, what is shared and of that block."""
    dim = layout.shared + len(keep) * layout.own
    blocks = layout.own * float(np.sum(keep**2)) * (layout.shared + layout.own) / dim
    return (layout.shared + blocks) / dim


def pick(bandit: "JointGLM", arms: Array) -> Index:
    """As irls.choose_many, for rows (s, z, a)."""
    assert bandit.policy is not None
    posterior = bandit._state.posterior
    if bandit._random:
        return irls.choose_many(bandit.policy, arms, posterior, random=True)
    out = np.empty(len(arms), np.int64)
    draws = bandit.policy.standard_normal((len(arms), np.count_nonzero(posterior.spread)))
    thompson_hybrid_rows(arms, posterior, draws, bandit._shared, out)
    return out


def values(bandit: "JointGLM", arms: Array, posterior: Posterior) -> Values:
    return irls.values(bandit._layout.whole(arms), posterior)


def beliefs(bandit: "JointGLM", arms: Array, level: float) -> tuple[Array, Array]:
    return curvature.beliefs(bandit, bandit._layout.whole(arms), level)


def learn(bandit: "JointGLM", kept: Array, reward: float) -> None:
    x, now = kept[: bandit._width], bandit._state.posterior
    here, part = places(bandit._layout, int(x[-1]))
    inverse = np.ascontiguousarray(now.inverse[np.ix_(here, here)])
    curvature.add(bandit, kept, x[:-1], reward, now.theta[here], inverse, part)


def summer(bandit: "JointGLM") -> None:
    return None


def play(bandit: "JointGLM", block: Block) -> bool:
    return False


def _of(known: Known, here: Integers) -> Known:
    """What is known of these coordinates."""
    return Known(known.theta[here], known.precision[np.ix_(here, here)]) if known.theta.size else known


def _put(one: Posterior, here: Integers, out: Posterior) -> None:
    """A posterior of some coordinates in its place. Its axes have zeros in others."""
    for name in ("theta", "centre", "precision", "spread"):
        getattr(out, name)[here] = getattr(one, name)
    for name in ("axes", "inverse"):
        getattr(out, name)[np.ix_(here, here)] = getattr(one, name)
