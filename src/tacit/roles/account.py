"""The person's view of a device's ledger: what left, what that adds up to, and what is left (js/src/account.js)."""

import math
from dataclasses import dataclass

from tacit.roles.ledger import REPORT, Lifetime, Spent

PREFETCHED = "What is displayed is not counted: everything is fetched ahead, so that nobody sees what is displayed."
COUNTED = (
    "What is displayed is counted: it is drawn at random with probability {:g}, so that whoever sees it learns a "
    "bounded amount."
)


@dataclass(frozen=True)
class Account:
    """spent: all that was told, entry by entry, and its sums. lifetime: the device's limit. floor: the probability with
    which an arm is drawn uniformly; 0: what is displayed is not counted, since everything is fetched ahead. waiting:
    reports that have not been acknowledged yet, or not been made."""

    spent: Spent
    lifetime: Lifetime
    floor: float
    waiting: int

    @property
    def reports(self) -> int:
        """That left or will leave, in the device's life."""
        return sum(entry.count for entry in self.spent.entries if entry.what == REPORT)

    @property
    def left(self) -> Lifetime:
        """What may still be told."""
        spent, most = self.spent, self.lifetime
        return Lifetime(epsilon=max(0.0, most.epsilon - spent.epsilon), delta=max(0.0, most.delta - spent.delta))

    @property
    def lines(self) -> list[str]:
        """All of it, in words."""
        spent, most, left = self.spent, self.lifetime, self.left
        s = "" if self.reports == 1 else "s"
        return [
            f"{self.reports} report{s} left this device or will leave it, {self.waiting} of them waiting.",
            f"Added up: epsilon = {spent.epsilon:.3g} of at most {most.epsilon:g}, delta = {spent.delta:.2g} of at "
            f"most {most.delta:g}. Left: epsilon = {left.epsilon:.3g}.",
            "Whoever thinks something about you, which no report holds as it is, as likely as not is right about it "
            f"after all of them at most {100 * certainty(spent):.1f} % of the time.",
            COUNTED.format(self.floor) if self.floor else PREFETCHED,
        ]


def certainty(spent: Spent) -> float:
    """How often somebody who sees everything can be right about which of two data there was, each as likely before:
    with probability delta all is told, and else it is a bit that is right with odds e^epsilon."""
    return spent.delta + (1 - spent.delta) / (1 + math.exp(-spent.epsilon))
