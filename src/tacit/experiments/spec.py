"""What to run: a bandit's class and the options that the environment does not settle."""

import dataclasses
import math
from typing import Any

from numpy.random import SeedSequence, default_rng

from tacit.bandits.base import Bandit
from tacit.bandits.embedded import Embedded
from tacit.bandits.server import Server
from tacit.environments.base import Environment
from tacit.environments.delay import Delay
from tacit.model.control import Control
from tacit.model.links import Link
from tacit.privacy.budget import Budget
from tacit.privacy.noise import Simulated
from tacit.registry import kebab

FROM_THE_RUN = {"horizon", "source", "policy", "pending"}
WAITED_FOR = 1 - 1e-6  # share of late rewards that a bandit without deadlines waits for
MOST_WAITING = 100_000  # choices


class Spec:
    """`Spec(JointGLM, budget=Budget(1, 1e-6), first=50)`: dim, features, radius, rewards, subgaussian, link and
    horizon come from the environment and the run unless given here, those that have an effect. A server runs with its
    devices in one process.
    """

    def __init__(self, kind: type[Bandit] | type[Server], *, label: str | None = None, **options: Any) -> None:
        if not (isinstance(kind, type) and issubclass(kind, Bandit | Server)):
            raise ValueError(f"Expected the class of a bandit, e.g. JointGLM, got {kind!r}.")
        names = {f.name for f in dataclasses.fields(kind) if f.init}
        names = names - FROM_THE_RUN
        unknown = set(options) - names
        if unknown:
            raise ValueError(
                f"Expected options of {kind.__name__} ({', '.join(sorted(names))}), got {', '.join(sorted(unknown))}."
            )
        self.kind = kind
        self.options = options
        self._label = label
        self._names = names | FROM_THE_RUN & {f.name for f in dataclasses.fields(kind)}

    def build(self, environment: Environment, horizon: int, seed: SeedSequence, delay: Delay | None = None) -> Bandit:
        """A fresh bandit for one run, its policy's draws and its noise from `seed`. delay: of rewards, which choices
        wait for."""
        environment = self.suited(environment)
        serves = issubclass(self.kind, Server)  # devices choose among vectors, and the server knows of their zeros
        if environment.blocks and not self._takes_rows:
            raise ValueError(f"Expected a bandit that takes blocks (joint-glm) where arms are apart, got {self.name}.")
        policy, privacy = seed.spawn(2)
        known: dict[str, Any] = {
            "dim": environment.dim,
            "features": environment.features if environment.blocks or serves else None,  # else arms are vectors
            "radius": environment.radius,
            "rewards": environment.rewards,
            "subgaussian": environment.subgaussian,
            "link": environment.link,
            "horizon": horizon,
            "pending": self._pending(horizon, delay),
            "policy": default_rng(policy),
            "source": Simulated(privacy),
        }
        idle = () if issubclass(self.kind, Server) else self.kind.idle(known | self.options)
        told = {k: v for k, v in known.items() if k in self._names and k not in idle}
        built = self.kind(**told | self.options)
        return Embedded(built, pending=known["pending"]) if isinstance(built, Server) else built

    def _pending(self, horizon: int, delay: Delay | None) -> int:
        """Choices that wait: until their deadline, or for almost all rewards that ever come."""
        hold = self.options.get("hold")
        if hold or delay is None:
            return 1 + (hold or 0)
        return min(delay.soon(WAITED_FOR), horizon, MOST_WAITING)

    def suited(self, environment: Environment) -> Environment:
        """That environment, with arms as this bandit takes them where either would do."""
        return environment.suited(blocks=self._takes_rows)

    @property
    def _takes_rows(self) -> bool:
        """Whether this bandit takes blocks."""
        return issubclass(self.kind, Bandit) and self.kind._takes_blocks

    @property
    def private(self) -> bool:
        return "budget" in self._names

    @property
    def budget(self) -> Budget | None:
        return self.options.get("budget")

    @property
    def name(self) -> str:
        return kebab(self.kind.__name__)

    @property
    def label(self) -> str:
        """A short name for tables and figures."""
        if self._label:
            return self._label
        rest = [f"{k}={_short(v)}" for k, v in self.options.items() if k != "budget"]
        parts = [self.name, *rest]
        if self.budget is not None:
            parts.append("no noise" if self.budget.epsilon == math.inf else f"ε={self.budget.epsilon:g}")
        return " ".join(parts)

    def plain_options(self) -> dict[str, Any]:
        """Options as JSON takes them, without the budget."""
        return {k: _plain(v) for k, v in self.options.items() if k != "budget"}


def _short(value: Any) -> str:
    value = _plain(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, Link):
        return value.name
    if isinstance(value, Control):
        return {name: _plain(part) for name, part in dataclasses.asdict(value).items()}
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
