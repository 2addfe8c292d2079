"""The device of the local model: choose by the billboard, randomise, report. The report is private by itself.

What a device contributes is named in the billboard's "report", how it chooses in its "policy":
    glm       (scale svec(weight x x'), response x), linearised at the public estimate   (LocalIRLS)
    linear    (svec(x x'), scale y x)                                                     (LocalLinUCB)
    pair      (x, scale y)                                                                (LocalOnlineUCB and kin)
    gradient  (mu(<x, theta>) - r) x, divided by its bound                                (LocalGLM)
    public    x in the clear, the reward by randomised response                           (LocalIRLS, public arms)
"""

import hashlib
import json
import math
from typing import Any

import numpy as np

from tacit.errors import BadBillboard
from tacit.mechanisms import randomizers
from tacit.privacy import entropy
from tacit.roles import limits
from tacit.roles.device import TINY, Array, Device, corner, mean, slope
from tacit.roles.randomness import Randomness, Seeded, System

FORMAT = "tacit local billboard"
SENT, SIMULATED = b"L", b"S"  # the first byte of a report: integers of a device, or floats of a simulation
ID = 8  # random bytes after SENT, by which a server knows a retry
TAG = 4  # bytes after them: a digest of what a report was made for
SHAKE = 1e3  # the most extra noise that is not for privacy


