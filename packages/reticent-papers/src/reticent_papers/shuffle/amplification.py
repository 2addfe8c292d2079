"""Privacy amplification by shuffling: what a batch of locally private reports guarantees once nobody knows who sent
what."""

import math

from reticent import checks
from reticent.privacy import search
from reticent.privacy.budget import Budget


def amplified(local: float, users: int, delta: float) -> float:
    """An epsilon at delta of `users` shuffled reports, each pure `local`-private: ln(1 + (e^l - 1) / (e^l + 1)
    (8 sqrt(e^l ln(4 / delta) / n) + 8 e^l / n)), which holds if l <= ln(n / (16 ln(2 / delta))); else `local` itself,
    since shuffling is post-processing.

    Reference: Feldman, McMillan & Talwar 2021, arXiv:2012.12803, Theorem 3.1."""
    checks.positive(local=local)
    checks.positive_int(users=users)
    checks.probability(delta=delta)
    if local > largest_local(users, delta):
        return local
    odds = math.exp(local)
    share = (odds - 1) / (odds + 1)
    mixed = math.log1p(share * (8 * math.sqrt(odds * math.log(4 / delta) / users) + 8 * odds / users))
    return min(local, mixed)


def largest_local(users: int, delta: float) -> float:
    """The largest local epsilon that the bound covers; -inf where a batch is too small for any."""
    return math.log(users / (16 * math.log(2 / delta)))


def local_epsilon(budget: Budget, users: int) -> float:
    """The largest local epsilon whose shuffled reports keep the budget by the bound above. Refuses a batch so small
    that the bound does not hold: published code assumes it there all the same."""
    budget.needs_delta("a shuffled sum")
    top = largest_local(users, budget.delta)
    if top <= 0 or amplified(min(top, budget.epsilon), users, budget.delta) >= min(top, budget.epsilon):
        raise ValueError(
            f"Expected a batch large enough for amplification by shuffling at delta {budget.delta:g} "
            f"(more than {math.ceil(16 * math.log(2 / budget.delta))} users, and enough for its constants to help), "
            f"got {users}."
        )

    def too_much(local: float) -> bool:
        return amplified(local, users, budget.delta) > budget.epsilon

    return search.halved(too_much, 0.0, top, digits=1e-9)[0] if too_much(top) else top
