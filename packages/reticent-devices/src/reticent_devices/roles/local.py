"""The device of the local model: choose by the billboard, randomise, report. The report is private by itself.

What a device contributes is named in the billboard's "report", how it chooses in its "policy":
    glm     (scale svec(weight x x'), response x), linearised at the public estimate
    score   the score at the public estimate, of norm at most 1: model.scores (curvature="none")
    public  x in the clear, the reward by randomised response (public_arms=True)
What published algorithms ask for, their own device knows (reticent_papers.local.device).
"""

import math
from typing import Any, ClassVar

import numpy as np

from reticent.data import Array, Exact, Sent
from reticent.errors import BadBillboard
from reticent.features.schema import Schema
from reticent.model import links
from reticent.model.chances import Chance, by_draws
from reticent.model.glm import in_centred_units, largest_weight, line, softened
from reticent.model.scores import score
from reticent.model.vectors import pair
from reticent.privacy import randomness
from reticent.privacy.budget import Budget
from reticent.privacy.randomness import Randomness, Seeded, System
from reticent_devices.mechanisms import randomizers
from reticent_devices.mechanisms.local import MARGIN
from reticent_devices.mechanisms.randomizers import Coin
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import limits
from reticent_devices.roles.billboard import Kinds
from reticent_devices.roles.device import DRAWS, ID_BYTES, NUMBERS, Device, agreed, agreed_schema
from reticent_devices.roles.limits import Extent

SENT, SIMULATED = b"L", b"S"  # the first byte of a report: integers of a device, or floats of a simulation
# after SENT come ID_BYTES random bytes and the billboard's tag


