"""Carry out attacks: for each a row with the claim, the bound, and whether it is as it should be."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng

from reticent import checks
from reticent.data import Array
from reticent_lab.audit.attack import Attack
from reticent_lab.audit.bound import CONFIDENCE, FEWEST, exact_bound, gaussian_bound, general_bound

RUNS = 30_000
PICTURED = 2000  # scores of each world for the picture of an exact audit


@dataclass(frozen=True, kw_only=True)
class Row:
    """What came of one attack. `runs` is per world; 0 where the law is enumerated, and then `confidence` is 1."""

    attack: Attack
    epsilon_lower: float
    confidence: float
    runs: int
    scores: tuple[Array, Array] = field(repr=False)

    @property
    def convicted(self) -> bool:
        """The bound is above the claim (by more than rounding)."""
        return self.epsilon_lower > self.attack.epsilon * (1 + 1e-6)

    @property
    def as_expected(self) -> bool:
        """Claims hold, and planted bugs are found."""
        return self.convicted != self.attack.claimed

    def json(self) -> dict[str, Any]:
        a = self.attack
        return {
            "name": a.name,
            "epsilon": a.epsilon,
            "delta": a.delta,
            "epsilon_lower": self.epsilon_lower,
            "confidence": self.confidence,
            "runs": self.runs,
            "view": a.view,
            "claimed": a.claimed,
        }


def carry_out(attack: Attack, *, runs: int = RUNS, seed: int = 0) -> Row:
    """One attack. Its random numbers depend on the seed and on its name alone."""
    _check_runs(attack, runs)
    if attack.exact is None:
        zero, one = _scores(attack, attack.runs(runs), seed)
        bound = gaussian_bound if attack.family == "gaussian" else general_bound
        lower, confidence, used = bound(zero, one, attack.delta), CONFIDENCE, len(zero)
    else:
        zero, one = _scores(attack, min(PICTURED, attack.runs(runs)), seed)
        lower, confidence, used = exact_bound(attack.exact, attack.delta), 1.0, 0
    return Row(attack=attack, epsilon_lower=lower, confidence=confidence, runs=used, scores=(zero, one))


def carry_out_all(
    attacks: Sequence[Attack], *, runs: int = RUNS, seed: int = 0, progress: Callable[[float], None] | None = None
) -> list[Row]:
    """All of them, in order."""
    for attack in attacks:
        _check_runs(attack, runs)
    rows = []
    for done, attack in enumerate(attacks):
        rows.append(carry_out(attack, runs=runs, seed=seed))
        if progress is not None:
            progress((done + 1) / len(attacks))
    return rows


def _check_runs(attack: Attack, runs: int) -> None:
    checks.positive_int(runs=runs)
    fewest = math.ceil((FEWEST - 1) / attack.share) + 1
    if attack.exact is None and attack.runs(runs) < FEWEST:
        raise ValueError(f"Expected runs of at least {fewest} for {attack.name}, got {runs}.")


def _scores(attack: Attack, runs: int, seed: int) -> tuple[Array, Array]:
    """Scores of both worlds, from independent random numbers."""
    name = int.from_bytes(hashlib.sha256(attack.name.encode()).digest()[:8], "big")
    out = []
    for world, child in enumerate(SeedSequence([seed, name]).spawn(2)):
        scores = np.asarray(attack.scores(world, runs, default_rng(child)), float)
        if scores.shape != (runs,):
            raise ValueError(f"Expected {runs} scores from {attack.name}, got shape {scores.shape}.")
        out.append(scores)
    return out[0], out[1]
