"""What a device has told: every report that left it or will leave it, and every arm that was displayed with a floor.

Epsilons and deltas are added up (basic composition). That holds whatever the servers are and however they choose the
next billboard by the last report, it holds at every time, and it is the same in js/src/ledger.js. Bounds that grow like
the root of the number of reports ask for parameters that are fixed beforehand or for a limit in place of a sum, and are
no smaller for the first 95 reports of epsilon = 1 (with a slack of 1e-6 in delta)."""

from collections.abc import Iterable
from dataclasses import dataclass

from tacit.errors import LifetimeSpent
from tacit.mechanisms.local import MARGIN
from tacit.privacy.budget import Budget

REPORT, DISPLAY = "report", "display"


@dataclass
class Charge:
    """So many times the same: to which server, of what kind, for which batch (None in the local model), at which cost
    each."""

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


def charged(entries: list[Charge], more: Iterable[Charge], lifetime: Budget) -> list[Charge]:
    """The entries with more, if that is within the limit; LifetimeSpent if not."""
    after = [Charge(**vars(entry)) for entry in entries]
    for one in more:
        alike = next((entry for entry in after if entry.like(one)), None)
        if alike is None:
            after.append(one)
        else:
            alike.count += 1
    spent = composed(after)
    if not (spent.epsilon <= lifetime.epsilon * (1 + MARGIN) and spent.delta <= lifetime.delta * (1 + MARGIN)):
        raise LifetimeSpent(
            f"Expected epsilon at most {lifetime.epsilon:g} and delta at most {lifetime.delta:g} in this device's "
            f"lifetime, got {spent.epsilon:g} and {spent.delta:g} with one more choice."
        )
    return after


def refunded(entries: list[Charge], one: Charge) -> list[Charge]:
    """The entries without one, whose report was never made."""
    after = [Charge(**{**vars(entry), "count": entry.count - entry.like(one)}) for entry in entries]
    return [entry for entry in after if entry.count]
