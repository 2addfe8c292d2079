"""Doubling: a bandit that needs a horizon, without one."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from reticent import checks
from reticent.core.bandit import Bandit
from reticent.core.choices import Choice, Choices, Index
from reticent.core.live import Live
from reticent.data import Array
from reticent.errors import UnknownChoice
from reticent.kernels.block import Block
from reticent.model.arms import Arms
from reticent.privacy.certificate import Certificate
from reticent.process import Lock

STARTS = (
    "Bandits start one after the other, each for twice as many choices as the one before. This is the certificate of "
    "the one at work, planned for {} choices: a user takes part in one, and none uses anything of an earlier one, so "
    "each has the whole budget, and the claim holds for every user."
)


class Anytime:
    """`Anytime(lambda horizon: ShariffLinUCB(dim=5, horizon=horizon, budget=budget))`: starts anew, with twice the
    horizon, whenever one is used up.

    Guarantee: the privacy of each bandit that `make` returns: a user takes part in one of them, and a later one uses
    nothing of an earlier one, so the claims do not add up. Regret: that of a known horizon, times a constant.
    Reference: the doubling trick, Besson & Kaufmann 2018, arXiv:1803.06971.
    Departure: a reward that comes after its bandit was replaced is refused."""

    def __init__(self, make: Callable[[int], Bandit | Live], *, first: int = 1024) -> None:
        checks.positive_int(first=first)
        self._lock = Lock()
        if not callable(make):
            raise ValueError(f"Expected a function of a horizon that makes a bandit, got {type(make).__name__}.")
        self._make = make
        self._horizon = first
        self._before = 0  # choices of earlier bandits
        self._bandit = make(first)
        if self._bandit.memory.validator.limited:
            raise ValueError(
                "Expected a bandit that counts no person's rounds, got one: each new one would count from zero."
            )

    @property
    def choices(self) -> int:
        return self._before + self._bandit.choices

    @property
    def rewards(self) -> tuple[float, float]:
        return self._bandit.memory.validator.rewards

    @property
    def privacy(self) -> Certificate:
        """The certificate of the bandit at work: it holds for every user, each in one bandit. Users of an earlier one
        may have spent all."""
        found = self._bandit.privacy
        told = [STARTS.format(self._horizon)] * (found.epsilon is not None)
        spent = found.epsilon if self._before else found.spent
        name, caveats = f"Anytime of {found.bandit}", (*found.caveats, *told)
        return msgspec.structs.replace(found, bandit=name, horizon=None, spent=spent, caveats=caveats)

    def warm_up(self) -> float:
        """As the bandit's at work: later ones run the same code."""
        return self._bandit.warm_up()

    def choose(
        self, arms: Arms | Mapping[str, Any], *, actions: Any = None, available: npt.ArrayLike | None = None
    ) -> Choice:
        with self._lock:
            self._bandit.memory.validator.offer(
                arms, available, actions
            )  # a request that is refused replaces no bandit
            self._renew(1)
            choice = self._bandit.choose(arms, actions=actions, available=available)
            return Choice(choice.index, choice.name, choice.id + self._before, choice._propensity)

    def choose_many(self, arms: Any, *, actions: Any = None) -> Choices:
        with self._lock:
            self._renew(len(self._bandit.memory.validator.batch(arms, actions)[0]))
            choices = self._bandit.choose_many(arms, actions=actions)
            return dataclasses.replace(choices, id=choices.id + self._before * (choices.id > 0))

    def observe(self, choice: Choice | int, reward: float) -> bool:
        with self._lock:
            ticket = self._translated(choice.id if isinstance(choice, Choice) else choice)
            if isinstance(ticket, int) and -self._before < ticket <= 0:
                raise UnknownChoice("Expected a choice of the bandit at work, got one of an earlier bandit.")
            return self._bandit.observe(ticket, reward)

    def observe_many(
        self, choices: Choices | Sequence[int] | Index, rewards: Sequence[float] | Array
    ) -> Mapping[int, str]:
        ids: Any = choices.id if isinstance(choices, Choices) else choices
        with self._lock:
            return self._bandit.observe_many(
                list(map(self._translated, ids)) if hasattr(ids, "__len__") else ids, rewards
            )

    def _translated(self, ticket: Any) -> Any:
        """An id as the bandit at work knows it; what is no id stays what it is, and is refused there."""
        if isinstance(ticket, bool) or not isinstance(ticket, int | np.integer):
            return ticket
        return int(ticket) - self._before

    def play(self, block: Block) -> None:
        """A block of simulated rounds, cut where a bandit is replaced."""
        start, size = 0, len(block.noise)
        while start < size:
            with self._lock:
                self._renew(1)
                end = min(size, start + self._horizon - self._bandit.choices)
                named = block._asdict().items()
                parts = [part if name in ("kind", "scale") else part[start:end] for name, part in named]
                self._bandit.play(Block(*parts))
            start = end

    def _renew(self, count: int) -> None:
        if self._bandit.choices + count > self._horizon:
            self._before += self._bandit.choices
            while self._horizon < count or self._bandit.choices:
                self._horizon *= 2
                self._bandit = self._make(self._horizon)
