"""What a device has told: every report that left it or will leave it, and every arm that was displayed with a floor.
Entries are never deleted, unless a report was never made. js/src/ledger.js does the same.

How they add up, whatever the servers are and however they choose the next billboard by the last report:

- Reports of the local and the shuffle model, and displayed arms: epsilons and deltas are added up (basic composition).
  Bounds that grow like the root of the number of reports are no smaller for the first 95 reports of epsilon = 1 (with a
  slack of 1e-6 in delta).
- Reports to two aggregators are mu-GDP. Of k reports to one task each moves the same releases by at most mu standard
  deviations, so all of them together by at most k mu: linear, by the triangle inequality. Different tasks have
  different noise, so that their squares add up; that holds too where later ones are chosen in the light of earlier
  ones, as long as a limit on the sum of squares is kept (a filter: Smith & Thakurta 2022, arXiv:2210.17520). Each task
  has two mu, one against each aggregator. Which of them is bad is not known, so the larger one counts:
      mu = sqrt(sum over tasks of (k max(mu against the operator, mu against the helper))^2).

The two kinds have limits of their own, both fixed beforehand: two interactions, each within its limit, compose as two
mechanisms do, also interleaved (Vadhan & Zhang 2023, arXiv:2207.08335)."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tacit import checks
from tacit.errors import LifetimeSpent
from tacit.mechanisms.local import MARGIN

REPORT, DISPLAY = "report", "display"


@dataclass(frozen=True, kw_only=True)
class Lifetime:
    """The most that a person ever tells, to all servers together: epsilon and delta of what is added up, mu of reports
    to two aggregators. 0: nothing of that kind."""

    epsilon: float = 0.0
    delta: float = 0.0
    mu: float = 0.0

    def __post_init__(self) -> None:
        checks.non_negative(epsilon=self.epsilon, delta=self.delta, mu=self.mu)
        if not self.delta < 1:
            raise ValueError(f"Expected delta in [0, 1), got {self.delta:g}.")


@dataclass
class Charge:
    """So many times the same: to which server, of what kind, for which batch (None but in the shuffle model), at which
    cost each. To two aggregators also task (its digest), parties (their identities, which the application pins) and mu
    against each: of the operator first."""

    server: str
    what: str
    batch: int | None
    epsilon: float
    delta: float
    count: int = 1
    task: str | None = None
    parties: list[str] | None = None
    mu: list[float] | None = None

    def like(self, other: "Charge") -> bool:
        return {**vars(self), "count": 0} == {**vars(other), "count": 0}


@dataclass(frozen=True)
class Spent:
    """Whoever sees all that the entries stand for learns about the person as much as from one (epsilon, delta)-private
    answer and one that is mu-GDP; in the shuffle model, as long as the shufflers keep single reports to themselves, and
    of each two aggregators one at most is bad."""

    epsilon: float
    delta: float
    mu: float
    entries: list[Charge]


def composed(entries: list[Charge]) -> Spent:
    added = [entry for entry in entries if entry.mu is None]
    epsilon = sum(entry.count * entry.epsilon for entry in added)
    delta = sum(entry.count * entry.delta for entry in added)
    tasks: defaultdict[str | None, float] = defaultdict(float)
    for entry in entries:
        if entry.mu is not None:
            tasks[entry.task] += entry.count * max(entry.mu)
    mu = math.sqrt(sum(task * task for task in tasks.values()))
    return Spent(float(epsilon), float(min(1, delta)), mu, entries)


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
    for name in ("epsilon", "delta", "mu"):
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
