"""What can be proven against an algorithm or a model of somebody's own, in a file: `reticent audit FILE.py:CLASS`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from numpy.random import SeedSequence, default_rng

from reticent.core.bandit import Bandit
from reticent.core.live import Live
from reticent.experiments.spec import Spec
from reticent.joint import JointGLM
from reticent.privacy.budget import Budget
from reticent.testing import pairs
from reticent_devices.bandits.server import Server
from reticent_lab.arena.audit import PROBES, QUIET, WORLD, attack
from reticent_lab.arena.submission import loaded
from reticent_lab.arena.worlds import DELTA
from reticent_lab.audit.verdict import carry_out_all

EPSILON = 4.0


class Audited(NamedTuple):
    """holds: nothing was proven above the claim."""

    text: str
    holds: bool


def audited(path: Path, name: str, *, runs: int, seed: int, progress: Callable[[float], None]) -> Audited:
    """A class of bandits or servers; or what makes a model of settings: a function, or a class with `of`."""
    kind, budget = loaded(path, name), Budget(EPSILON, DELTA)
    if isinstance(kind, type) and issubclass(kind, JointGLM | Live | Server):
        spec = Spec(kind, budget=budget)
    else:
        spec = Spec(JointGLM, budget=budget, model=getattr(kind, "of", kind))
    horizon = 1 + QUIET + PROBES
    bandit: Any = spec.build(WORLD, horizon, SeedSequence(seed))
    said = [
        f"{name} of {path}, budget epsilon {budget.epsilon:g} at delta {budget.delta:g}",
        "",
        str(bandit.privacy),
        "",
    ]
    if isinstance(bandit, Bandit):
        share = pairs.share(Bandit(bandit.algorithm), default_rng(seed))
        holds = share <= 1.0
        said.append(f"One person moved the sums by {100 * share:.1f} % of what the ledger has: {_word(holds)}.")
    found = carry_out_all([attack(spec, EPSILON, one_set=False)], runs=runs, seed=seed, progress=progress)[0]
    below = found.epsilon_lower <= budget.epsilon
    said.append(
        f"Later users' arms prove an epsilon of at least {found.epsilon_lower:.3g}, by {runs} runs of each world, with "
        f"confidence {found.confidence:g}: {_word(below)}."
    )
    return Audited("\n".join(said), holds and below)


def _word(holds: bool) -> str:
    return "the claim stands" if holds else "the claim is false"
