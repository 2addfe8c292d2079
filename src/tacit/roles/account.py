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
        """What may still be told. mu: to a task that nothing was told to yet."""
        spent, most = self.spent, self.lifetime
        return Lifetime(
            epsilon=max(0.0, most.epsilon - spent.epsilon),
            delta=max(0.0, most.delta - spent.delta),
            mu=math.sqrt(max(0.0, most.mu**2 - spent.mu**2)),
        )

    @property
    def lines(self) -> list[str]:
        """All of it, in words."""
        spent, most, left = self.spent, self.lifetime, self.left
        s = "" if self.reports == 1 else "s"
        out = [f"{self.reports} report{s} left this device or will leave it, {self.waiting} of them waiting."]
        if most.epsilon > 0 or spent.epsilon > 0:
            out.append(
                f"Added up: epsilon = {spent.epsilon:.3g} of at most {most.epsilon:g}, delta = {spent.delta:.2g} of at "
                f"most {most.delta:g}. Left: epsilon = {left.epsilon:.3g}."
            )
        if most.mu > 0 or spent.mu > 0:
            out.append(
                f"To pairs of aggregators: mu = {spent.mu:.3g} of at most {most.mu:g}. Left for a new task: "
                f"{left.mu:.3g}. Against two aggregators that work together nothing of this holds."
            )
        out.append(
            "Whoever thinks something about you, which no report holds as it is, as likely as not is right about it "
            f"after all of them at most {100 * certainty(spent):.1f} % of the time."
        )
        return [*out, COUNTED.format(self.floor) if self.floor else PREFETCHED]


def certainty(spent: Spent) -> float:
    """How often somebody who sees everything can be right about which of two data there was, each as likely before.

    What is added up is as good as a bit that is right with probability p = e^epsilon / (1 + e^epsilon), and with
    probability delta tells all. After it the odds are e^epsilon, and the best test of two Gaussians mu apart with these
    odds is right with probability p Phi(mu / 2 + epsilon / mu) + (1 - p) Phi(mu / 2 - epsilon / mu)."""
    p = 1 / (1 + math.exp(-spent.epsilon))
    right = p
    if spent.mu > 0:
        shift = spent.epsilon / spent.mu
        right = p * _below(spent.mu / 2 + shift) + (1 - p) * _below(spent.mu / 2 - shift)
    return spent.delta + (1 - spent.delta) * right


def _below(t: float) -> float:
    return math.erfc(-t / math.sqrt(2)) / 2
