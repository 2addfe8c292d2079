"""What the servers of the shuffle and local models share. A server sees reports and never a context or a reward.

What devices need of it is the billboard: one small public document. `source` and `policy` are given in simulation
only; without them every device draws from its own operating system."""

import math
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar, get_type_hints

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.core import compiling, snapshot
from reticent.core.file_witness import write
from reticent.core.live import Distributed, Live, State
from reticent.core.reward import Reward
from reticent.core.snapshot import Kept
from reticent.data import Array
from reticent.errors import BadState
from reticent.features.schema import Schema
from reticent.kernels.block import Block
from reticent.model import links
from reticent.privacy import settings
from reticent.privacy.budget import Budget
from reticent.privacy.certificate import DEVICES, SIMULATED_DEVICES, Certificate, Devices
from reticent.privacy.noise import Simulated, policy_of
from reticent.privacy.randomness import Randomness, Seeded, System
from reticent_devices.mechanisms.shuffle.encoding import nothing_coded
from reticent_devices.mechanisms.shuffle.sums_kernel import OpenBatch
from reticent_devices.roles.device import Device

USERS = 0
FORMAT = "reticent server"
# Of files: raised where settings have other names, or where what is summed, or what an estimate makes of it, is not the
# same for the same ones.
VERSION = 5

USUAL = Reward()
REWARD = ("link", "radius", "range")  # what a server takes of it

Made = TypeVar("Made", bound="Server")


