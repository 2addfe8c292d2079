"""The person's view of a device's ledger: what left, what that adds up to, and what is left (js/src/account.js)."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from reticent import checks
from reticent.errors import LifetimeSpent
from reticent_devices.mechanisms.local import MARGIN

REPORT, DISPLAY = "report", "display"


@dataclass(frozen=True, kw_only=True)
class Lifetime:
    """The most that a person ever tells, to all servers together."""

    epsilon: float = 0.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative(epsilon=self.epsilon, delta=self.delta)
        if not self.delta < 1:
            raise ValueError(f"Expected delta in [0, 1), got {self.delta:g}.")


@dataclass
class Charge:
    """So many times the same: to which server, of what kind, for which batch (None but in the shuffle model), at which
    cost each."""

    server: str
    what: str
    batch: int | None
    epsilon: float
    delta: float
    count: int = 1

    def like(self, other: "Charge") -> bool:
        return {**vars(self), "count": 0} == {**vars(other), "count": 0}


@dataclass(frozen=True)
class Spent:
    """Whoever sees all that the entries stand for learns about the person as much as from one (epsilon, delta)-private
    answer; in the shuffle model, as long as the shufflers keep single reports to themselves."""

    epsilon: float
    delta: float
    entries: list[Charge]


def composed(entries: list[Charge]) -> Spent:
    epsilon = sum(entry.count * entry.epsilon for entry in entries)
    delta = sum(entry.count * entry.delta for entry in entries)
    return Spent(float(epsilon), float(min(1, delta)), entries)


def charged(entries: list[Charge], more: Iterable[Charge], lifetime: Lifetime) -> list[Charge]:
    """The entries with more, if that is within the limit; LifetimeSpent if not."""
    after = [Charge(**vars(entry)) for entry in entries]
    for one in more:
        alike = next((entry for entry in after if entry.like(one)), None)
        if alike is None:
            after.append(one)
        else:
            alike.count += 1
    spent = composed(after)
    for name in ("epsilon", "delta"):
        limit, found = getattr(lifetime, name), getattr(spent, name)
        if not found <= limit * (1 + MARGIN):
            raise LifetimeSpent(
                f"Expected {name} at most {limit:g} in this device's lifetime, got {found:g} with one more choice."
            )
    return after


def refunded(entries: list[Charge], one: Charge) -> list[Charge]:
    """The entries without one, whose report was never made."""
    after = [Charge(**{**vars(entry), "count": entry.count - entry.like(one)}) for entry in entries]
    return [entry for entry in after if entry.count]


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
