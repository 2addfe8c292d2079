"""What bandits that learn in epochs of doubling length share: the schedule, the checks of settings, the certificate."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from reticent import checks
from reticent.core.choices import Index
from reticent.core.live import Live
from reticent.errors import NoHorizon
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY, CHOICES
from reticent.model import links
from reticent.privacy import settings
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import Certificate, certify
from reticent.privacy.ledger import GaussianRelease
from reticent.privacy.noise import Secure, policy_of
from reticent_papers import queries

STEP, EPOCH = 2, 3  # in a state's counts, after CHOICES and BOUNDARY: of the open epoch; epochs closed
FOREVER = 2**60  # where the last epoch ends


@dataclass(kw_only=True, eq=False)
class EpochBandit(Live):
    """Arms are chosen by what earlier epochs have released; an epoch is released at its end.

    A bandit says what a user's data go through (`_releases`), what happens when a step closes (`_close`), and how
    rounds are played up to there (`_rounds`). An epoch is one step, or several: `_close` sets where the next one ends.
    """

    budget: Budget
    radius: float = 1.0
    link: str = "logistic"
    first: int = 500
    source: Any = field(default_factory=Secure)
    policy: Any = field(default=None, repr=False)  # a Generator; by default fresh, seeded by the operating system

    @abstractmethod
    def _releases(self) -> tuple[GaussianRelease, ...]:
        """What the users' data go through in one epoch."""

    def _costliest(self) -> tuple[GaussianRelease, ...]:
        """Those of them that the user whom they cost most is in."""
        return self._releases()

    @abstractmethod
    def _close(self) -> None:
        """Close the step that has ended, and open the next one."""

    @abstractmethod
    def _rounds(self, block: Block, start: int) -> int:
        """Play from round `start` up to the end of the block or of the step. Returns the next round."""

    # settings and schedule

    def _check(self) -> None:
        """The settings that all have: ValueError or NotSecure if one is wrong."""
        settings.check(self)
        checks.positive_int(dim=self.dim, first=self.first)
        self.dim = int(self.dim)
        if self.horizon is None:
            raise NoHorizon(f"Expected a horizon for {type(self).__name__}, which learns in epochs, got None.")
        checks.positive_int(horizon=self.horizon)
        self._link = links.built_in(self.link)
        self._policy_given = self.policy is not None
        self.policy = self.policy or policy_of(self.source)
        self._ends = ends(self.first, self.horizon)
        if self.source.private and self.budget.epsilon < math.inf and len(self._ends) > 1:
            queries.few_enough(int(self._ends[-2]))  # before the last release, if all their rewards are late

    def _length(self, epoch: int) -> int:
        """Choices in that epoch: public."""
        return int(self._ends[epoch]) - self._start(epoch)

    def _start(self, epoch: int) -> int:
        """Choices before that epoch."""
        return int(self._ends[epoch - 1]) if epoch else 0

    def _plan_numbers(self) -> list[float]:
        return [release.mu for release in self._releases()]

    # epochs

    @property
    def _due(self) -> bool:
        return bool(self._state.counts[CHOICES] >= self._state.counts[BOUNDARY])

    def _advance(self) -> None:
        with np.errstate(all="ignore"):  # else one person's tiny arms would fail in another's choice
            while self._due:
                self._close()

    def _play(self, block: Block) -> bool:
        played = 0
        while played < len(block.noise):
            self._advance()
            played = self._rounds(block, played)
        return True

    @property
    def _steps(self) -> int:
        return self.closed

    @property
    def closed(self) -> int:
        """Epochs closed so far."""
        return int(self._state.counts[EPOCH])

    def _caveats(self) -> tuple[str, ...]:
        return ()

    @property
    def privacy(self) -> Certificate:
        return certify(
            type(self).__name__,
            model="joint",
            budget=self.budget,
            releases=self._releases(),
            costliest=self._costliest(),
            spent=self._costliest() if self.closed else (),
            source=self.source,
            horizon=self.horizon,
            rounds=self.choices,
            policy_given=self._policy_given,
            caveats=self._caveats(),
        )


def ends(first: int, horizon: int) -> Index:
    """The choice counts at which epochs of length first, 2 first, 4 first, ... end, before the horizon."""
    count = max(0, math.ceil(math.log2(horizon / first + 1)) - 1)
    return np.array([first * (2 ** (j + 1) - 1) for j in range(count)] + [FOREVER])