@dataclass(eq=False)
class Server(Kept, Distributed):
    """Settings, never data: those of JointGLM, as far as devices have them. features: the schema by which devices make
    vectors of people's fields, whose digest the billboard has; or how many numbers a vector has. reward: its link,
    radius and range. The state is a NamedTuple of arrays whose `counts` starts with the users heard of so far; all of
    it is public or already randomized."""

    features: Schema | int
    budget: Budget
    reward: Reward = USUAL
    _: KW_ONLY
    horizon: int | None = None
    source: Simulated | None = field(default=None, repr=False)
    policy: Generator | None = field(default=None, repr=False)
    _state: State = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """A subclass calls this first, and `self._state = self.init()` when its plan is made."""
        settings.check_server(self)
        self._check_reward()
        schema = self.schema
        if schema is None:
            self.features = self.dim
        elif schema.room > len(schema.actions):
            raise ValueError(
                "Expected a fixed list of actions where devices choose, since each has its own copy of the schema, got "
                f"max_actions={schema.room} for {len(schema.actions)}."
            )
        if self.horizon is not None:
            checks.positive_int(horizon=self.horizon)
        if self.source is not None:
            self.policy = self.policy or policy_of(self.source)
        self._link = links.built_in(self.reward.link)

    def _check_reward(self) -> None:
        if not isinstance(self.reward, Reward):
            raise ValueError(f"Expected reward= with reward's own settings, got {self.reward!r}.")
        idle = [name for name in ("base_rate", "window", "default") if getattr(self.reward, name) is not None]
        if idle:
            name = type(self).__name__
            raise ValueError(f"Expected a reward without {idle[0]} for {name}, where it has no effect, got one.")

    @classmethod
    def settings(cls) -> dict[str, Any]:
        hints = get_type_hints(cls)
        found = {f.name: hints[f.name] for f in fields(cls) if f.init}
        reward = get_type_hints(found.pop("reward"))
        return found | {name: reward[name] for name in REWARD}

    @classmethod
    def named(cls, **settings: Any) -> Self:
        return named(cls, **settings)

    def in_one_process(self, pending: int) -> Live:
        from reticent_devices.bandits.embedded import Embedded

        return Embedded(self, pending=pending)

    # what follows from settings

    @property
    def schema(self) -> Schema | None:
        """Of people's fields; None where devices are given vectors."""
        return self.features if isinstance(self.features, Schema) else None

    @property
    def dim(self) -> int:
        """Numbers of a vector."""
        return self.features.dim if isinstance(self.features, Schema) else int(self.features)

    @property
    def link(self) -> str:
        return self._link.name

    @property
    def radius(self) -> float:
        return self.reward.radius

    @property
    def rewards(self) -> tuple[float, float]:
        """Their range."""
        return self.reward.range

    # what an algorithm defines

    @abstractmethod
    def init(self) -> State:
        """The state before the first report."""

    @abstractmethod
    def billboard(self) -> bytes:
        """The public document that devices act by: JSON."""

    @abstractmethod
    def observe(self, report: bytes) -> None:
        """Take what comes in: a device's report (local), or the shuffled sum of a batch (shuffle). What is refused
        changes nothing."""

    @abstractmethod
    def device(self) -> Device:
        """A device at the present billboard; in simulation its random numbers come from `source` and `policy`."""

    @property
    @abstractmethod
    def version(self) -> int:
        """Raised whenever the billboard changes."""

    @property
    def over(self) -> bool:
        """Whether the plan is used up: nothing more is taken, and devices choose by what was learnt."""
        return False

    @property
    @abstractmethod
    def privacy(self) -> Certificate:
        """The claim, and what it rests on."""

    def _stage(self) -> Any:
        from reticent_devices.bandits.embedded import Embedded

        return Embedded(self, pending=compiling.PENDING)

    @abstractmethod
    def _play(self, block: Block, transit: Any) -> None:
        """The rounds of `block` in one compiled loop, devices and all. Simulation only."""

    # hooks for Embedded: what lies between the devices and the server

    def transit(self) -> Any:
        """What the shuffler holds at the start: nothing, and no room for more where there is no shuffler."""
        return OpenBatch(np.zeros(1, np.int64), nothing_coded(0))

    @abstractmethod
    def _advance(self, transit: Any, users: int) -> bool:
        """Called before each choice, with the number of users so far: publish what the public schedule says. True if
        reports of earlier choices come too late from now on."""

    def hear(self, device: Device, x: Array, reward: float | None, transit: Any) -> None:
        """A device has played the arm x; None: its reward never came. It reports."""
        self._send(device.report(x, reward), transit)

    def _send(self, report: bytes, transit: Any) -> None:
        """Bring one device's report to where it belongs."""
        self.observe(report)

    def republish(self, billboard: bytes) -> None:
        """Called on a server that goes on from a saved state: what it had shown last, as it was shown."""

    # shared

    @property
    def simulated(self) -> bool:
        return self.source is not None

    @property
    def _origin(self) -> Devices:
        """Of the noise, as certificates name it."""
        return SIMULATED_DEVICES if self.simulated else DEVICES

    @property
    def _schema(self) -> str | None:
        """What the billboard says of the features."""
        return None if self.schema is None else self.schema.digest

    @property
    def _blocks(self) -> int:
        """In how many parts of equal length, by the schema, arms have all but one zero."""
        return 1 if self.schema is None else self.schema.blocks

    @property
    def users(self) -> int:
        """Users whose reports have been taken."""
        return int(self._state.counts[USERS])

    def save(self, path: str | Path) -> None:
        """Write settings and state to a file that only its owner may read. It holds no raw data: none came here. It
        needs no mark of which copy is the last: what is in it are sums of reports that are private by themselves, so
        two servers that go on from one file release nothing of anybody a second time. An interrupted save leaves the
        old file whole."""
        write(Path(path), self.document())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """A server that goes on exactly where the saved one stood."""
        return cls.restored(Path(path).read_bytes(), Path(path).name)

    def document(self) -> dict[str, Any]:
        """Settings and state, as `restored` takes them once they are JSON."""
        body = self._saved() | {"server": type(self).__name__}
        return snapshot.document(body, format=FORMAT, version=VERSION, raw=False)

    @classmethod
    def restored(cls, text: bytes, where: str) -> Self:
        """The server whose `document` that is; `where` it was found is for messages."""
        body, _ = snapshot.opened(text, where, what="server", format=FORMAT, version=VERSION)
        if body["server"] != cls.__name__:
            raise BadState(f"Expected a saved {cls.__name__} in {where}, got a {body['server']}.")
        return cls._made(body, where)

    def __reduce__(self) -> NoReturn:
        raise TypeError("Expected save and load for a server, got pickle or copy.")

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("choose", "choose_many"):
            raise AttributeError(
                "Expected devices to choose, Client(server.billboard()).choose(arms), or "
                "Embedded(server).choose(arms): a server sees no arms."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _noise(self) -> Randomness:
        """Where the noise of a device comes from."""
        return System() if self.source is None else Seeded(self.source.generator)

    def _draws(self) -> Randomness:
        """Where the draws of a device's policy come from."""
        return System() if self.policy is None else Seeded(self.policy)

    def _generators(self) -> tuple[Generator, Generator]:
        """(policy, noise) for a fused loop: simulation only."""
        if self.source is None or self.policy is None:
            raise ValueError("Expected a source and a policy generator for a simulated block of rounds, got none.")
        return self.policy, self.source.generator


def named(kind: type[Made], **settings: Any) -> Made:
    """The server with these settings, of one name each: those of its reward are the class's own unless given."""
    reward = {name: settings.pop(name) for name in REWARD if name in settings}
    return kind(**settings, reward=replace(kind.reward, **reward))


def number(value: float) -> float | str:
    """A number as JSON takes it."""
    return float(value) if math.isfinite(value) else str(value)


def numbers(values: Any) -> list[Any]:
    """An array as nested JSON lists: doubles survive the way there and back."""
    out: list[Any] = np.asarray(values, np.float64).tolist()
    return out
