"""Our own: generalised linear bandits under joint privacy, by one-pass private IRLS."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from tacit import checks
from tacit.algorithms import forgetting, irls, prior
from tacit.algorithms.forgetting import FARTHEST, steps_before
from tacit.bandits.joint.continual import ContinualBandit
from tacit.bandits.joint.controlled import Controlled
from tacit.core import actions
from tacit.core.onepass import OnePass
from tacit.kernels.blocks import BLOCKS
from tacit.kernels.glm import Tuning
from tacit.mechanisms.continual import Continual
from tacit.mechanisms.recursive import discounted
from tacit.model import links
from tacit.model.links import Link
from tacit.models import choose
from tacit.models.choose import ModelSettings
from tacit.models.fields import Fields
from tacit.models.glm import GLM
from tacit.models.scores import Scores
from tacit.privacy import ledger
from tacit.privacy.noise import policy_of

FEWEST = 8  # users in the smallest step, beside those for each unit of the noise's std


@dataclass(kw_only=True, eq=False)
class JointGLM(Controlled):
    """Rewards with mean mu(<x, theta*>): each user's datum is used once, linearised at the public estimate, summed
    within steps that grow geometrically, and released with noise that does not grow; exploration is a Thompson draw in
    directions that were sampled too little.

    Guarantee: (epsilon, delta)-joint differential privacy for replacing one user, whatever later users do: the whole
    run is one Gaussian mechanism on bounded contributions, and what is shown to each user is a function of its
    releases, that user's own arms and fresh randomness. No horizon is needed: the noise stays bounded.
    Regret: measured (docs/joint-glm.md); what is proven is in docs/proofs/one-pass.md.
    Reference: none; the saturating weights and the one pass are ours. Discounted square-root Toeplitz: see Discounted.
    Departure: none.

    The six settings that matter, all public:

    features: a Schema, which makes vectors of a person's fields; or dim: how many numbers a vector has, of norm at most
    1, where `choose` is given vectors.
    budget: Budget(epsilon, delta), what is promised.
    max_rounds_per_person: whose promise it is: a person's, of so many rounds together, with as many times the noise;
    without it, that of one round. Every choice then says whose it is, and beyond the limit people are served and teach
    nothing; week: the promise is for a week (docs/persons.md).
    hold, missing_as: after how many later choices a choice counts, with the reward that came by then, or as this one
    (on a database: times, of Stored).
    link: how a score becomes an expected reward: "logistic" (default), "probit", "identity" for amounts, or one of your
    own (`tacit.model.links.given`). rewards: their range; the mean is low + (high - low) mu(z), and z for identity.
    radius: a bound on |theta*|: with "logistic" and 3, chances lie between 5 and 95 %. Too large costs some regret, and
    never privacy.

    Settings for some:

    forget: after so many rounds, or "30 days" of `per_day` choices that are expected, what was learnt counts 1 / e, for
    ever (docs/change.md). Without it the past fades ever more slowly, in proportion to its length: for preferences that
    do not change, or, with vectors, that change suddenly, which is noticed (kernels.change).
    base_rate: the share of the range of rewards that is usual, where it is small (0.01: one click in a hundred).
    Public, declared before anybody comes; wrong by a factor of 3 it costs little (docs/measurements/fields.md). For
    sums by fields, and for vectors and features of shared arms, whose chance of a reward is then linear in the features
    (models.centred): link and radius are refused then.
    prior: (theta, precision), what is known about theta* from elsewhere; precision: a number or a (d, d) matrix.
    warm: (features, rewards), vectors (n, d) and rewards of people whose data is public. Neither is protected
    (algorithms.prior).
    control: a control group (Control), with which it is known what is earned, and whether that is more than before.
    horizon: the number of rounds, where it is known; none is needed. pending: how many choices may wait for a reward.

    Settings for research, whose defaults were measured:

    curvature: "released", or "none": scores alone, d numbers a release (models.scores). "auto", the default, takes the
    second for many dimensions and, where the horizon is known, few rounds; with features of disjoint arms, of up to 100
    numbers an action, it takes "fields" (models.fields). The certificate says which, and why. By fields the chance of
    a reward is linear in the features: link and radius are refused then.
    first: the smallest step, and how many users get random arms; by default 8 + 2.5 sigma, so that a step says more
    than its noise. growth, discount: how steps grow, and how the past fades.
    tuning: of the estimate; its default depends on whether arms are disjoint, and whether anything is forgotten.
    source: of noise. Secure by default; Simulated(seed) for experiments.
    policy: what Thompson draws come from; by default fresh, seeded by the operating system.

    Noise for persons: k rounds of a person shift what is released by at most k D times the column norm, which k equal
    changes in one step attain.
    """

    _takes_blocks = True
    link: str | Link = "logistic"
    rewards: tuple[float, float] = (0.0, 1.0)
    first: int | None = None
    curvature: str = "auto"
    base_rate: float | None = None
    growth: float | None = None
    discount: float | None = None
    forget: float | str | None = None
    tuning: Tuning | None = None
    policy: Generator | None = field(default=None, repr=False)
    prior: Any = field(default=None, repr=False)
    warm: Any = field(default=None, repr=False)
    algorithm: OnePass = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._check()
        if self.first is not None:
            checks.positive_int(first=self.first)
        if self.tuning is None:
            self.tuning = BLOCKS if self._blocks > 1 else Tuning() if self.forget is None else choose.CHANGING
        self.tuning = irls.as_tuning(Tuning, self.tuning)
        asked = _asked(vars(self), self.dim, self._blocks)
        kind, why = choose.kind_of(asked, self.horizon, self._mu)
        self.growth = kind.pace.growth if self.growth is None else self.growth
        self.discount = kind.pace.discount if self.discount is None else self.discount
        if not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")
        self._link = links.named(self.link)
        if self.radius > self._link.reach:
            raise ValueError(f"Expected a link known for |z| <= {self.radius:g}, got one for {self._link.reach:g}.")
        low, high = self.rewards
        unit = 1.0 if self._link.bounded else max(abs(low), abs(high))
        means: dict[str, Any] = {"link": self._link, "rewards": (low, high), "radius": self.radius, "unit": unit}
        live = len(actions.live(self._declared, self._blocks))
        known = prior.knowledge(self.prior, self.warm, live=live, dim=self.dim, blocks=self._blocks, **means)
        more: dict[str, Any] = {"tuning": self.tuning, "prior": known, "mu": self._mu, "forget": self._forget}
        self._model = self._beside(choose.model(kind, asked, **means, **more))
        first = self.first
        forgetting.check(self._forget, self._shortest if first is None else lambda _: first)
        self.first = self._shortest(self._forget) if first is None else first
        self.mechanism = self._mechanism(self.first, self._forget)
        caveats = prior.sentences(self.prior, self.warm)
        caveats += (choose.CAVEAT,) * (self.base_rate is not None)
        forgotten = "" if self._forget is None else f", forgotten in {self._forget:g} rounds"
        plan = self._plan(
            f"discounted sums of {self._model.sums.statistic}, {{}}, each user once{why}{forgotten}",
            self._scale,
            self.mechanism.fading,
            caveats=caveats,
        )
        gains = self.mechanism.gain(np.arange(self.mechanism.window + 1.0))
        self.algorithm = OnePass(plan=plan, model=self._model, gains=gains)
        self.epsilon = ledger.check(self._planned(), self.budget)
        self._check_idle(kind)
        self._policy_given = self.policy is not None
        self.policy = self.policy or policy_of(self.source)
        self._assign()
        super().__post_init__()

    @classmethod
    def idle(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        schema = settings.get("features")
        dim, blocks = (0, 1) if schema is None else (schema.dim, schema.blocks)
        asked = _asked({"curvature": "auto"} | dict(settings), dim, blocks)
        return ("link", "radius") if choose.by_fields(asked) or asked.base_rate is not None else ()

    @property
    def _forget(self) -> float | None:
        assert not isinstance(self.forget, str)
        return self.forget

    def _check_idle(self, kind: Any) -> None:
        """ValueError for a setting that would have no effect beside another. A default may stand: saved bandits have
        it."""
        growth, discount = self.growth, self.discount
        assert growth is not None and discount is not None and self.tuning is not None
        paces = [one.pace for one in (GLM, Scores, Fields)]
        if self.forget is not None and discount not in [pace.discount for pace in paces]:
            raise ValueError(f"Expected no discount with forget, which says how fast the past fades, got {discount:g}.")
        least = forgetting.LEAST_GROWTH
        if self.forget is not None and growth < least and growth not in [pace.growth for pace in paces]:
            raise ValueError(f"Expected growth of at least {least:g} with forget, got {growth:g}.")
        choose.check_idle(kind, self.tuning, self._link, self.radius, ContinualBandit.radius)

    def _shortest(self, forget: float | None) -> int:
        """Choices in a step that says more than its noise."""
        return FEWEST + math.floor(self._model.pace.per_sigma * self._mechanism(FEWEST, forget).sigma)

    def _mechanism(self, first: int, forget: float | None) -> Continual:
        """The mechanism for steps of at least `first` choices, with the noise that the budget asks for."""
        assert self.growth is not None and self.discount is not None
        steps = self._schedule = self._in_blocks(forgetting.schedule(first, self.growth, forget))
        leaves = 1 + steps_before(self.horizon or FARTHEST, steps)
        fading = forgetting.discount(steps, forget, self.discount)
        columns = self._columns(steps)
        noiseless = discounted(leaves=leaves, size=self._model.sums.size, discount=fading, **columns)
        return self._with_noise(noiseless, self._sensitivity, self._mu)


def _asked(settings: Mapping[str, Any], dim: int, blocks: int) -> ModelSettings:
    given = {name: settings.get(name) is not None for name in ("prior", "warm")}
    return ModelSettings(settings["curvature"], settings.get("features"), settings.get("base_rate"), dim, blocks, given)
