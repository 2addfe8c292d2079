"""Our own: generalised linear bandits under joint privacy, by one-pass private IRLS."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit import checks
from tacit.bandits import chances, irls, known
from tacit.bandits.choices import Index
from tacit.bandits.joint import covariance, curvature, forgetting, hybrid, public, scores
from tacit.bandits.joint.continual import steps_before
from tacit.bandits.joint.earning import EarningBandit
from tacit.bandits.joint.glm_kernel import GLMState
from tacit.bandits.joint.personal import FARTHEST
from tacit.bandits.joint.summing import Summer
from tacit.bandits.joint.ways import Way
from tacit.bandits.persons import LEARNS, SILENT
from tacit.data import Array, Released
from tacit.kernels.block import Block
from tacit.kernels.blocks import BLOCKS
from tacit.kernels.continual import Also
from tacit.kernels.glm import Posterior, Tuning
from tacit.lock import requires_durable
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.leaves import gains_after
from tacit.mechanisms.recursive import discounted
from tacit.model import links
from tacit.model.arms import Arms
from tacit.model.chances import Chance, Later
from tacit.model.hybrid import Layout
from tacit.model.links import Link
from tacit.privacy import ledger
from tacit.privacy.ledger import GaussianRelease

FEWEST = 8  # users in the smallest step, beside those for each unit of the noise's std
CHANGING = Tuning(ridge=1.5)  # with `forget`: a smaller ridge learns what is new sooner


@dataclass(kw_only=True, eq=False)
class JointGLM(EarningBandit):
    """Rewards with mean mu(<x, theta*>): each user's datum is used once, linearised at the public estimate, summed
    within steps that grow geometrically, and released with noise that does not grow; exploration is a Thompson draw in
    directions that were sampled too little.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: the whole
    run is one Gaussian mechanism on bounded contributions, and what is shown to each user is a function of its
    releases, that user's own arms and fresh randomness. No horizon is needed: the noise stays bounded.
    Regret: measured (docs/joint-glm.md); what is proven is in docs/proofs/one-pass.md.
    Reference: none; the saturating weights and the one pass are ours. Discounted square-root Toeplitz: see Discounted.
    Departure: none.

    curvature: "released", or "none": scores alone, d numbers a release (joint.scores). "auto", the default, takes the
    second for many dimensions and, where the horizon is known, few rounds. The certificate says which, and why.
    first: the smallest step, and how many users get random arms; by default 8 + 2.5 sigma, so that a step says more
    than its noise.
    blocks: into how many parts of equal length arms are divided, if each arm has zeros in all but one; with features of
    disjoint arms, as many as there are actions. An arm then is a row (z, a): the dim / blocks numbers of its part, and
    the number of the part. Sums, noise and work are those of the parts alone (GLMContribution).
    shared: how many coordinates, the first ones, all arms have beside their parts: an arm is a row (s, z, a) then; so
    it is with features of hybrid arms. Sums and noise are those of model.hybrid (docs/problem.md).
    forget: after so many rounds, or "30 days" of `per_day` choices that are expected, what was learnt counts 1 / e, for
    ever (docs/change.md). Without it the past fades ever more slowly, in proportion to its length: for preferences that
    do not change.
    tuning: of the estimate; its default depends on whether there are blocks, and whether anything is forgotten.
    max_rounds_per_person: the noise is made for replacing a person in so many rounds; the shifts of k rounds add up to
    at most k D times the column norm, which k equal changes in one step attain. What goes with it: see ContinualBandit.
    source: of noise. Secure by default; Simulated(seed) for experiments.
    policy: what Thompson draws come from; by default fresh, seeded by the operating system.
    link: "logistic", "probit", "identity", or one of your own (`tacit.model.links.given`).
    prior: (theta, precision), what is known about theta* from elsewhere; precision: a number or a (d, d) matrix.
    warm: (features, rewards), rows as in `choose` or (n, d), and rewards, of people whose data is public. Neither is
    protected (`known`).
    covariance: of features, public: a (p, p) matrix, or rows of p features without rewards, p = dim / blocks. Its shape
    alone counts (joint.covariance).
    contexts: "public" where features and offered arms are no secret: rewards alone are protected, and whether and when
    they came, with much less noise (joint.public, docs/problem.md).
    rewards: their range; the mean is low + (high - low) mu(z), and z for identity.
    """

    link: str | Link = "logistic"
    rewards: tuple[float, float] = (0.0, 1.0)
    blocks: int | None = None
    shared: int | None = None
    contexts: str = public.PRIVATE
    first: int | None = None
    curvature: str = "auto"
    growth: float | None = None
    discount: float | None = None
    forget: float | str | None = None
    tuning: Tuning | None = None
    policy: Generator | None = field(default=None, repr=False)
    prior: Any = field(default=None, repr=False)
    warm: Any = field(default=None, repr=False)
    covariance: Any = field(default=None, repr=False)
    _state: GLMState = field(init=False, repr=False)
    _counts_answers = True
    _lengths = ("week", "forget")
    _frozen: tuple[int, Posterior] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self.first is not None:
            checks.positive_int(first=self.first)
        if self.tuning is None:
            apart, whole = self._blocks > 1 and not self._shared, hybrid.HYBRID if self._shared else Tuning()
            self.tuning = BLOCKS if apart else whole if self.forget is None else CHANGING
        self.tuning = irls.as_tuning(Tuning, self.tuning)
        self._public = public.check(self)
        self._scores, self._why = scores.check(self)
        self.growth = self._way.GROWTH if self.growth is None else self.growth
        self.discount = self._way.DISCOUNT if self.discount is None else self.discount
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        self._link = links.named(self.link)
        if self.radius > self._link.reach:
            raise ValueError(f"Expected a link known for |z| <= {self.radius:g}, got one for {self._link.reach:g}.")
        low, high = self.rewards
        self._unit = 1.0 if self._link.bounded else max(abs(low), abs(high))
        parts: dict[str, Any] = {"low": low, "high": high, "blocks": self._blocks, "shared": self._shared}
        self.contribution = self._way.contribution(self, dim=self.dim, link=self._link, **parts)
        self._open_purse(self.contribution.size, self._bound(self.contribution))
        form: dict[str, Any] = {"dim": self.dim, "blocks": self._blocks, "shared": self._shared}
        means: dict[str, Any] = {"link": self._link, "rewards": (low, high), "radius": self.radius, "unit": self._unit}
        self._known = known.knowledge(self.prior, self.warm, live=len(self._live), **form, **means)
        self._shape = covariance.shape(self)
        given = self.first
        forgetting.check(self._forget, self._shortest if given is None else lambda _: given)
        self.first = self._shortest(self._forget) if given is None else given
        self.mechanism = self._mechanism(self.first, self._forget)
        self._gains = self.mechanism.gain(np.arange(self.mechanism.window + 1.0))  # and as the last one for ever
        self.epsilon = ledger.check(self._planned(), self.budget)
        self._policy_given = self.policy is not None
        self.policy = self.policy or default_rng()
        super().__post_init__()

    @property
    def _way(self) -> Way:
        """How it learns."""
        if self._scores:
            return scores
        if self._public:
            return public
        return hybrid if self._shared else curvature

    @property
    def _tuning(self) -> Tuning:
        assert self.tuning is not None
        return self.tuning

    @property
    def _forget(self) -> float | None:
        assert not isinstance(self.forget, str)
        return self.forget

    def _shortest(self, forget: float | None) -> int:
        """Choices in a step that says more than its noise."""
        return FEWEST + math.floor(self._way.PER_SIGMA * self._mechanism(FEWEST, forget).sigma)

    def _mechanism(self, first: int, forget: float | None) -> Continual:
        """The mechanism for steps of at least `first` choices, with the noise that the budget asks for."""
        assert self.growth is not None and self.discount is not None
        steps = self._schedule = forgetting.schedule(first, self.growth, forget)
        leaves = 1 + steps_before(self.horizon or FARTHEST, steps)
        fading = forgetting.discount(steps, forget, self.discount)
        columns = self._columns(steps)
        noiseless = discounted(leaves=leaves, size=self._size, discount=fading, **columns)
        return self._with_noise(noiseless, self._sensitivity, self._mu)

    def _releases(self, steps: int) -> tuple[GaussianRelease, ...]:
        numbers = self._numbers(self.contribution.size)
        statistic = f"discounted sums of {self._way.STATISTIC}, {numbers}, each user once{self._why}"
        if self._forget is not None:
            statistic += f", forgotten in {self._forget:g} rounds"
        return self._entries(statistic, steps)

    # the algorithm

    def init(self) -> GLMState:
        self._filled = None
        prefix, before = self.mechanism.init(self.source), self._way.before(self)
        return GLMState(self._opened(2), prefix, before, public.sums(self))

    def _reestimate(self) -> None:
        if self._steps:
            self._update(self._state.prefix.released)
        else:
            for part, new in zip(self._state.posterior, self._way.before(self), strict=True):
                part[...] = new
            self._frozen = None

    @property
    def _random(self) -> bool:
        """Whether arms are random: nothing was released, and nothing is known from elsewhere."""
        return self._steps == 0 and not self._known.theta.size

    def _told(self) -> tuple[str, ...]:
        told = *known.sentences(self.prior, self.warm), *[covariance.TOLD] * (self.covariance is not None)
        return (*super()._told(), *told, *[public.TOLD] * self._public)

    def _update(self, released: Released) -> None:
        self._way.update(self, released)
        self._frozen = None

    def _also(self) -> Also:
        return super()._also()._replace(open=self._state.public.open, closed=self._state.public.closed)

    @property
    def _keeps(self) -> int:
        return super()._keeps + self._public

    def _counted(self, x: Array) -> Array:
        return public.counted(self, x) if self._public else x

    def _ticket(self, x: Array, mark: bytes = LEARNS) -> int:
        return super()._ticket(np.zeros(self._keeps) if mark == SILENT else self._counted(x), mark)

    def _std(self) -> float:
        return self.mechanism.sigma * float(self._gains[min(self._steps, len(self._gains) - 1)])

    def _prior_noise(self, std: float) -> None:
        self._gains = gains_after(self._gains, std / self.mechanism.sigma, self.mechanism.fading)

    def _pick(self, features: Array) -> Index:
        return self._way.pick(self, features)

    @functools.cached_property
    def _layout(self) -> Layout:
        return Layout(self._shared, self._blocks, self._own_dim)

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        if self._frozen is None or self._frozen[0] != self._steps:  # once a release, not once a choice
            self._frozen = self._steps, Posterior(*(part.copy() for part in self._state.posterior))
        if self._random:
            return Later(lambda: Chance(1 / len(features), 0.0))
        posterior = self._frozen[1]
        return Later(lambda: chances.of_chosen(self._way.values(self, features, posterior), index))

    def _offers(self, features: Array) -> Callable[[], Array]:
        if self._random:
            return lambda: np.full(len(features), 1 / len(features))
        now = Posterior(*(part.copy() for part in self._state.posterior))
        return lambda: chances.of_each(self._way.values(self, features, now))

    def _beliefs(self, features: Array, level: float) -> tuple[Array, Array]:
        return self._way.beliefs(self, features, level)

    def _mean(self, z: Array) -> Array:
        low, high = self.rewards if self._link.bounded else (0.0, 1.0)
        return np.asarray(low + (high - low) * self._link.mean(z))

    def _learn(self, x: Array, reward: float) -> None:
        self._way.learn(self, x, reward)

    def _summer(self) -> Summer | None:
        return self._way.summer(self)

    def _play(self, block: Block) -> None:
        if self._purse is not None or not self._way.play(self, block):
            super()._play(block)

    def _plan_numbers(self) -> list[float]:
        return [*super()._plan_numbers(), self.contribution.scale, self.mechanism.fading]

    # what may be shown

    @requires_durable
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward with at least that probability,
        from released sums only.

        Coverage is measured, not proven: intervals are widened (joint.curvature) because early contributions were
        linearised far from theta*."""
        checks.probability(level=level)
        middle, half = self._beliefs(self._request(arms, None, actions)[0], level)
        return list(zip(self._mean(middle - half).tolist(), self._mean(middle + half).tolist(), strict=True))

    @property
    @requires_durable
    def theta(self) -> Array:
        """The estimate that choices are made by: a function of released sums."""
        out: Array = self._state.posterior.theta.flatten()
        return out
