"""What to run: a bandit's class and the options that the environment does not settle."""

import dataclasses
import math
from typing import Any, get_type_hints

from numpy.random import SeedSequence, default_rng

from reticent.core.bandit import Bandit
from reticent.core.live import Distributed, Live
from reticent.core.reward import Reward, window_in_choices
from reticent.environments.base import Environment
from reticent.environments.delay import Delay
from reticent.flat import NAMES, PARTS, fitting, named
from reticent.joint import JointGLM
from reticent.model.holdout import Holdout
from reticent.model.links import Link
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent.registry import kebab

FROM_THE_RUN = {"horizon", "source", "policy", "pending"}
WAITED_FOR = 1 - 1e-6  # share of late rewards that a bandit without deadlines waits for
MOST_WAITING = 100_000  # choices


class Spec:
    """`Spec(JointGLM, budget=Budget(1, 1e-6), first=50)`: features, radius, range of rewards, link and horizon come
    from the environment and the run unless given here, those that have an effect. Settings have one name
    each (reticent.flat). A server runs with its devices in one process.
    """

    def __init__(
        self, kind: type[JointGLM] | type[Live] | type[Distributed], *, label: str | None = None, **options: Any
    ) -> None:
        if not (isinstance(kind, type) and issubclass(kind, JointGLM | Live | Distributed)):
            raise ValueError(f"Expected the class of a bandit, e.g. JointGLM, got {kind!r}.")
        every = settings_of(kind).keys()
        names = every - FROM_THE_RUN
        unknown = set(options) - names
        if unknown:
            raise ValueError(
                f"Expected options of {kind.__name__} ({', '.join(sorted(names))}), got {', '.join(sorted(unknown))}."
            )
        self.kind = kind
        self.options = options
        self._label = label
        self._composed = issubclass(kind, JointGLM)
        self._names = names | FROM_THE_RUN & every

    def build(
        self, environment: Environment, horizon: int, seed: SeedSequence, delay: Delay | None = None
    ) -> Bandit | Live:
        """A fresh bandit for one run, its policy's draws and its noise from `seed`. delay: of rewards, which choices
        wait for."""
        environment = self.suited(environment)
        if environment.blocks and not self._takes_rows:
            raise ValueError(f"Expected a bandit that takes blocks (joint-glm) where arms are apart, got {self.name}.")
        policy, privacy = seed.spawn(2)
        pending = self._pending(horizon, delay)
        known: dict[str, Any]
        if issubclass(self.kind, JointGLM):
            known = {
                "features": environment.features if environment.blocks else environment.dim,
                "radius": environment.radius,
                "range": environment.rewards,
                "link": environment.link,
                "horizon": horizon,
            }
            told = {name: known[name] for name in known.keys() & fitting(known | self.options).keys()} | self.options
            algorithm = named(kind=self.kind, **told)
            return Bandit(algorithm, pending=pending, source=Simulated(privacy), policy=default_rng(policy))
        fields = environment.features
        known = {
            "radius": environment.radius,
            "subgaussian": environment.subgaussian,
            "link": environment.link,
            "horizon": horizon,
            "policy": default_rng(policy),
            "source": Simulated(privacy),
        }
        if issubclass(self.kind, Distributed):
            known |= {"features": environment.dim if fields is None else fields, "range": environment.rewards}
            return self.kind.named(**self._given(known)).in_one_process(pending)
        assert issubclass(self.kind, Live)
        known |= {"dim": environment.dim, "rewards": environment.rewards, "pending": pending}
        given = self._given(known | {"features": fields if environment.blocks else None})  # else arms are vectors
        return self.kind(**given)

    def _given(self, known: dict[str, Any]) -> dict[str, Any]:
        """Of what is known, what the class takes; options hold."""
        return {name: value for name, value in known.items() if name in self._names} | self.options

    def _pending(self, horizon: int, delay: Delay | None) -> int:
        """Choices that wait: until their deadline, or for almost all rewards that ever come."""
        window = window_in_choices(Reward(window=self.options.get("window")), self.options.get("per_day"))
        if window is not None or delay is None:
            return 1 + (window or 0)
        return min(delay.soon(WAITED_FOR), horizon, MOST_WAITING)

    def suited(self, environment: Environment) -> Environment:
        """That environment, with arms as this bandit takes them where either would do."""
        return environment.suited(blocks=self._takes_rows)

    @property
    def _takes_rows(self) -> bool:
        """Whether this bandit takes blocks."""
        return self._composed

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

    def __repr__(self) -> str:
        return f"Spec({self.label})"

    def plain_options(self) -> dict[str, Any]:
        """Options as JSON takes them, without the budget."""
        return {k: _plain(v) for k, v in self.options.items() if k != "budget"}


def settings_of(kind: Any) -> dict[str, Any]:
    """The settings of a class by one name each, and their types."""
    if issubclass(kind, JointGLM):
        return {name: hint for part in PARTS for name, hint in get_type_hints(part).items() if name in NAMES}
    if issubclass(kind, Distributed):
        own: dict[str, Any] = kind.settings()
        return own
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in dataclasses.fields(kind) if f.init}


def _short(value: Any) -> str:
    value = _plain(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    if isinstance(value, Link):
        return value.name
    if isinstance(value, Holdout):
        return {name: _plain(part) for name, part in dataclasses.asdict(value).items()}
    if callable(value):  # what makes a model
        return f"{value.__module__}.{value.__qualname__}"
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
