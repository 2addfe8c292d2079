"""What algorithms share whose settings, state and rules are one class: references, published algorithms, and devices
and server in one process. One that is sums under continual release is a model of JointGLM instead."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

from numpy.random import default_rng

from reticent import checks
from reticent.core import snapshot
from reticent.core.memory import Memory, Resident
from reticent.core.snapshot import Kept
from reticent.core.validation import Persons, Validator
from reticent.data import Array, Integers, Raw
from reticent.kernels.block import Block
from reticent.kernels.rounds import Held
from reticent.mechanisms.entering import EnteringRows
from reticent.mechanisms.memory import learnt
from reticent.model.chances import Chance, Later
from reticent.privacy.certificate import Certificate


class State(Protocol):
    """A NamedTuple of arrays, whose `counts` starts with the choices so far. A bandit's own class says, by their types,
    which are raw and which were released."""

    @property
    def counts(self) -> Integers: ...


class Distributed(ABC):
    """What is played by a server and its devices in one process: the class of a server."""

    @classmethod
    @abstractmethod
    def settings(cls) -> dict[str, Any]:
        """Those it has, by one name each, and their types."""

    @classmethod
    @abstractmethod
    def named(cls, **settings: Any) -> Self:
        """One with these settings, of one name each."""

    @abstractmethod
    def in_one_process(self, pending: int) -> "Live":
        """With its devices."""


def certain(bandit: "Live", features: Array, index: int) -> Callable[[], float]:
    """Of one that draws nothing: what it picked it would pick again."""
    return lambda: 1.0


@dataclass(kw_only=True, eq=False)
class Live(Resident, Kept, ABC):
    """Its fields are its settings, never data. It is its own core.memory.Learner. Threads may share it: one call at a
    time."""

    dim: int
    horizon: int | None = None
    rewards: tuple[float, float] = (-math.inf, math.inf)
    pending: int = 100_000
    _state: State = field(init=False, repr=False)  # raw data: no public accessor
    _policy_given = False  # whether the caller brought the generator of the policy's draws
    _one_set = False  # whether everybody has to be offered the same arms

    def __post_init__(self) -> None:
        checks.positive_int(dim=self.dim, pending=self.pending)
        self.dim, self.pending = int(self.dim), int(self.pending)
        private = bool(getattr(getattr(self, "source", None), "private", False))
        if private and any(getattr(type(self), name) is getattr(Live, name) for name in ("_due", "_steps")):
            raise TypeError(  # else a file could not tell that more has been released since
                f"Expected {type(self).__name__}, which draws noise for people's data, to define _due and _steps."
            )
        persons = self._limits()
        validator = Validator(
            dim=self.dim,
            blocks=1,
            rewards=self.rewards,
            schema=getattr(self, "features", None),
            limited=persons.most is not None,
        )
        self._state = self.init()
        self._reside(
            Memory(self, validator, pending=self.pending, size=self._row_size, persons=persons), private=private
        )

    # what an algorithm defines

    @abstractmethod
    def init(self) -> State:
        """The state before the first round."""

    def _advance(self) -> None:
        """Close the open step, where it is due."""

    @abstractmethod
    def _pick(self, features: Array) -> Integers: ...  # the arms for (n, K, d) users at the present state

    @abstractmethod
    def _propensity(self, features: Array, index: int) -> Callable[[], float]:
        """What computes the probability of `index`, which `_pick` chose among (K, d) arms, at the present state.
        `certain` where nothing is drawn."""

    def _join(self, row: Raw[Array], reward: Raw[float]) -> None:
        """One user's datum, checked, joins the open step: what was kept of the choice, and its reward. Sums take both
        closed; a bandit that is a device, keeps rows of its own or protects nobody has `_learn` instead."""
        learnt(self._learn, row, reward)

    def _learn(self, x: Array, reward: float) -> None:
        """The same, open."""
        raise NotImplementedError

    def _play(self, block: Block) -> bool:
        """The simulated rounds of `block` in one compiled loop, which is only faster; False where there is none."""
        return False

    @property
    @abstractmethod
    def privacy(self) -> Certificate:
        """The claim, and what it rests on."""

    def _limits(self) -> Persons:
        """Who may teach how often: nobody is counted, by default."""
        return Persons(None)

    @property
    def _row_size(self) -> int:
        """Numbers that are kept of a choice until its reward comes."""
        return self.dim

    def _row(self, offered: Array, picked: int, place: int, name: str | None) -> Raw[Array]:
        """Those numbers, at least: the arm that was picked among those on offer. place, name: of it in the request."""
        return Raw(offered[picked])

    @property
    def _steps(self) -> int:
        """Releases so far."""
        return 0

    @functools.cached_property
    def _capacity(self) -> int | None:
        """Choices that sums of integers have room for."""
        return None

    @property
    def _due(self) -> bool:
        """Whether the next choice makes a release: a function of the number of choices alone."""
        return False

    # as a Learner

    @property
    def state(self) -> State:
        return self._state

    @property
    def counts(self) -> Integers:
        return self._state.counts

    @property
    def capacity(self) -> int | None:
        return self._capacity

    @property
    def shown(self) -> Self:
        return self

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def due(self) -> bool:
        return self._due

    def advance(self) -> None:
        self._advance()

    def pick(self, arms: Array) -> Integers:
        return self._pick(arms)

    def propensity(self, arms: Array, index: int) -> Later:
        found = self._propensity(arms, index)
        return found if isinstance(found, Later) else Later(lambda: Chance(found(), 0.0))

    def chance(self, arms: Array, index: int) -> Chance:
        raise NotImplementedError

    def row(self, arms: Array, picked: int, place: int, name: str | None, names: tuple[str, ...]) -> Raw[Array]:
        return self._row(arms, picked, place, name)

    def chosen(self, row: Raw[Array], mark: bytes) -> None:
        """A choice was made, and its number taken."""

    def join(self, row: Raw[Array], reward: Raw[float]) -> None:
        self._join(row, reward)

    def due_numbers(self, upto: int) -> range:
        return range(0)

    def enter(self, rows: Raw[EnteringRows], held: Raw[Held]) -> None:
        raise NotImplementedError

    def rounds(self, block: Block, held: Raw[Held], tend: Callable[[], None]) -> bool:
        return self._play(block)

    # files

    def _forked(self) -> None:
        if hasattr(self, "policy") and not self._policy_given:
            setattr(self, "policy", default_rng())  # noqa: B010  # its own draws, and not its siblings'

    def _saved(self) -> dict[str, Any]:
        return super()._saved() | super(Resident, self)._saved() | {"policy given": self._policy_given}

    @classmethod
    def _restored(cls, body: dict[str, Any], where: str) -> Self:
        return cls._made(body, where)

    def _resume(self, body: dict[str, Any], where: str) -> None:
        super()._resume(body, where)
        self._wait_again(body)
        for name, value in snapshot.generators(body["settings"]).items():
            setattr(self, name, value)  # drawing the initial state may have moved it
        self._policy_given = body["policy given"]
