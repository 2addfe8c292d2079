"""Attacks on experiments: on the released sums of a group, on all releases of the bandit's and of the holdout's people,
and on how many each group is said to have."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.core.bandit import Bandit
from reticent.data import Array
from reticent.model.holdout import Holdout
from reticent.privacy.noise import Simulated
from reticent.testing.canary import difference
from reticent.testing.stage import fresh, released
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BUDGET, GLM_PAIR, WHITE, glm
from reticent_lab.audit.holdout_mutants import CountsAnswers, GroupsByPerson

LEAVES = 60  # of attacks on sums alone
ROUNDS = 12  # of attacks on whole bandits
SUMS, COUNTS = "sums of a group", "counts of groups"
HOLDOUT = Holdout(policy="uniform", share=0.5)
SOME = [np.full((1, 2), 0.1 * k) for k in range(1, 7)]
PEOPLE = [next(arms for arms in SOME if GroupsByPerson.group_of(arms) == group) for group in (0, 1)]
HELD: dict[str, Any] = {"features": 2, "first": 2, "horizon": ROUNDS, "pending": ROUNDS, "window": 1, "default": 0.5}


def attacks() -> Sequence[Attack]:
    return [
        of_group("holdout-bandits-people", 0),
        of_group("holdout-own-people", 1),
        of_sums("holdout-sums"),
        *planted(),
    ]


def planted(*, sound: bool = False) -> Sequence[Attack]:
    """One for each planted bug; with `sound`, the same ones on code without the bug, which must be acquitted."""
    out = [
        of_sums("holdout-late-sums", late=not sound, bug="Rewards from 0 to 1 are summed when they come. "),
        of_counts("holdout-counts-of-answers", Bandit if sound else CountsAnswers, "Answers are counted. "),
        of_counts("holdout-groups-by-person", Bandit if sound else GroupsByPerson, "Groups go by person. "),
    ]
    return [dataclasses.replace(attack, claimed=sound) for attack in out]


def of_group(name: str, group: int) -> Attack:
    """The first number of that group has one or the other of two people; the others are silent, with a reward in the
    middle of its range and arms of 0, and add nothing. Whoever attacks knows the key."""
    make = glm(holdout=HOLDOUT, **HELD)
    bandit = make(Simulated(0))
    steps = _releases(bandit)
    mechanism = dataclasses.replace(bandit.plan.mechanism, leaves=steps)
    added = np.zeros((2, steps, mechanism.size))
    for world, (x, reward) in enumerate(GLM_PAIR):
        adder, row = bandit.sums.adder, np.array([*x, group, 1.0, 0.0])
        adder.add(row[None], np.array([reward]), 0.0, 0.0, added[world, 0])
    test = difference(mechanism, *added)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        x, reward = GLM_PAIR[world]
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            canary, seen = 1 + [played.memory.assignment.group(n) for n in (1, 2)].index(group), 0
            for number in range(1, ROUNDS + 1):
                choice = played.choose(np.array([x]) if number == canary else np.zeros((1, 2)))
                if number == canary:
                    played.observe(choice, reward)
                if played.sums.steps > seen:
                    out[i] += test.score(seen, released(played))
                    seen += 1
        return out

    return Attack(
        name=name,
        view=WHITE,
        epsilon=bandit.privacy.epsilon,
        delta=BUDGET.delta,
        how=f"The first user of {'the bandit' if group == 0 else 'the holdout'} has {GLM_PAIR}; the others are silent; "
        f"score: the {steps} releases, whitened, along the difference of the two contributions.",
        scores=scores,
        family="gaussian",
        share=0.3,
    )


def _releases(bandit: Any) -> int:
    """How many there are within the rounds."""
    for _ in range(ROUNDS):
        bandit.choose(np.zeros((1, 2)))
    return int(bandit.sums.steps)


def of_sums(name: str, *, late: bool = False, bug: str = "") -> Attack:
    """The sum of a holdout whose people do not teach, by the bandit's own mechanism. late: the reward, from 0 to 1, is
    in the step that is open when it comes, the first or another one; else its place from -1/2 to 1/2 is in the first
    step, and it is 0 or 1."""
    made = glm(**HELD | {"first": 10, "horizon": None, "holdout": Holdout(action=0)})(Simulated(0))
    mechanism = dataclasses.replace(made.plan.mechanism, leaves=LEAVES, size=1)
    s = float(made.plan.groups.weights[1, 1])
    worlds = np.zeros((2, LEAVES, 1))
    if late:
        worlds[0, 0], worlds[1, 4 * LEAVES // 5] = s, s
    else:
        worlds[0, 0], worlds[1, 0] = -s / 2, s / 2
    test = difference(mechanism, *worlds)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        many = dataclasses.replace(mechanism, size=runs)  # each number is a run
        source, out = Simulated(int(rng.integers(2**63))), np.zeros(runs)
        state = many.init(source)
        for step in range(LEAVES):
            state.open[:] += worlds[world, step, 0]
            out += test.weights[step, 0] * (many.release(state, source) - test.middle[step, 0])
        return out

    return Attack(
        name=name,
        view=SUMS,
        epsilon=made.privacy.epsilon,
        delta=BUDGET.delta,
        how=f"{bug}A user of the holdout clicks {'at once or later' if late else 'or not'}; nobody else is there; "
        f"score: the holdout's sum at {LEAVES} releases, whitened.",
        scores=scores,
        family="gaussian",
        share=10.0,
    )


def of_counts(name: str, kind: Any, bug: str) -> Attack:
    """The first user answers or does not, and is somebody else; what is told of how many each group has."""
    make = glm(kind, holdout=HOLDOUT, **HELD)

    def scores(world: int, runs: int, rng: Generator) -> Array:
        out = np.empty(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            group = played.memory.assignment.group(1)
            for number in range(1, ROUNDS + 1):
                choice = played.choose(PEOPLE[world if number == 1 else 0])
                if number < ROUNDS - 1 and (number > 1 or world == 0):  # all of these enter
                    played.observe(choice, 0.5)
            counts = played.trial_sums.looks[-1].counts
            out[i] = counts[1] if kind is GroupsByPerson else -counts[group]
        return out

    return Attack(
        name=name,
        view=COUNTS,
        epsilon=make(Simulated(0)).privacy.epsilon,
        delta=BUDGET.delta,
        how=f"{bug}User 1 answers, or is another who does not; the others are the same; score: how many of a group "
        "there are said to be.",
        scores=scores,
        family="gaussian",
        share=0.01,
        fewest=40,
    )
