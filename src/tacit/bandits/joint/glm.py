"""Our own: generalised linear bandits under joint privacy, by one-pass private IRLS."""

import dataclasses
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from tacit import checks
from tacit.algorithms import accounting, covariance, forgetting, irls, prior
from tacit.algorithms.forgetting import FARTHEST, steps_before
from tacit.algorithms.onepass import curvature, hybrid, public, scores
from tacit.algorithms.onepass.algorithm import Contribution, Estimate, Form, OnePass, copied
from tacit.algorithms.onepass.loops_kernel import GLMState
from tacit.algorithms.summed import row_size
from tacit.bandits.joint.joint import OWN, Joint
from tacit.bandits.joint.summing import Summer
from tacit.data import Array
from tacit.kernels.block import Block
from tacit.kernels.blocks import BLOCKS
from tacit.kernels.continual import Also
from tacit.kernels.glm import Posterior, Tuning
from tacit.kernels.rounds import BOUNDARY
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.recursive import discounted
from tacit.model import links
from tacit.model.hybrid import Layout
from tacit.model.links import Link
from tacit.model.scores import ScoreContribution
from tacit.privacy import ledger, relations
from tacit.privacy.noise import generator_of
from tacit.protocols import Limits, Plan

FEWEST = 8  # users in the smallest step, beside those for each unit of the noise's std
CHANGING = Tuning(ridge=1.5)  # with `forget`: a smaller ridge learns what is new sooner