class Client(Device):
    """`Client(billboard)`: the device of one user.

    Guarantee: what `randomize` returns is private for replacing this user's arms and reward, at the epsilon and delta
    that the billboard claims, whatever the server or anyone else does; nothing else leaves the device. The device works
    out itself what the billboard's randomizer gives (client.limits), and refuses a billboard that claims more
    protection than that, or less than the caller's `epsilon` and `delta` ask for (epsilon=None: any finite claim).
    public_arms: whether the arm played may be sent as it is, which is refused otherwise; the guarantee is then for the
    reward alone.
    The randomness is the operating system's. `noise` and `draws` are given in simulation: with `noise` from a seed
    nothing is checked and nothing is private."""

    def __init__(
        self,
        billboard: bytes,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        public_arms: bool = False,
        noise: Randomness | None = None,
        draws: Randomness | None = None,
    ) -> None:
        if epsilon is not None and not isinstance(epsilon, int | float):
            raise ValueError(f"Expected epsilon to be None or a number, got {type(epsilon).__name__}.")
        self._noise = noise or System()
        self._draws = draws or System()
        try:
            document: dict[str, Any] = json.loads(billboard)
            if document["format"] != FORMAT:
                raise KeyError
            self._read(document)
            if not isinstance(self._noise, Seeded):
                self._check(document["claim"], epsilon, delta, public_arms)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError) as error:
            if isinstance(error, BadBillboard):
                raise
            raise BadBillboard("Expected a billboard of the local model, got another or a damaged document.") from None

    def _read(self, document: dict[str, Any]) -> None:
        low, high = map(float, document["rewards"])
        super().__init__(dim=int(document["dim"]), link=document["link"], rewards=(low, high))
        self.version = int(document["version"])
        self._report: dict[str, Any] = document["report"]
        self._policy: dict[str, Any] = document["policy"]
        self._randomizer = randomizers.from_document(document["randomizer"])
        self._theta = np.array(document["theta"], np.float64)
        self._inverse = np.array(document["inverse"], np.float64)
        self._root = np.array(self._policy.get("root", []), np.float64)
        self._tag = tag(document)
        self._size, self._norm, self._sensitivity = limits.bounds(self._report, self.link, self.rewards, self.dim)

    def _check(self, claim: dict[str, Any], epsilon: float | None, delta: float, public_arms: bool) -> None:
        """The billboard against its claim, and the claim against the caller's limits."""
        report, given = self._report, [self._norm, self._sensitivity]
        given += [float(report[name]) for name in ("scale", "middle", "shake", "blend", "bound") if name in report]
        given += report.get("pad", [])
        if not limits.sane(self.dim, self.link, self.rewards, self._theta, self._inverse, self._root, np.array(given)):
            raise BadBillboard("Expected finite public numbers in a billboard, got others.")
        if not 0 <= report.get("shake", 0.0) <= SHAKE or not 0 <= report.get("blend", 0.0) <= 1:
            raise BadBillboard("Expected a report with numbers in their ranges, got another.")
        public = report["name"] == "public"
        if public != isinstance(self._randomizer, randomizers.Coin):
            raise BadBillboard("Expected a randomizer for what the report holds, got another.")
        if public and not public_arms:
            raise BadBillboard("Expected a billboard that asks for no arms in the clear, got one (see public_arms).")
        if claim["epsilon"] is None or not 0 <= claim["delta"] < 1:
            raise BadBillboard("Expected a billboard that claims privacy, got one without.")
        claimed = {"epsilon": float(claim["epsilon"]), "delta": float(claim["delta"])}
        if not limits.holds(self._randomizer, **claimed, size=self._size, sensitivity=self._sensitivity):
            raise BadBillboard(f"Expected noise that gives the claimed epsilon {claimed['epsilon']:g}, got less.")
        if epsilon is not None and not (
            claimed["epsilon"] <= epsilon * (1 + limits.MARGIN) and claimed["delta"] <= delta
        ):
            raise BadBillboard(
                f"Expected epsilon at most {epsilon:g} and delta at most {delta:g}, "
                f"got a billboard with {claimed['epsilon']:g} and {claimed['delta']:g}."
            )

    # choosing

    def pick(self, features: Array) -> int:
        if self._policy["name"] == "uniform":
            return int(self._draws.uniforms(1)[0] * len(features))
        return int(np.argmax(self._values(features, self._target()[: self.dim])))

    def chance(self, features: Array, index: int) -> float:
        """Exact where nothing is drawn or all arms are alike, else the share of 4096 draws."""
        if self._policy["name"] == "uniform":
            return 1 / len(features)
        if self._policy["name"] == "thompson":
            draws = System().normals(4096 * len(self._root)).reshape(4096, -1) @ self._root
            targets = draws if self._policy["random"] else self._theta + draws
            hits = np.argmax(targets[:, : self.dim] @ features.T, axis=1) == index
            return (int(np.count_nonzero(hits)) + 1) / 4097
        return float(self.pick(features) == index)

    def _target(self) -> Array:
        if self._policy["name"] != "thompson":
            return self._theta
        drawn: Array = self._root @ self._draws.normals(len(self._root))
        return drawn if self._policy["random"] else self._theta + drawn

    def _values(self, features: Array, target: Array) -> Array:
        values: Array = features @ target
        if self._policy["name"] == "ucb":
            squares = np.einsum("ki,ij,kj->k", features, self._inverse, features)
            values = values + self._policy["width"] * np.sqrt(np.maximum(squares, 0.0))
        return values

    # reporting

    def report(self, x: Array, reward: float | None) -> bytes:
        x = x * (1 / max(1.0, math.sqrt(float(np.dot(x, x)))))
        if self._report["name"] == "public":
            low, high = self.rewards
            share = 0.5 if reward is None else (reward - low) / (high - low)
            if isinstance(self._noise, Seeded):
                coin: bytes = self._randomizer.simulate(share, self._noise.generator)
                return SIMULATED + x.astype("<f8").tobytes() + coin
            coin = self._randomizer.encode(share)
            return SENT + entropy.octets(ID) + self._tag + x.astype("<f8").tobytes() + coin
        vector = self.contribution(x, reward)
        if isinstance(self._noise, Seeded):
            simulated: Array = self._randomizer.simulate(vector, self._noise.generator)
            return SIMULATED + simulated.astype("<f8").tobytes()
        sent: bytes = self._randomizer.encode(vector)
        return SENT + entropy.octets(ID) + self._tag + sent

    def contribution(self, x: Array, reward: float | None) -> Array:
        """The vector that is randomised: RAW. A reward that never came contributes zeros (in a pair, the reward nearest
        to 0), which are no farther from others than others are."""
        return self._shaken(limits.clipped(self._vector(x, reward), self._norm))

    def _vector(self, x: Array, reward: float | None) -> Array:
        kind = self._report["name"]
        if kind == "pair":
            if reward is None:
                x, reward = np.zeros(x.size), min(max(0.0, self.rewards[0]), self.rewards[1])
            return np.append(x, self._report["scale"] * (reward - self._report["middle"]))
        if kind == "gradient":
            if reward is None:
                return np.zeros(self.dim)
            z = float(np.dot(x, self._theta))
            share = (mean(self.link, z) - self.unit(reward)) / float(self._report["bound"])
            return share * x
        if kind == "glm" and len(self._theta) > self.dim:
            shrink, constant = self._report["pad"]
            x = np.append(shrink * x, constant)
        i, j, double = corner(x.size)
        if reward is None:
            return np.zeros(i.size + x.size)
        if kind == "linear":
            weight, response = 1.0, self._report["scale"] * reward
            products = double * x[i] * x[j]
        else:
            weight, response = self._bounded(x, *self._linearize(x, reward))
            products = self._report["scale"] * weight * double * x[i] * x[j]
        return np.concatenate([products, response * x])

    def _shaken(self, vector: Array) -> Array:
        """The extra perturbation of x where the published algorithm asks for it: no privacy rests on it."""
        std = self._report.get("shake", 0.0)
        if std > 0:
            vector[:-1] += std * self._noise.normals(self.dim)
        return vector

    def _bounded(self, x: Array, weight: float, response: float) -> tuple[float, float]:
        """The bounds that the sensitivity rests on, enforced: an honest billboard never comes near them."""
        square = float(np.dot(x, x)) / (1 + 1e-9)
        if abs(weight) * square > limits.WEIGHTS[self.link] or weight < 0 or response * response * square > 1:
            return 0.0, 0.0
        return weight, response

    def _linearize(self, x: Array, reward: float) -> tuple[float, float]:
        """As kernels.local_glm.local_linearize, which has the formulas."""
        norm = math.sqrt(float(np.dot(x, x)))
        if norm < TINY:
            return 0.0, 0.0
        if self.link == "identity":
            low, high = self.rewards
            return 1 / norm, (2 * reward - low - high) / ((high - low) * norm)
        s = max(0.0, float(x @ self._inverse @ x))
        k = 1 / math.sqrt(1 + (s if self.link == "probit" else math.pi * s / 8))
        v = k * float(np.dot(x, self._theta))
        expected, gradient = mean(self.link, v), slope(self.link, v)
        if abs(v) > 1e-6:
            gradient = (1 - self._report["blend"]) * gradient + self._report["blend"] * (expected - 0.5) / v
        c = expected - gradient * v
        m = max(c, 1 - c)
        return k * gradient / (m * norm), (self.unit(reward) - c) / (m * norm)


def tag(document: dict[str, Any]) -> bytes:
    """Of a billboard: what does not change from one version to the next, so that no server reads a report that was
    made for another's."""
    fixed = [document[name] for name in ("bandit", "dim", "link", "rewards", "randomizer", "claim")]
    return hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).digest()[:TAG]
