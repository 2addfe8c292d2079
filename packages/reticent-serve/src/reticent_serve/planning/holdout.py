"""How many people until a holdout shows an effect: computed, from the noise that a bandit of that budget has."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from reticent import checks
from reticent.algorithms.schedules import steps_before
from reticent.core.bandit import Bandit
from reticent.core.reward import Reward
from reticent.experiment import Experiment
from reticent.joint import JointGLM
from reticent.model.holdout import Holdout
from reticent.privacy.budget import Budget
from reticent_serve.planning.trials import EPSILONS
from reticent_serve.trials import waits
from reticent_serve.trials.groups import Places

SHARES = (0.02, 0.05, 0.1, 0.2, 0.5)
RATE = 0.5  # of rewards with the holdout, where nobody says: the widest intervals
RARE = 0.05


@dataclass(frozen=True, kw_only=True)
class HoldoutQuestion:
    """share: of people, the holdout's. effect: what the bandit brings more, as a share of the range of rewards;
    base_rate: the mean reward with the holdout."""

    share: float
    effect: float
    epsilon: float = 1.0
    delta: float = 1e-6
    base_rate: float = RATE
    per_day: float | None = None

    def __post_init__(self) -> None:
        checks.probability(effect=self.effect, base_rate=self.base_rate, delta=self.delta)
        checks.positive(epsilon=self.epsilon)
        if self.per_day is not None:
            checks.positive(per_day=self.per_day)
        Holdout(share=self.share, action=0)  # ValueError for what is no share
        if self.base_rate + self.effect > 1:
            raise ValueError(
                f"Expected base rate and effect of at most 1 together, got {self.base_rate + self.effect:g}."
            )

    @property
    def epsilons(self) -> list[float]:
        return sorted({*EPSILONS, self.epsilon})

    @property
    def shares(self) -> list[float]:
        return sorted({*SHARES, self.share})


class Cell(NamedTuple):
    """people: until the effect is seen in 4 of 5 trials; None: beyond what is worth waiting for. cost: what the
    holdout's people would have brought more with the bandit by then, in units of the range of rewards."""

    epsilon: float
    share: float
    people: int | None
    cost: float | None


def cell(question: HoldoutQuestion, epsilon: float, share: float) -> Cell:
    found = waits.until(_setting(question, epsilon, share), question.effect, waits.POWER)
    return Cell(epsilon, share, found, None if found is None else found * share * question.effect)


def table(question: HoldoutQuestion) -> list[Cell]:
    return [cell(question, epsilon, share) for epsilon in question.epsilons for share in question.shares]


def half(question: HoldoutQuestion, people: int) -> float:
    """Half the width of the interval after so many people."""
    return waits.half(_setting(question, question.epsilon, question.share), people)


def _setting(question: HoldoutQuestion, epsilon: float, share: float) -> waits.Outlook:
    rate = question.base_rate
    return waits.Outlook(Places(round(1 / share)), rate, rate + question.effect, noise(epsilon, question.delta))


@functools.lru_cache(maxsize=64)
def noise(epsilon: float, delta: float) -> Callable[[int], tuple[float, float]]:
    """Std of the noise in the holdout's and the bandit's sum after so many people. The same for every number of
    features: what learns and what is compared share mu^2, whatever the vectors are; and for every share, but for the
    ends of steps."""
    learner = JointGLM(2, Budget(epsilon, delta), Reward(window=1, default=0.0))
    bandit = Bandit(Experiment(learner, Holdout(action=0)))
    sums, schedule = bandit.trial_sums, bandit.plan.schedule
    assert sums is not None
    own, holdout = sums.scales[0], sums.scales[1]
    squares = [0.0]
    for gain in sums.gains:
        squares.append(squares[-1] + float(gain) ** 2)

    def after(people: int) -> tuple[float, float]:
        gain = math.sqrt(squares[min(max(steps_before(people + 1, schedule), 1), len(squares) - 1)])
        return holdout * gain, own * gain

    return after


def words(question: HoldoutQuestion) -> list[str]:
    """What to make of it."""
    own = cell(question, question.epsilon, question.share)
    points = f"{100 * question.effect:g} points"
    if own.people is None or own.cost is None:
        said = [f"An effect of {points} is not seen by a billion people: ask for a larger one, or for a larger share."]
    else:
        days = "" if question.per_day is None else f" ({own.people / question.per_day:,.0f} days)"
        said = [
            f"With {100 * question.share:g} % holdout and ε = {question.epsilon:g} an effect of {points} is seen after "
            f"{own.people:,} people{days} in 4 of 5 trials. You may look every day, and stop at any time: the interval "
            f"holds at every look. The holdout costs about {own.cost:,.0f} yeses by then."
        ]
    if question.base_rate <= RARE:
        width = half(question, 100_000)
        said.append(
            "Rewards are rare: noise of some ten people is more than chance until about 100,000 people have come. Then "
            f"the interval is {100 * width:.2g} points to each side, of {100 * question.base_rate:g} that are usual."
        )
    return said
