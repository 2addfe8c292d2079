"""A stranger's algorithm: a Python file with a class, and a line of TOML that names it.

    mine = { file = "mine.py", class = "Mine", trust = "joint", options = { width = 0.5 } }

The class is a bandit of reticent, or has these four, and needs nothing of reticent:

    Mine(dim=, arms=, horizon=, epsilon=, delta=, radius=, link=, seed=, **options)
    choose(arms) -> int            arms: (K, d) array
    observe(arm, reward) -> None   the arm that was chosen, and its reward, in order
    claim() -> dict                {"epsilon": ..., "delta": ..., "relation": ..., "why": ...}: what it promises

`close()` is called at the end, if there is one. The claim of such a class is its author's word: the row says so."""

import hashlib
import importlib.util
import math
import operator
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from reticent import checks
from reticent.core.choices import Index
from reticent.core.live import Live
from reticent.data import Array, Integers
from reticent.joint import JointGLM
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import Certificate, plain_certificate
from reticent_devices.bandits.server import Server
from reticent_lab import plain
from reticent_lab.arena.entries import Player, each_epsilon, entries
from reticent_lab.arena.worlds import DELTA

TRUSTS = ("joint", "shuffle", "local")
KEYS = {"file", "class", "trust", "options", "runs"}
STATED = "As its author states, not computed by reticent: "


def submitted(path: Path) -> Iterator[Player]:
    """The entries of a file of such lines. ValueError for what is none."""
    ours = {entry.name for entry in entries()}
    for name, line in tomllib.loads(path.read_text()).items():
        if name in ours:
            raise ValueError(f"Expected a name in {path} that no bandit of the arena has, got {name}.")
        if not isinstance(line, dict) or not {"file", "class", "trust"} <= line.keys() <= KEYS:
            raise ValueError(f"Expected {name} = {{ file = , class = , trust = }} in {path}, got {line!r}.")
        checks.one_of(TRUSTS, trust=line["trust"])
        kind = loaded(path.parent / line["file"], line["class"])
        options, runs = line.get("options", {}), line.get("runs")
        if not (isinstance(kind, type) and issubclass(kind, JointGLM | Live | Server)):
            file = path.parent / line["file"]
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
            options = {"file": str(file), "digest": digest, "script": line["class"], "given": options}
            kind = Submitted
        for entry in each_epsilon(kind, line["trust"], options, name=name):
            yield Player(name=name, trust=entry.trust, epsilon=entry.epsilon, spec=entry.spec, runs=runs)


def loaded(path: Path, name: str) -> Any:
    """What is called `name` in that file."""
    module = f"submitted_{path.stem}"
    spec = importlib.util.spec_from_file_location(module, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"Expected a Python file, got {path}.")
    sys.modules[module] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[module])
    found = getattr(sys.modules[module], name, None)
    if found is None:
        raise ValueError(f"Expected a class {name} in {path}, got none.")
    return found


class SubmittedState(NamedTuple):
    counts: Integers


@dataclass(kw_only=True, eq=False)
class Submitted(plain.Reference):
    """A stranger's class in the place of a bandit: for simulation alone.

    Guarantee: what its author states.
    Reference: the file.
    Departure: rewards are learnt from in the order of choices.
    """

    budget: Budget
    file: str
    digest: str  # of the file: its runs are kept under it
    script: str
    given: dict[str, Any] = field(default_factory=dict)
    policy: Generator = field(default_factory=default_rng, repr=False)

    def __post_init__(self) -> None:
        self._link = plain.check(self)
        self._stranger: Any = None
        super().__post_init__()

    def init(self) -> SubmittedState:
        return SubmittedState(np.zeros(1, np.int64))

    def _opened(self, arms: int) -> Any:
        if self._stranger is None:
            asked = {"dim": self.dim, "arms": arms, "horizon": self.horizon, "radius": self.radius, "link": self.link}
            private = {"epsilon": self.budget.epsilon, "delta": self.budget.delta}
            seed = int(self.policy.integers(2**31))
            self._stranger = loaded(Path(self.file), self.script)(**asked, **private, seed=seed, **self.given)
        return self._stranger

    def _pick(self, features: Array) -> Index:
        stranger = self._opened(features.shape[1])
        chosen = np.array([_index(stranger.choose(arms.copy())) for arms in features], np.int64)
        if (chosen < 0).any() or (chosen >= features.shape[1]).any():
            raise ValueError(f"Expected {self.script}.choose to return the place of an arm, got {chosen.tolist()}.")
        return chosen

    def _learn(self, x: Array, reward: float) -> None:
        self._stranger.observe(x.copy(), float(reward))
        if self.choices == self.horizon and hasattr(self._stranger, "close"):
            self._stranger.close()

    def claimed(self, arms: int = 2) -> dict[str, Any]:
        """Its author's word, for the arena's delta."""
        stranger = self._opened(arms)
        said = dict(stranger.claim())
        if hasattr(stranger, "close"):
            stranger.close()
        self._stranger = None
        if not {"epsilon", "delta", "why"} <= said.keys():
            raise ValueError(f"Expected epsilon, delta and why from {self.script}.claim, got {sorted(said)}.")
        epsilon, delta = said["epsilon"], said["delta"]
        if not (isinstance(epsilon, int | float) and 0 < epsilon < math.inf):
            raise ValueError(f"Expected a positive epsilon from {self.script}.claim, got {epsilon!r}.")
        if not (isinstance(delta, int | float) and 0 <= delta <= DELTA):
            raise ValueError(f"Expected a delta of at most {DELTA:g} from {self.script}.claim, got {delta!r}.")
        return said

    @property
    def privacy(self) -> Certificate:
        said = self.claimed()
        return plain_certificate(self.script, f"{STATED}epsilon {said['epsilon']} at {said['delta']}: {said['why']}")


def _index(chosen: Any) -> int:
    """-1 for what is no whole number."""
    try:
        return operator.index(chosen)
    except TypeError:
        return -1
