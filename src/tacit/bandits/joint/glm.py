"""Our own: generalised linear bandits under joint privacy, by one-pass private IRLS."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit import checks, special
from tacit.bandits import irls, known
from tacit.bandits.choices import Index
from tacit.bandits.joint import forgetting, hybrid, public, scores
from tacit.bandits.joint.continual import steps_before
from tacit.bandits.joint.earning import EarningBandit
from tacit.bandits.joint.glm_kernel import GLMState, glm_block_rounds, glm_rounds
from tacit.bandits.joint.personal import FARTHEST
from tacit.bandits.joint.public_kernel import EXACT
from tacit.bandits.joint.summing import Cells, GLMSummer, Summer
from tacit.bandits.persons import LEARNS
from tacit.data import Array, Released
from tacit.kernels.block import Block
from tacit.kernels.blocks import BLOCKS
from tacit.kernels.formulas import add_glm
from tacit.kernels.glm import Posterior, Tuning
from tacit.kernels.rounds import Range
from tacit.lock import requires_durable
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.leaves import gains_after
from tacit.mechanisms.recursive import discounted
from tacit.model import links
from tacit.model.arms import Arms
from tacit.model.chances import Later
from tacit.model.glm import GLMContribution, balanced_curvature
from tacit.model.hybrid import Layout
from tacit.model.links import Link
from tacit.model.public import LONGEST, LONGEST_ALONE, RewardContribution
from tacit.model.scores import ScoreContribution
from tacit.privacy import ledger
from tacit.privacy.ledger import GaussianRelease
from tacit.privacy.noise import generator_of
from tacit.privacy.relations import ZERO_OUT

# Chosen, with kernels.glm.Tuning and kernels.blocks.BLOCKS, among some 100 settings by regret on tuning seeds
# (docs/measurements/joint-glm.md; the single runs were not kept); none of them touches privacy.
BLEND = 0.85  # of tangent and chord: see model.glm.line
CURVATURE_SHARE = 0.136  # see balanced_curvature
GROWTH = 1.02  # of steps
DISCOUNT = 0.995  # of earlier steps, at each step
FEWEST, PER_SIGMA = 8, 2.5  # the smallest step: so many users, and so many more for each unit of the noise's std
# Intervals cover at least 93 % at level .9 in six environments, T = 5000 and 50000.
WIDENING = 2.2  # of their standard deviations
BEYOND = 0.3  # the share by which an end above 0 is moved up, and one below 0 down: with chords, estimates fall short


@dataclass(kw_only=True, eq=False)
class JointGLM(EarningBandit):
    """Rewards with mean mu(<x, theta*>): each user's datum is used once, linearised at the public estimate, summed
    within steps that grow geometrically, and released with noise that does not grow; exploration is a Thompson draw in
    directions that were sampled too little.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: the whole
    run is one Gaussian mechanism on bounded contributions, and what is shown to each user is a function of its
    releases, that user's own arms and fresh randomness. No horizon is needed: the noise stays bounded.
    Regret: measured, not proven (docs/joint-glm.md).
    Reference: none; the saturating weights and the one pass are ours. Discounted square-root Toeplitz: see Discounted.
    Departure: none.

    curvature: "released", or "none": scores alone, d numbers a release (joint.scores); "auto", the default, takes the
    first for few dimensions (of a block, where blocks share nothing) and the second for many. The certificate says
    which it was.
    first: the smallest step, and how many users get random arms; by default 8 + 2.5 sigma, so that a step says more
    than its noise.
    blocks: into how many parts of equal length arms are divided, if each arm has zeros in all but one; with features of
    disjoint arms, as many as there are actions. An arm then is a row (z, a): the dim / blocks numbers of its part, and
    the number of the part. Sums, noise and work are those of the parts alone (GLMContribution).
    shared: how many coordinates, the first ones, all arms have beside their parts: an arm is a row (s, z, a) then; so
    it is with features of hybrid arms. Sums and noise are those of model.hybrid (docs/actions.md).
    tuning: of the estimate; by default Tuning(), or with blocks and nothing shared kernels.blocks.BLOCKS.
    forget: after so many rounds, or "30 days" of `per_day` choices that are expected, what was learnt counts 1 / e, for
    ever (docs/change.md). Without it the past fades ever more slowly, in proportion to its length: for preferences that
    do not change.
    max_rounds_per_person: the noise is made for replacing a person in so many rounds; the shifts of k rounds add up to
    at most k D times the column norm, which k equal changes in one step attain. What goes with it: see ContinualBandit.
    source: of noise. Secure by default; Simulated(seed) for experiments.
    policy: what Thompson draws come from; by default fresh, seeded by the operating system.
    link: "logistic", "probit", "identity", or one of your own (`tacit.model.links.given`).
    prior: (theta, precision), what is known about theta* from elsewhere; precision: a number or a (d, d) matrix.
    warm: (features, rewards), rows as in `choose` or (n, d), and rewards, of people whose data is public. Neither is
    protected (`known`).
    contexts: "public" where features and offered arms are no secret: rewards alone are protected, and whether and when
    they came, with much less noise (joint.public, docs/public.md).
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
    _state: GLMState = field(init=False, repr=False)
    _counts_answers = True
    _lengths = ("week", "forget")
    _frozen: tuple[int, Posterior] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self.first is not None:
            checks.positive_int(first=self.first)
        usual = BLOCKS if self._blocks > 1 and not self._shared else Tuning()
        self._tuning = irls.as_tuning(Tuning, usual if self.tuning is None else self.tuning)
        checks.one_of(("auto", "released", "none"), curvature=self.curvature)
        self._public = public.check(self)
        self._scores = not self._public and scores.without_curvature(self.curvature, self._together)
        self.growth = (scores.GROWTH if self._scores else GROWTH) if self.growth is None else self.growth
        self.discount = (scores.DISCOUNT if self._scores else DISCOUNT) if self.discount is None else self.discount
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        self._link = links.named(self.link)
        if self.radius > self._link.reach:
            raise ValueError(f"Expected a link known for |z| <= {self.radius:g}, got one for {self._link.reach:g}.")
        low, high = self.rewards
        self._unit = 1.0 if self._link.bounded else max(abs(low), abs(high))
        parts: dict[str, Any] = {"low": low, "high": high, "blocks": self._blocks, "shared": self._shared}
        self.contribution = self._contribution(dim=self.dim, link=self._link, **parts)
        self._open_purse(self.contribution.size, self._bound(self.contribution))
        self._known = known.knowledge(
            self.prior,
            self.warm,
            dim=self.dim,
            blocks=self._blocks,
            shared=self._shared,
            live=len(self._live),
            link=self._link,
            rewards=(low, high),
            radius=self.radius,
            unit=self._unit,
        )
        given = self.first
        forgetting.check(self._forget, self._shortest if given is None else lambda _: given)
        self.first = self._shortest(self._forget) if given is None else given
        self.mechanism = self._mechanism(self.first, self._forget)
        self._gains = self.mechanism.gain(np.arange(self.mechanism.window + 1.0))  # and as the last one for ever
        self.epsilon = ledger.check(self._planned(), self.budget)
        self._policy_given = self.policy is not None
        self.policy = self.policy or default_rng()
        super().__post_init__()

    def _contribution(self, **parts: Any) -> GLMContribution | RewardContribution | ScoreContribution:
        if self._scores:
            return ScoreContribution(dim=self.dim, link=self._link, low=parts["low"], high=parts["high"])
        zero_out, parts["blend"] = self.budget.adjacency == ZERO_OUT, BLEND if self._link.odd else 0.0
        if self._public:
            return RewardContribution(**parts, scale=EXACT, longest=LONGEST_ALONE if zero_out else LONGEST)
        reach, apart = self.radius / self._unit, 1.0 if zero_out else 2.0
        return GLMContribution(**parts, scale=balanced_curvature(self._link, reach, share=CURVATURE_SHARE, apart=apart))

    @property
    def _together(self) -> int:
        """Dimensions of a curvature: those of a block, where blocks share nothing."""
        return self.dim if self._shared else self._own_dim

    @property
    def _forget(self) -> float | None:
        assert not isinstance(self.forget, str)
        return self.forget

    def _shortest(self, forget: float | None) -> int:
        """Choices in a step that says more than its noise."""
        per_sigma = scores.PER_SIGMA if self._scores else PER_SIGMA
        return FEWEST + math.floor(per_sigma * self._mechanism(FEWEST, forget).sigma)

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
        what = "centred rewards times x / |x|" if self._public else "scores" if self._scores else "weighted x x' and x"
        statistic = f"discounted sums of {what}, {self._numbers(self.contribution.size)}, each user once"
        statistic += scores.words(self.curvature, self._together) * (not self._public)
        if self._forget is not None:
            statistic += f", forgotten in {self._forget:g} rounds"
        return self._entries(statistic, steps)

    # the algorithm

    def init(self) -> GLMState:
        self._filled = None
        sums = public.sums(self._blocks if self._public else 0, self._own_dim)
        return GLMState(self._opened(2), self.mechanism.init(self.source), self._before(), sums)

    def _before(self) -> Posterior:
        """Before anything was released."""
        if self._scores:
            return scores.prior(self.dim, self._known)
        if self._shared:
            return hybrid.prior(self._layout, self.radius, self._live, self._known, self._tuning.explore)
        if self._blocks > 1:
            own = self._own_dim
            return irls.prior_of_blocks(own, self.radius, self._blocks, self._live, self._known, self._tuning.explore)
        return irls.prior(self.dim, self.radius, self._known, self._tuning.explore)

    def _reestimate(self) -> None:
        if self._steps:
            self._update(self._state.prefix.released)
        else:
            for part, new in zip(self._state.posterior, self._before(), strict=True):
                part[...] = new
            self._frozen = None

    @property
    def _random(self) -> bool:
        """Whether arms are random: nothing was released, and nothing is known from elsewhere."""
        return self._steps == 0 and not self._known.theta.size

    def _told(self) -> tuple[str, ...]:
        return (*super()._told(), *known.sentences(self.prior, self.warm), *[public.TOLD] * self._public)

    def _update(self, released: Released) -> None:
        if self._scores:
            scores.update(self, self._for_learning(released))
            self._frozen = None
            return
        options: dict[str, Any] = {
            "scale": self.contribution.scale,
            "unit": self._unit,
            "std": self._std(),
            "radius": self.radius,
            "tuning": self._tuning,
            "known": self._known,
            "live": self._live,
            "posterior": self._state.posterior,
        }
        learnt = public.with_released(self, released) if self._public else self._for_learning(released)
        if self._shared:
            hybrid.update(learnt, layout=self._layout, **options)
        else:
            irls.update(learnt, **options)
        self._frozen = None

    def _advance(self) -> None:
        if self._public and self._due:
            public.close_step(self)
        super()._advance()

    @property
    def _keeps(self) -> int:
        return super()._keeps + self._public

    def _ticket(self, x: Array, mark: bytes = LEARNS) -> int:
        return super()._ticket(public.counted(self, x) if self._public else x, mark)

    def _std(self) -> float:
        return self.mechanism.sigma * float(self._gains[min(self._steps, len(self._gains) - 1)])

    def _prior_noise(self, std: float) -> None:
        self._gains = gains_after(self._gains, std / self.mechanism.sigma, self.mechanism.fading)

    def _pick(self, features: Array) -> Index:
        assert self.policy is not None
        if self._scores:
            return scores.choose_many(self, features)
        if self._shared:
            return hybrid.choose_many(self.policy, features, self._state.posterior, self._layout, random=self._random)
        return irls.choose_many(self.policy, features, self._state.posterior, random=self._random)

    @functools.cached_property
    def _layout(self) -> Layout:
        return Layout(self._shared, self._blocks, self._own_dim)

    def _whole(self, features: Array) -> Array:
        """Arms as the posterior has them: with their zeros where coordinates are shared."""
        return self._layout.whole(features) if self._shared or (self._scores and self._blocks > 1) else features

    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        if self._frozen is None or self._frozen[0] != self._steps:  # once a release, not once a choice
            self._frozen = self._steps, Posterior(*(part.copy() for part in self._state.posterior))
        posterior, random, whole = self._frozen[1], self._random, self._whole
        of = scores.propensity if self._scores else irls.propensity
        return Later(lambda: of(whole(features), posterior, index, random=random))

    def _offers(self, features: Array) -> Callable[[], Array]:
        now = Posterior(*(part.copy() for part in self._state.posterior))
        of = scores.offers if self._scores else irls.offers
        return functools.partial(of, self._whole(features), now, random=self._random)

    def _beliefs(self, features: Array, level: float) -> tuple[Array, Array]:
        if self._scores:
            return scores.beliefs(self._whole(features), self._state.posterior, self.radius)
        widths = WIDENING * float(special.ndtri((1 + level) / 2))
        middle, half = irls.beliefs(self._whole(features), self._state.posterior, widths)
        low, high, beyond = middle - half, middle + half, BEYOND if self.contribution.blend else 0.0
        low, high = low + beyond * np.minimum(low, 0.0), high + beyond * np.maximum(high, 0.0)
        return (low + high) / 2, (high - low) / 2

    def _mean(self, z: Array) -> Array:
        low, high = self.rewards if self._link.bounded else (0.0, 1.0)
        return np.asarray(low + (high - low) * self._link.mean(z))

    def _learn(self, x: Array, reward: float) -> None:
        if self._public:
            public.learn(self, x, reward)
            return
        c, theta, inverse = self.contribution, self._state.posterior.theta, self._state.posterior.inverse
        kept, x = x, x[: self._width]
        if isinstance(c, ScoreContribution):
            self._add(kept, reward, scores.addition(self, x, reward), slice(0, c.size))
            return
        part: Any = slice(0, c.size)
        if c.shared:
            here, part = hybrid.places(self._layout, int(x[-1]))
            x, theta, inverse = x[:-1], theta[here], np.ascontiguousarray(inverse[np.ix_(here, here)])
        elif c.blocks > 1:
            a = int(x[-1])
            x, theta, inverse, part = x[:-1], theta[a], inverse[a], c.part(a)
        add = functools.partial(add_glm, x, reward, theta, inverse, c.link.code, c.blend, c.scale, c.low, c.high)
        self._add(kept, reward, add, part)

    def _summer(self) -> Summer | None:
        if self._shared or self._public or self._scores or not isinstance(self.mechanism, Grid):
            return None
        c, now = self.contribution, self._state.posterior
        own = self.dim // self._blocks
        theta, inverse = now.theta.reshape(-1, own).copy(), now.inverse.reshape(-1, own, own).copy()
        return GLMSummer(theta, inverse, c.link.code, c.blend, c.scale, c.low, c.high, Cells.of(self.mechanism, c.size))

    def _play(self, block: Block) -> None:
        assert self.policy is not None
        if self._purse is not None or self._shared:
            super()._play(block)
            return
        if self._public:
            public.play(self, block, self.policy)
            return
        if self._scores:
            scores.play(self, block)
            return
        settings = (
            self.policy,
            generator_of(self.source),
            block,
            self._state,
            self.mechanism.law,
            self._gains,
            self._schedule,
            Range(*map(float, self.rewards)),
            self._link.code,
            self.contribution.blend,
            self.contribution.scale,
            self._unit,
            self.radius,
            self._tuning,
            self._known,
        )
        if self._blocks > 1:
            glm_block_rounds(*settings, self._live)
        else:
            glm_rounds(*settings)

    def _plan_numbers(self) -> list[float]:
        return [*super()._plan_numbers(), self.contribution.scale, self.mechanism.fading]

    # what may be shown

    @requires_durable
    def interval(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, level: float = 0.9
    ) -> list[tuple[float, float]]:
        """For each arm, given as in `choose`, an interval that holds its mean reward with at least that probability,
        from released sums only.

        Coverage is measured, not proven: intervals are widened (WIDENING, BEYOND) because early contributions were
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
