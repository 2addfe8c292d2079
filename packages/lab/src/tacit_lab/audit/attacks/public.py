"""Attacks on claims about less: rewards alone, where contexts are public. The neighbours are those of the claim:
another reward, a late one, none."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from tacit.bandits import JointGLM
from tacit.data import Array
from tacit.privacy.noise import Simulated, Source
from tacit.testing.canary import difference
from tacit.testing.leaks import CountedWhenAnswered
from tacit.testing.stage import Make, close, fresh, open_step
from tacit_lab.audit.attack import Attack
from tacit_lab.audit.attacks.bandits import BUDGET, STEPS, WHITE

ARM = (1.0, 0.0)
SURE: dict[str, Any] = {"prior": ([0.99, 0.0], 100.0)}  # the estimate expects a reward of 1 with 73 %
LAST = STEPS - 1


class Fate(NamedTuple):
    """Of the first user: the arm, and the reward that comes in that step; none if it is None."""

    reward: float | None = None
    step: int = 0
    arm: Sequence[float] = ARM

    def __str__(self) -> str:
        if self.reward is None:
            return "no reward"
        arm = "" if tuple(self.arm) == ARM else f"arm {tuple(self.arm)}, "
        return f"{arm}reward {self.reward:g} in step {self.step + 1}"


def attacks() -> Sequence[Attack]:
    public = {"contexts": "public"}
    return [
        first_user("public-contexts-reward", made(**public), Fate(0.0), Fate(1.0), share=0.5),
        first_user("public-contexts-none", made(**public, **SURE), Fate(0.0), Fate()),
        first_user("public-contexts-late", made(**public, **SURE), Fate(0.0), Fate(0.0, LAST)),
        curvature("public-contexts-curvature", JointGLM),
        curvature("public-contexts-answered", CountedWhenAnswered, bug="Curvature is summed when a reward comes. "),
    ]


def made(kind: Any = JointGLM, **options: Any) -> Make:
    def make(source: Source) -> Any:
        settings = {"dim": 2, "horizon": STEPS, "first": 1, "pending": STEPS, "budget": BUDGET} | options
        return kind(source=source, policy=default_rng(0), **settings)

    return make


def first_user(name: str, make: Make, zero: Fate, one: Fate, *, share: float = 0.3, bug: str = "") -> Attack:
    """All releases, whitened, along the difference of what the first user adds to the steps."""
    bandit = make(Simulated(0))
    test = difference(bandit.mechanism, *(_steps(make(Simulated(0)), fate) for fate in (zero, one)))

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            for t, released in enumerate(_play(played, (zero, one)[world])):
                out[i] += test.score(t, released)
        return out

    return Attack(
        name=name,
        view=WHITE,
        epsilon=bandit.privacy.epsilon,
        delta=BUDGET.delta,
        claimed=not bug,
        how=f"{bug}User 1 has {zero}, or {one}; nobody else contributes; score: the {STEPS} releases, whitened, along "
        "the difference of the two contributions.",
        scores=scores,
        family="gaussian",
        share=share,
    )


def curvature(name: str, kind: Any, *, bug: str = "") -> Attack:
    """What the estimate knows beside its releases: a function of contexts alone, or it tells who answered."""
    make = made(kind, contexts="public")

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            for _ in _play(played, (Fate(), Fate(1.0))[world]):
                out[i] = played._state.public.closed[0]
        return out

    return Attack(
        name=name,
        view="the curvature",
        epsilon=make(Simulated(0)).privacy.epsilon,
        delta=BUDGET.delta,
        claimed=not bug,
        how=f"{bug}User 1 answers or not; nobody else comes; score: the curvature that the estimate is made from.",
        scores=scores,
        share=0.1,
    )


def _play(bandit: Any, fate: Fate) -> Any:
    """The releases, one after the other: the first user, and then nobody."""
    choice = bandit.choose([list(fate.arm)])
    for t in range(STEPS):
        if fate.reward is not None and fate.step == t:
            bandit.observe(choice, fate.reward)
        yield close(bandit)


def _steps(bandit: Any, fate: Fate) -> Array:
    """(steps, size): what it adds to each of them."""
    out = np.zeros((STEPS, bandit.mechanism.size))
    choice = bandit.choose([list(fate.arm)])
    if fate.reward is not None:
        bandit.observe(choice, fate.reward)
        out[fate.step] = open_step(bandit)
    return out
