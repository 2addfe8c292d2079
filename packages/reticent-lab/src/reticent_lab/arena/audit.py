"""What the arms of later users tell of one user: the same attack on everybody who plays, ours and strangers'."""

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence

from reticent.data import Array
from reticent.environments import ball
from reticent.errors import BudgetExceeded
from reticent.experiments.spec import Spec, settings_of
from reticent.privacy.budget import Budget
from reticent.testing.stage import User, probe, users
from reticent_lab.arena.entries import Player
from reticent_lab.arena.worlds import DELTA
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BLACK
from reticent_lab.audit.verdict import carry_out

QUIET, PROBES = 8, 72  # users who contribute nothing, and then users who look
RUNS = 5000  # a world: enough to prove epsilon 6.2, so that what adds no noise is convicted at a claim of 4
SIGHT = 150  # a world: enough to prove epsilon 2.7
SEEN = 1.0  # what has to be proven of the same algorithm without noise
EARLY = 8  # choices before the first release of what otherwise has none in time
WORLD = ball(dim=2, arms=2, radius=1.0, link="logistic")
VERSION = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()  # of this attack


class Audited(NamedTuple):
    """at_least: a lower bound on epsilon, at 99.9 %; None where the attack would see nothing without noise, either."""

    at_least: float | None
    runs: int


def audited(entry: Player, *, runs: int = RUNS, given: bool = False) -> Audited:
    """Of an entry as it plays, or with an early first release if the attack is blind otherwise. given: a stranger's
    class, whose noise nobody can leave out here."""
    for spec in [entry.spec] if given else sighted(entry):
        found = carry_out(attack(spec, entry.epsilon, one_set=bool(entry.only_in)), runs=runs)
        return Audited(found.epsilon_lower, runs)
    return Audited(None, 0)


def sighted(entry: Player) -> Iterator[Spec]:
    """Those of the variants of an algorithm of which the attack learns something where there is no noise."""
    spec, one_set = entry.spec, bool(entry.only_in)
    has_first = "first" in settings_of(spec.kind) and "first" not in spec.options
    for more in ({}, {"first": EARLY}) if has_first else ({},):
        plain = Spec(spec.kind, **spec.options | more)
        if any(_bound(plain, epsilon, one_set) >= SEEN for epsilon in (math.inf, 1e4)):
            yield plain


def _bound(spec: Spec, epsilon: float, one_set: bool) -> float:
    """With a budget of so much; 0 where it is refused: what has no version without noise has one with little."""
    try:
        loud = Spec(spec.kind, **spec.options | {"budget": Budget(epsilon, DELTA)})
        return carry_out(attack(loud, 1.0, one_set=one_set), runs=SIGHT).epsilon_lower
    except (ValueError, BudgetExceeded):
        return 0.0


def attack(spec: Spec, claim: float, *, one_set: bool) -> Attack:
    """User 1 has the best reward in one world and the worst in the other, for the same arm; each of the last users
    offers itself tiny arms -v and v, in this order: what knows nothing, and takes the first, is seen to. Score: how
    many got v. Who takes one arm set alone is always offered the two unit vectors, later rewards are the middle, and
    the score is which later users got the first, the sooner the more."""
    low, high = WORLD.rewards
    arm = np.array([1.0, 0.0])

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i in range(runs):
            bandit = spec.build(WORLD, 1 + QUIET + PROBES, SeedSequence(int(rng.integers(2**63))))
            first = User(np.stack([arm, arm]), high if world else low)
            quiet = User(np.zeros((2, 2)), low)
            later = [*[quiet] * QUIET, *[probe(-arm, (low + high) / 2)] * PROBES]
            if one_set:
                first, later = first._replace(arms=np.eye(2)), [User(np.eye(2), (low + high) / 2)] * len(later)
            block = users([first, *later])
            bandit.play(block)
            got = block.index[1:] == (0 if one_set else 1)
            out[i] = (got / np.arange(1, 1 + len(got))).sum() if one_set else np.count_nonzero(got[QUIET:])
        return out

    return Attack(
        name="arena",
        view=BLACK,
        epsilon=claim,
        delta=DELTA,
        how=f"User 1 has reward {low:g} or {high:g}, then {QUIET} users contribute nothing, then {PROBES} users offer "
        "themselves tiny arms -v and v; score: how many got v. Where arms are the same for all: which later users got "
        "the first arm.",
        scores=scores,
    )
