"""What a device has told: every report that left it or will leave it, and every arm that was displayed with a floor.
Entries are never deleted, unless a report was never made. js/src/ledger.js does the same.

Whatever the servers are and however they choose the next billboard by the last report, epsilons and deltas of reports
and displayed arms are added up (basic composition). Bounds that grow like the root of the number of reports are no
smaller for the first 95 reports of epsilon = 1 (with a slack of 1e-6 in delta)."""

from collections.abc import Iterable
from dataclasses import dataclass

from tacit import checks
from tacit.errors import LifetimeSpent
from tacit.mechanisms.local import MARGIN

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
