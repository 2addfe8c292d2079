"""What the non-private references for generalised linear rewards share: settings and their checks, units, kappa."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.core.live import Live, certain
from reticent.data import Array
from reticent.errors import NoHorizon
from reticent.kernels.linear import RidgeEstimate
from reticent.kernels.rounds import Range
from reticent.model import links
from reticent.model.glm import unit_reward
from reticent.model.links import Link
from reticent.privacy.certificate import Certificate, plain_certificate

REASON = "This bandit is a non-private reference."


@dataclass(kw_only=True, eq=False)
class Reference(Live):
    """Mean rewards mu(<x, theta*>), and no privacy. Every reward is used at once, so there is no step to close, and
    nothing is drawn, unless a bandit says otherwise."""

    link: str = "logistic"
    radius: float = 1.0
    rewards: tuple[float, float] = (0.0, 1.0)
    width_scale: float = 1.0
    _link: Link = field(init=False, repr=False)

    _propensity = certain

    def _in_units(self, reward: float) -> float:
        return unit(self._link, self.rewards, reward)

    @property
    def _range(self) -> Range:
        """Of rewards, as the kernels take it."""
        return Range(float(self.rewards[0]), float(self.rewards[1]))

    @property
    def privacy(self) -> Certificate:
        return plain_certificate(type(self).__name__, REASON)


def check(bandit: Any, *, horizon: bool = True) -> Link:
    """Checks dim (which a server has of its features), horizon (required where past data is kept), radius, rewards,
    width_scale and failure (1 / horizon where it is None). Returns the link."""
    if isinstance(bandit, Live):
        checks.positive_int(dim=bandit.dim)
        bandit.dim = int(bandit.dim)
    if bandit.horizon is not None:
        checks.positive_int(horizon=bandit.horizon)
    elif horizon:
        raise NoHorizon(f"Expected a horizon for {type(bandit).__name__}, which keeps room for all data, got None.")
    checks.positive(radius=bandit.radius)
    checks.non_negative(width_scale=bandit.width_scale)
    link = links.built_in(bandit.link)
    if link.bounded or hasattr(bandit, "failure"):
        checks.interval(rewards=bandit.rewards)
    if hasattr(bandit, "failure"):
        if bandit.failure is None:
            bandit.failure = 1 / max(2, bandit.horizon or 1000)
        checks.probability(failure=bandit.failure)
    return link


def kappa(link: Link, radius: float, oracle: float | None = None) -> float:
    """1 / (smallest slope): `oracle` if given, else over |z| <= radius, the worst case for |theta*| <= radius."""
    if oracle is None:
        checks.non_negative(radius=radius)
        return 1.0 / float(link.slope(radius))
    checks.positive(oracle_kappa=oracle)
    return oracle


def largest(link: Link, rewards: tuple[float, float]) -> float:
    """R: a bound on |reward| in units of the link."""
    return 1.0 if link.bounded else max(map(abs, rewards))


def unit(link: Link, rewards: tuple[float, float], reward: float) -> float:
    """A reward in units of the link, as the kernels take it."""
    return unit_reward(reward, *rewards, link.code)


def identity_over(dim: int, ridge: float) -> RidgeEstimate:
    """theta = 0, V = ridge I."""
    return RidgeEstimate(np.zeros(dim), np.eye(dim) / ridge, np.array([dim * np.log(ridge)]))


def choose_rows(kernel: Any, arms: Array, *arguments: Any) -> Index:
    """The choices that a kernel writes for (n, K, d) users."""
    out = np.empty(len(arms), np.int64)
    kernel(*arguments, out)
    return out
