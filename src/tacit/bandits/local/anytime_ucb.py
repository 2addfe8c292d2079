"""Online LinUCB under local privacy without a known horizon, by doubling."""

from dataclasses import dataclass

from tacit import checks
from tacit.bandits.local.online import LocalPairs
from tacit.bandits.local.online_kernel import Base


@dataclass(kw_only=True, eq=False)
class LocalAnytimeUCB(LocalPairs):
    """LocalOnlineUCB started afresh in rounds 1, 2, 4, 8, ..., with the threshold 2^(-m power) from round 2^m on.

    Guarantee: that of LocalOnlineUCB: each report is private by itself.
    Reference: "Improved rate for Locally Differentially Private Linear Bandits" (anonymous, under review), Algorithm 9.
    Departure: as LocalOnlineUCB."""

    eigenvalue: float = 0.0
    power: float = 0.25

    def __post_init__(self) -> None:
        checks.non_negative(eigenvalue=self.eigenvalue)
        checks.positive(power=self.power)
        super().__post_init__()

    def _bases(self) -> tuple[Base, ...]:
        return (self._base(eigenvalue=self.eigenvalue, threshold=1.0, power=self.power),)
