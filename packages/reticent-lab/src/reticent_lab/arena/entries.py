"""Who plays: every registered private algorithm at each epsilon, and those without privacy, to be measured against."""

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

from reticent import environments, registry
from reticent.experiments.spec import Spec
from reticent.privacy.budget import Budget
from reticent_lab.arena.worlds import DELTA, EPSILONS, Arena

TRUST = {"JOINT": "joint", "SHUFFLE": "shuffle", "LOCAL": "local"}
PLAIN = ("Uniform", "LinUCB", "MLEUCB", "RSGLinUCB")
WIDE = 12  # dimensions above which these are left out: seconds and more a run
HEAVY = {
    "AdaCOFUL",
    "JointGLMRare",
    "JointGLMUCB",
    "JointReweighted",
    "JointSquareCB",
    "LocalAnytimeUCB",
    "LocalCombiner",
    "LocalOnlineUCB",
    "LocalReweighted",
    "LocalSquareCB",
    "RSGLinUCB",
    "ShariffLinUCB",
    "ShuffleGLM",
    "ShuffleLinUCB",
    "ShuffleSBLB",
}
ONE_SET = {  # played where arms are the same for all, or are unit vectors: what they are published for
    "AdaCGOPE": ("fixed", "basis"),
    "AdaCUCB": ("basis",),
    "DistributedElimination": ("basis",),
}
LINEAR = {"Fliphat", "JointSquareCB", "LocalSquareCB"}  # which refuse any other link
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {  # beside the defaults
    "JointGLMRare": ({"timing": "published", "constants": "code"},),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Player:
    """One row's player. trust: the model that its certificate is for. runs: at most so many, None for the arena's.
    narrow: only in few dimensions. only_in: the names of the worlds that it is for; any, if there are none."""

    name: str
    trust: str
    epsilon: float
    spec: Spec
    runs: int | None = None
    narrow: bool = False
    only_in: tuple[str, ...] = ()

    def plays(self, arena: Arena) -> bool:
        fits = not self.narrow or arena.world.dim <= WIDE
        own = tuple(getattr(environments, name) for name in self.only_in)
        return fits and (not own or isinstance(arena.world, own))


def entries() -> Iterator[Player]:
    """Those of the registry, the plain ones first."""
    for name in PLAIN:
        if name in registry.algorithms("REFERENCES"):
            kind = registry.load(registry.algorithms("REFERENCES")[name], name)
            yield Player(
                name=registry.kebab(name), trust="none", epsilon=math.inf, spec=Spec(kind), narrow=name in HEAVY
            )
    for table, trust in TRUST.items():
        for name, home in registry.algorithms(table).items():
            first: dict[str, Any] = {"link": "identity"} if name in LINEAR else {}
            for options in (first, *VARIANTS.get(name, ())):
                yield from each_epsilon(registry.load(home, name), trust, options)


def each_epsilon(kind: Any, trust: str, options: dict[str, Any], *, name: str = "") -> Iterator[Player]:
    label = " ".join([name or registry.kebab(kind.__name__), *(f"{key}={value}" for key, value in options.items())])
    for epsilon in EPSILONS:
        yield Player(
            name=label.replace("timing=published constants=code", "as its author's code"),
            trust=trust,
            epsilon=epsilon,
            spec=Spec(kind, budget=Budget(epsilon, DELTA), **options),
            narrow=kind.__name__ in HEAVY,
            only_in=ONE_SET.get(kind.__name__, ()),
        )
