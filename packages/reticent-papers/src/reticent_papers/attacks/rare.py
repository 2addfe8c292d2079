"""Attacks on the rarely switching bandit: its two kinds of releases together, its later actions, and its timing."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from reticent.data import Array
from reticent.mechanisms.opening import opened
from reticent.privacy.noise import Simulated, Source
from reticent.testing.canary import worst_canary
from reticent.testing.stage import Make, User, fresh, nobody, users
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.attacks.bandits import BLACK, BUDGET, WHITE, Pair, black_box
from reticent_papers import JointGLMRare
from reticent_papers.joint.glm_rare_kernel import CALLS_O

ROUNDS = 4
TIMING: dict[str, Any] = {"radius": 6.0, "ridge": 200.0, "shrink": 0.1, "iterations": 2}  # privacy holds for any
PROBES = [0.01 * sign * np.array([math.cos(a), math.sin(a)]) for a in np.arange(4) * math.pi / 4 for sign in (1, -1)]
COS = 0.25  # of the two arms: what the design matrices tell and what the gradients tell, together, is then the most


def attacks() -> Sequence[Attack]:
    pair = Pair(([1.0, 0.0], 0.0), ([COS, math.sqrt(1 - COS**2)], 1.0))
    opposite = Pair(([1.0, 0.0], 0.0), ([1.0, 0.0], 1.0))
    unexplored = rare(explore=0.99 * math.sqrt(0.05))
    return [
        gradients_attack(rare(), pair),
        black_box("joint-glm-rare-actions", unexplored, opposite, direction=[1.0, 0.0], share=0.5),
        timing_attack("strict"),
        timing_attack("published"),
    ]


def rare(**options: Any) -> Make:
    """One short step of descent: the estimate is then the noisy gradient sum, times a public number. The small ridge
    makes the noise alone recompute it."""

    def make(source: Source) -> JointGLMRare:
        settings = {"dim": 2, "horizon": ROUNDS, "radius": 0.1, "ridge": 0.05, "pending": ROUNDS} | options
        descent: dict[str, Any] = {"iterations": 1, "step": 1e-3, "most_o": 1, "most_tau": 1}
        return JointGLMRare(budget=BUDGET, source=source, **descent, **settings)

    return make


def gradients_attack(make: Make, pair: Pair) -> Attack:
    """The first user is in T_o in both worlds: it moves V in every release, and the gradient sum of theta_o."""
    bandit = make(Simulated(0))
    canary = worst_canary(bandit.mechanism, leaf=0)
    designs, gradients = [], []
    for x, reward in pair:
        bandit._state = bandit.init()
        bandit.contribution.add(np.array(x), True, bandit._state.design.theta_o, opened(bandit._state.prefix).open)
        designs.append(opened(bandit._state.prefix).open.copy())
        gradients.append((float(bandit._link.mean(0.0)) - reward) * np.array(x))  # at theta_o = 0
    middle, design = (designs[0] + designs[1]) / 2, designs[1] - designs[0]
    centre, gradient = (gradients[0] + gradients[1]) / 2, (gradients[1] - gradients[0]) / bandit._sigma_o**2
    rule = bandit._rule

    def scores(world: int, runs: int, rng: Generator) -> Array:
        first, later = users([pair.user(world)]), users([nobody(bandit.dim)])
        out = np.zeros(runs)
        for i, played in enumerate(fresh(make, runs, rng)):
            state = played._state
            played.play(first)
            seen = False
            for t in range(ROUNDS - 1):
                played.play(later)
                residual = state.prefix.released - canary.moves[t] * middle
                out[i] += canary.mu * canary.weights[t] * (design @ residual)
                if state.counts[CALLS_O] and not seen:
                    seen = True
                    smooth = rule.slope * np.linalg.eigvalsh(state.design.gram)[-1]
                    released = -state.design.theta_o * (rule.shrink_o + smooth) / rule.step
                    out[i] += gradient @ (released - centre)
        return out

    return Attack(
        name="joint-glm-rare",
        view=WHITE,
        epsilon=bandit.privacy.epsilon,
        delta=BUDGET.delta,
        how=f"User 1 has {pair}, the others contribute nothing; score: likelihood ratio of all releases of V and H and "
        "of the gradient sum.",
        scores=scores,
        family="gaussian",
        share=0.5,
    )


def timing_attack(timing: str) -> Attack:
    """Later users notice whether the first one made the bandit recompute its estimate."""

    def scores(world: int, runs: int, rng: Generator) -> Array:
        return noticed(timing, bool(world), runs, rng).astype(float)

    return Attack(
        name="joint-glm-rare-timing" if timing == "strict" else "joint-glm-rare-published-timing",
        view=BLACK,
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        claimed=timing == "strict",
        how="User 1's arms are unit vectors or tiny, so that it explores or not; each of the next 8 users offers "
        "itself tiny arms v and -v; score: whether one of them got its second arm. Constants are chosen for it.",
        scores=scores,
        share=0.1,
    )


def noticed(timing: str, explores: bool, runs: int, rng: Generator, options: dict[str, Any] = TIMING) -> Array:
    """In which runs some later user got its second arm."""

    def make(source: Source) -> JointGLMRare:
        return JointGLMRare(dim=2, horizon=64, budget=BUDGET, timing=timing, source=source, pending=64, **options)

    first = User((1.0 if explores else 0.001) * np.eye(2), 1.0)
    block = users([first, *(User(np.stack([v, -v]), 0.5) for v in PROBES)])
    out = np.empty(runs, bool)
    for i, bandit in enumerate(fresh(make, runs, rng)):
        bandit.play(block)
        out[i] = bool((block.index[1:] == 1).any())
    return out