@dataclass(kw_only=True, eq=False)
class JointGLM(Joint):
    """Rewards with mean mu(<x, theta*>): each user's datum is used once, linearised at the public estimate, summed
    within steps that grow geometrically, and released with noise that does not grow; exploration is a Thompson draw in
    directions that were sampled too little.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: the whole
    run is one Gaussian mechanism on bounded contributions, and what is shown to each user is a function of its
    releases, that user's own arms and fresh randomness. No horizon is needed: the noise stays bounded.
    Regret: measured (docs/joint-glm.md); what is proven is in docs/proofs/one-pass.md.
    Reference: none; the saturating weights and the one pass are ours. Discounted square-root Toeplitz: see Discounted.
    Departure: none.

    curvature: "released", or "none": scores alone, d numbers a release (onepass.scores). "auto", the default, takes the
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
    protected (algorithms.prior).
    covariance: of features, public: a (p, p) matrix, or rows of p features without rewards, p = dim / blocks. Its shape
    alone counts (algorithms.covariance).
    contexts: "public" where features and offered arms are no secret: rewards alone are protected, and whether and when
    they came, with much less noise (onepass.public, docs/problem.md).
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
    algorithm: OnePass = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        self._check_hold()
        if self.first is not None:
            checks.positive_int(first=self.first)
        if self.tuning is None:
            apart, whole = self._blocks > 1 and not self._shared, hybrid.HYBRID if self._shared else Tuning()
            self.tuning = BLOCKS if apart else whole if self.forget is None else CHANGING
        self.tuning = irls.as_tuning(Tuning, self.tuning)
        parts: dict[str, Any] = {"dim": self.dim, "blocks": self._blocks, "shared": self._shared}
        self._public = public.check(self.contexts, earnings=self.earnings is not None, week=self.week is not None)
        shaped = self.covariance is not None
        rounds: dict[str, Any] = {"horizon": self.horizon, "mu": self._mu}
        self._scores, why = scores.check(self.curvature, public=self._public, covariance=shaped, **rounds, **parts)
        self.growth = self._form.GROWTH if self.growth is None else self.growth
        self.discount = self._form.DISCOUNT if self.discount is None else self.discount
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        self._link = links.named(self.link)
        if self.radius > self._link.reach:
            raise ValueError(f"Expected a link known for |z| <= {self.radius:g}, got one for {self._link.reach:g}.")
        low, high = self.rewards
        self._unit = 1.0 if self._link.bounded else max(abs(low), abs(high))
        self.contribution = self._contribution(low=low, high=high, link=self._link, **parts)
        self._open_purse(self.contribution.size, self._bound(self.contribution))
        means: dict[str, Any] = {"link": self._link, "rewards": (low, high), "radius": self.radius, "unit": self._unit}
        known = prior.knowledge(self.prior, self.warm, live=len(self._live), **parts, **means)
        shape = covariance.shape(self.covariance, self._own_dim, refused=self._public or self._shared > 0)
        first = self.first
        forgetting.check(self._forget, self._shortest if first is None else lambda _: first)
        self.first = self._shortest(self._forget) if first is None else first
        self.mechanism = self._mechanism(self.first, self._forget)
        self.algorithm = OnePass(
            plan=self._plan(why),
            contribution=self.contribution,
            link=self._link,
            unit=self._unit,
            tuning=self.tuning,
            prior=known,
            shape=shape,
            gains=self.mechanism.gain(np.arange(self.mechanism.window + 1.0)),
            purse=self._purse,
        )
        self.epsilon = ledger.check(self._planned(), self.budget)
        self._check_idle()
        self._policy_given = self.policy is not None
        self.policy = self.policy or default_rng()
        super().__post_init__()

    @property
    def _form(self) -> Form:
        return scores if self._scores else curvature

    def _contribution(self, **parts: Any) -> Contribution:
        if self._scores:
            return ScoreContribution(**parts)
        zero_out = self.budget.adjacency == relations.ZERO_OUT
        parts |= {"zero_out": zero_out, "blend": curvature.blend(self._link, self._mu, self._forget)}
        if self._public:
            return public.contribution(**parts)
        return curvature.contribution(reach=self.radius / self._unit, **parts)

    @property
    def _forget(self) -> float | None:
        assert not isinstance(self.forget, str)
        return self.forget

    def _check_idle(self) -> None:
        """ValueError for a setting that would have no effect beside another. A default may stand: saved bandits have
        it."""
        growth, discount = self.growth, self.discount
        assert growth is not None and discount is not None
        if self.forget is not None and discount not in (curvature.DISCOUNT, scores.DISCOUNT):
            raise ValueError(f"Expected no discount with forget, which says how fast the past fades, got {discount:g}.")
        least = forgetting.LEAST_GROWTH
        if self.forget is not None and growth < least and growth not in (curvature.GROWTH, scores.GROWTH):
            raise ValueError(f"Expected growth of at least {least:g} with forget, got {growth:g}.")
        if self._scores and self.tuning not in (Tuning(), CHANGING, BLOCKS, hybrid.HYBRID):
            raise ValueError('Expected curvature="released" with tuning, which is of estimates by curvature, got none.')

    def _shortest(self, forget: float | None) -> int:
        """Choices in a step that says more than its noise."""
        return FEWEST + math.floor(self._form.PER_SIGMA * self._mechanism(FEWEST, forget).sigma)

    def _mechanism(self, first: int, forget: float | None) -> Continual:
        """The mechanism for steps of at least `first` choices, with the noise that the budget asks for."""
        assert self.growth is not None and self.discount is not None
        steps = self._schedule = forgetting.schedule(first, self.growth, forget)
        leaves = 1 + steps_before(self.horizon or FARTHEST, steps)
        fading = forgetting.discount(steps, forget, self.discount)
        columns = self._columns(steps)
        noiseless = discounted(leaves=leaves, size=self._size, discount=fading, **columns)
        return self._with_noise(noiseless, self._sensitivity, self._mu)

    def _plan(self, why: str) -> Plan:
        """why: curvature is released, or not."""
        size, most, mechanism = self.contribution.size, self.max_rounds_per_person, self.mechanism
        what = public.STATISTIC if self._public else self._form.STATISTIC
        statistic = f"discounted sums of {what}, {self._numbers(size)}, each user once{why}"
        if self._forget is not None:
            statistic += f", forgotten in {self._forget:g} rounds"
        parts = size, self._from, self._purse
        releases = functools.partial(accounting.entries, statistic, mechanism, *parts, most or 1, self._relation)
        claim = releases(mechanism.leaves), mechanism, most, self._week, self.horizon or FARTHEST
        caveats = *prior.sentences(self.prior, self.warm), *[covariance.CAVEAT] * (self.covariance is not None)
        return Plan(
            name=type(self).__name__,
            settings={f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init and f.name not in OWN},
            budget=self.budget,
            dim=self.dim,
            blocks=self._blocks,
            shared=self._shared,
            width=self._width,
            row=row_size(self._width, self._purse, public=self._public),
            contexts=Layout(self._shared, self._blocks, self._own_dim).size if self._public else 0,
            weighs=self._weighs,
            rewards=self.rewards,
            radius=self.radius,
            horizon=self.horizon,
            schedule=self._schedule,
            mechanism=mechanism,
            limits=Limits(most, self._serves, self._week),
            features=self.features,
            relation=self._relation,
            numbers=(mechanism.step, mechanism.sigma, mechanism.column_norm, self.contribution.scale, mechanism.fading),
            caveats=(*caveats, *[public.CAVEAT] * self._public),
            releases=releases,
            person=functools.partial(accounting.person, *claim),
        )

    # the algorithm

    def init(self) -> GLMState:
        self._filled = None
        prefix, posterior = self.mechanism.init(self.source), self.algorithm.blank(self._live).posterior
        return GLMState(self._opened(3), prefix, posterior, public.sums(self.algorithm.plan.contexts))

    @property
    def _estimate(self) -> Estimate:
        """What choices are made by now."""
        random = self._steps == 0 and not self.algorithm.prior.theta.size
        return Estimate(self._state.posterior, self._steps, random, self._filled)

    def _show(self, new: Estimate) -> None:
        self._state, self._filled = self._state._replace(posterior=new.posterior), new.earnings

    def _contexts(self) -> Array:
        return self._state.public.closed

    def _opened_contexts(self) -> Array:
        return self._state.public.open

    @property
    def _estimate_key(self) -> Posterior:
        return self._state.posterior

    def _counted(self, x: Array) -> Array:
        return self.algorithm.count(self._estimate, x, self._state.public.open) if self._public else x

    def _also(self) -> Also:
        return super()._also()._replace(open=self._state.public.open, closed=self._state.public.closed)

    def _summer(self) -> Summer | None:
        return None if self.algorithm.form is not curvature or self._public else super()._summer()

    def _play(self, block: Block) -> None:
        loop = self.algorithm.loop
        if loop is None or self.missing_as is not None:
            super()._play(block)
            return
        self._state = self._state._replace(posterior=copied(self._state.posterior))  # choices hold what it was
        assert self.policy is not None
        for part in self._cut(block):
            loop(self.algorithm, self.policy, generator_of(self.source), part, self._held, self._state, self._live)

    def _cut(self, block: Block) -> Iterator[Block]:
        """The rounds of a block for a compiled loop: all at once, or where there is a shape step by step, since the
        estimate after each release is made here."""
        if self.algorithm.shape is None:
            yield block
            return
        start, sliced = 0, [name for name in Block._fields if name not in ("kind", "scale")]
        while start < len(block.noise):
            self._step()
            stop = start + max(1, int(self._state.counts[BOUNDARY]) - self._entries)
            yield block._replace(**{name: getattr(block, name)[start:stop] for name in sliced})
            start = stop