class LocalClient(Device):
    """`Client(billboard)`: the device of one user.

    Guarantee: what `randomize` returns is private for replacing this user's arms and reward, at the epsilon and delta
    that the billboard claims, whatever the server or anyone else does; nothing else leaves the device. The device works
    out itself what the billboard's randomizer gives (roles.limits), and refuses a billboard that claims more
    protection than that, or less than the caller's `epsilon` and `delta` ask for (None: any claim; with an epsilon
    alone, delta 0).
    rewards: the application's own range (low, high); a billboard with another one is refused. features: the
    application's own schema, with which `choose` takes fields; a billboard for another one is refused.
    public_arms: whether the arm played may be sent as it is, which is refused otherwise; the guarantee is then for the
    reward alone.
    The randomness is the operating system's. `noise` and `draws` are given in simulation: with `noise` from a seed
    nothing is checked and nothing is private."""

    kinds: ClassVar[Kinds] = boards.KINDS  # of reports and policies that it knows

    def __init__(
        self,
        billboard: bytes,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rewards: tuple[float, float] | None = None,
        public_arms: bool = False,
        features: Schema | None = None,
        noise: Randomness | None = None,
        draws: Randomness | None = None,
    ) -> None:
        if epsilon is not None and not (isinstance(epsilon, NUMBERS) and epsilon > 0):
            raise ValueError(f"Expected epsilon to be None or a number above 0, got {type(epsilon).__name__}.")
        if delta is not None and not (isinstance(delta, NUMBERS) and 0 <= delta < 1):
            raise ValueError("Expected delta to be None or in [0, 1), got another.")
        document, self._tag = boards.local(billboard, self.kinds)
        super().__init__(
            dim=document["dim"],
            link=document["link"],
            rewards=agreed(rewards, document["rewards"]),
            features=agreed_schema(features, document["features"]),
        )
        self._noise = noise or System()
        self._draws = draws or System()
        self.version: int = document["version"]
        self._report: dict[str, Any] = document["report"]
        self._policy: dict[str, Any] = document["policy"]
        self._randomizer = randomizers.from_document(document["randomizer"])
        self._theta, self._inverse = document["theta"], document["inverse"]
        given = self._report, self.link, self.rewards, self.dim, self._inverse
        self._size, self._norm, self._sensitivity = self.extent(*given)
        if not isinstance(self._noise, Seeded):
            self._check(document["claim"], epsilon, delta, public_arms)
            self.cost = Budget(**document["claim"])

    @classmethod
    def extent(
        cls, report: dict[str, Any], link: str, rewards: tuple[float, float], dim: int, matrix: Array | None = None
    ) -> Extent:
        """Of the vector that it makes for that report. matrix: the billboard's inverse."""
        return limits.extent(report, link, rewards, dim)

    def _check(self, claim: dict[str, Any], epsilon: float | None, delta: float | None, public_arms: bool) -> None:
        """The billboard against its claim, and the claim against the caller's limits."""
        if self._report["name"] == "public" and not public_arms:
            raise BadBillboard("Expected a billboard that asks for no arms in the clear, got one (see public_arms).")
        if claim["epsilon"] is None:
            raise BadBillboard("Expected a billboard that claims privacy, got one without.")
        if not limits.holds(self._randomizer, **claim, size=self._size, sensitivity=self._sensitivity):
            raise BadBillboard(f"Expected noise that gives the claimed epsilon {claim['epsilon']:g}, got less.")
        if not limits.countable(self._randomizer, self._farthest):
            raise BadBillboard("Expected numbers within reach of their noise, got larger ones.")
        if delta is None:
            delta = 1.0 if epsilon is None else 0.0
        epsilon = math.inf if epsilon is None else epsilon
        if not (claim["epsilon"] <= epsilon * (1 + MARGIN) and claim["delta"] <= delta):
            raise BadBillboard(
                f"Expected epsilon at most {epsilon:g} and delta at most {delta:g}, "
                f"got a billboard with {claim['epsilon']:g} and {claim['delta']:g}."
            )

    @property
    def _farthest(self) -> float:
        """No number of its vector is larger."""
        return self._norm

    # choosing

    def pick(self, features: Array) -> int:
        return int(np.argmax(features @ self._target()[: self.dim]))

    def chance(self, features: Array, index: int) -> Chance:
        """1 where nothing is drawn, else the share of DRAWS fresh draws."""
        random = self._policy.get("random", False)
        if self._policy["name"] == "thompson" or random:
            draws = System().normals(DRAWS * self._theta.size).reshape(DRAWS, -1)
            if self._policy["name"] == "thompson":
                draws = draws @ self._policy["root"]
            targets = draws if random else self._theta + draws
            hits = np.argmax(targets[:, : self.dim] @ features.T, axis=1) == index
            return by_draws(int(np.count_nonzero(hits)), DRAWS)
        return Chance(float(self.pick(features) == index), 0.0)

    def _target(self) -> Array:
        random = self._policy["random"]
        if self._policy["name"] == "best":
            return self._draws.normals(self._theta.size) if random else np.asarray(self._theta)
        drawn: Array = self._policy["root"] @ self._draws.normals(self._theta.size)
        return drawn if random else self._theta + drawn

    # reporting

    def report(self, x: Array, reward: float | None, id: bytes | None = None) -> Sent:
        made, noise = self._randomizer, self._noise
        x = x * (1 / max(1.0, math.sqrt(float(np.dot(x, x)))))
        if isinstance(made, Coin):
            low, high = self.rewards
            share = 0.5 if reward is None else (reward - low) / (high - low)
            coin = made.simulate(share, noise.generator) if isinstance(noise, Seeded) else made.encode(share)
            return self._framed(randomizers.beside_public(x, coin), id)
        vector = self.contribution(x, reward)
        if isinstance(noise, Seeded):
            return self._framed(randomizers.simulated(made.simulate(vector, noise.generator)), id)
        return self._framed(made.encode(vector), id)

    def _framed(self, body: Sent, id: bytes | None) -> Sent:
        if isinstance(self._noise, Seeded):
            return randomizers.framed(SIMULATED, body)
        return randomizers.framed(SENT + (id or randomness.octets(ID_BYTES))[:ID_BYTES] + self._tag, body)

    def contribution(self, x: Array, reward: float | None) -> Exact:
        """The vector that is randomised. A reward that never came contributes zeros, which are no farther from others
        than others are; they take the same work."""
        return Exact(limits.clipped(self._vector(x, reward), self._norm))

    def _vector(self, x: Array, reward: float | None) -> Array:
        nearest = min(max(0.0, self.rewards[0]), self.rewards[1])
        made = self._datum(x, nearest if reward is None else reward)
        if reward is None:
            made[:] = 0.0
        return made

    def _datum(self, x: Array, reward: float) -> Array:
        if self._report["name"] == "score":
            length, z = math.sqrt(float(np.dot(x, x))), float(np.dot(x, self._theta))
            return np.asarray(score(length, z, reward, self.code, *self.rewards) * x)
        if len(self._theta) > self.dim:
            shrink, constant = self._report["pad"]
            x = np.append(shrink * x, constant)
        r = in_centred_units(reward, self.code, *self.rewards)
        v, k = softened(float(np.dot(x, self._theta)), float(x @ self._inverse @ x), self.code)
        length = math.sqrt(float(np.dot(x, x)))
        weight, response = self._bounded(x, *line(length, v, k, r, self.code, self._report["blend"]))
        return pair(x, self._report["scale"] * weight, response)

    def _bounded(self, x: Array, weight: float, response: float) -> tuple[float, float]:
        """The bounds that the sensitivity rests on, enforced: an honest billboard never comes near them."""
        square = float(np.dot(x, x)) / (1 + 1e-9)
        if (
            abs(weight) * square > largest_weight(links.named(self.link))
            or weight < 0
            or response * response * square > 1
        ):
            return 0.0, 0.0
        return weight, response
