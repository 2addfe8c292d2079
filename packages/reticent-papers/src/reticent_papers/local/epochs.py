"""What servers of the local model share that learn in epochs of doubling length, each cut into steps."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

from reticent import checks
from reticent.errors import NoHorizon
from reticent.kernels.block import Block
from reticent.kernels.rounds import BOUNDARY, CHOICES
from reticent_devices.bandits.local.server import LocalServer
from reticent_papers import epochs
from reticent_papers.epochs import EPOCH
from reticent_papers.local.device import PublishedClient

VERSION = 4  # in a state's counts, after those of epochs: steps closed in all


@dataclass(kw_only=True, eq=False)
class EpochServer(LocalServer):
    """Arms are chosen by what earlier epochs have taught. Each user of an epoch sends one report, to the question of
    the step that is open; the schedule counts reports. A report for a step that is closed is refused."""

    first: int = 2000
    _client = PublishedClient
    _staged = True
    _state: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive_int(first=self.first)
        if self.horizon is None:
            raise NoHorizon(f"Expected a horizon for {type(self).__name__}, which learns in epochs, got None.")
        self._ends = epochs.ends(self.first, self.horizon)

    @abstractmethod
    def _close(self) -> None:
        """Close the step that has ended, and open the next one."""

    @abstractmethod
    def _rounds(self, block: Block, start: int) -> int:
        """Play from round `start` up to the end of the block or of the step. Returns the next round."""

    def _length(self, epoch: int) -> int:
        """Users of that epoch: public."""
        return int(self._ends[epoch]) - self._start(epoch)

    def _start(self, epoch: int) -> int:
        """Users before that epoch."""
        return int(self._ends[epoch - 1]) if epoch else 0

    @property
    def closed(self) -> int:
        """Epochs closed so far."""
        return int(self._state.counts[EPOCH])

    @property
    def version(self) -> int:
        return int(self._state.counts[VERSION])

    def _advance(self, transit: Any, users: int) -> bool:
        counts = self._state.counts
        while counts[CHOICES] >= counts[BOUNDARY]:
            self._close()
            counts[VERSION] += 1
        return False

    def _play(self, block: Block, transit: Any) -> None:
        played = 0
        while played < len(block.noise):
            self._advance(transit, self.users)
            played = self._rounds(block, played)
