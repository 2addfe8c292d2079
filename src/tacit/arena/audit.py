"""What the arms of later users tell of one user: the same attack on everybody who plays, ours and strangers'."""

import numpy as np
from numpy.random import Generator, SeedSequence

from tacit.arena.entries import Player
from tacit.audit.attack import Attack
from tacit.audit.attacks.bandits import BLACK
from tacit.audit.stage import User, probe, users
from tacit.audit.verdict import carry_out
from tacit.data import Array
from tacit.environments import ball

QUIET, PROBES = 40, 40  # users who contribute nothing, and then users who look
RUNS = 5000  # a world: enough to prove epsilon 6.2, so that what adds no noise is convicted at a claim of 4
WORLD = ball(dim=2, arms=2, radius=1.0, link="logistic")


def audited(entry: Player, *, claim: float, delta: float, runs: int = RUNS) -> float:
    """A lower bound on epsilon at delta, at 99.9 %; 0 where 80 rounds show nothing."""
    return carry_out(attack(entry, claim=claim, delta=delta), runs=runs).epsilon_lower


def attack(entry: Player, *, claim: float, delta: float) -> Attack:
    """User 1 has the best reward in one world and the worst in the other, for the same arm; each of the last users
    offers itself tiny arms v and -v. Score: how many got v. Who takes one arm set alone is always offered the two unit
    vectors, later rewards are the middle, and the score is which later users got the first, the sooner the more."""

    def scores(world: int, runs: int, rng: Generator) -> Array:
        arm = np.array([1.0, 0.0])
        out = np.empty(runs)
        for i in range(runs):
            bandit = entry.spec.build(WORLD, 1 + QUIET + PROBES, SeedSequence(int(rng.integers(2**63))))
            low, high = WORLD.rewards
            first = User(np.stack([arm, arm]), high if world else low)
            quiet = User(np.zeros((2, 2)), low)
            later = [*[quiet] * QUIET, *[probe(arm, (low + high) / 2)] * PROBES]
            if entry.only:
                first, later = first._replace(arms=np.eye(2)), [User(np.eye(2), (low + high) / 2)] * len(later)
            block = users([first, *later])
            bandit.play(block)
            got = block.index[1:] == 0
            out[i] = (got / np.arange(1, 1 + len(got))).sum() if entry.only else np.count_nonzero(got[QUIET:])
        return out

    return Attack(
        name="arena",
        view=BLACK,
        epsilon=claim,
        delta=delta,
        how="User 1 has reward 0 or 1, then 40 users contribute nothing, then 40 users offer themselves tiny arms v "
        "and -v; score: how many got v. Where arms are the same for all: which later users got the first arm.",
        scores=scores,
    )
