"""The device of published algorithms in the local model: reticent's own (roles.local), and the kinds of reports and of
policies that they add. numpy alone.

    linear      (svec(x x'), scale y x)                                 (LocalLinUCB)
    pair        (x, scale y)                                            (LocalOnlineUCB and kin)
    gradient    (mu(<x, theta>) - r) x, divided by its bound            (LocalGLM)
    residual    (clip <x, theta> - y) x, divided by its bound           (LocalSquareCB)
    reweighted  one step of a regression, by papers.local.statements    (LocalReweighted)
"""

import math
from typing import Any, ClassVar

import numpy as np

from reticent.data import Array, Exact
from reticent.model.chances import Chance
from reticent.model.glm import in_units
from reticent.model.links import IDENTITY, mean
from reticent.model.vectors import pair
from reticent.privacy import randomness
from reticent_devices.roles.billboard import KINDS, LARGE, MATRIX, POSITIVE, ROW, SIZE, WIDEST, Kinds, need
from reticent_devices.roles.designs import draw
from reticent_devices.roles.limits import Extent
from reticent_devices.roles.local import LocalClient
from reticent_devices.roles.schema import one_of, real
from reticent_papers import designs
from reticent_papers.local import statements
from reticent_papers.local.statements import STAGES, SumQuery, said

FLATTEST, NARROWEST = 1 << 14, 256  # features: where no matrix is made of them; where reports hold matrices of them
BALANCE = real(1e-6, 1e6)
DRAWN = ("gap", "spanner")  # policies that draw from weights


def check(board: dict[str, Any]) -> None:
    """What has to hold beyond types and ranges."""
    dim, kind, policy = board["dim"], board["report"]["name"], board["policy"]
    need(dim <= WIDEST or kind == "residual", f"at most {WIDEST} features")
    need(policy["name"] != "gap" or policy["played"].shape == (dim,), "as many numbers as features in played")
    if kind == "reweighted":
        need(dim <= NARROWEST, f"at most {NARROWEST} features where a report holds matrices of them")
        need(board["report"]["half"].shape == (dim, dim), "a root of the inverse's size")
        need(bool((board["inverse"] == board["inverse"].T).all()), "a symmetric inverse")
        thetas, inverses, count = policy["thetas"], policy["inverses"], len(policy["thetas"])
        need(thetas.shape == (count, dim * (count > 0)), "thetas of as many numbers as there are features")
        need(inverses.shape == (count * dim, dim * (count > 0)), "an inverse for each of thetas")


PUBLISHED = Kinds(
    reports={
        **KINDS.reports,
        "linear": {"scale": POSITIVE},
        "pair": {"scale": POSITIVE, "middle": real(-LARGE, LARGE), "shake": real(0.0, 1e3)},
        "gradient": {"bound": POSITIVE},
        "residual": {"bound": POSITIVE, "clip": POSITIVE},
        "reweighted": {
            "stage": one_of(*STAGES),
            "half": MATRIX,
            "radius": POSITIVE,
            "scale": BALANCE,
            "outer": BALANCE,
        },
    },
    policies={
        **KINDS.policies,
        "ucb": {"width": SIZE},
        "greedy": {},
        "gap": {"greed": SIZE, "played": ROW},
        "spanner": {"factor": real(1.01, LARGE), "thetas": MATRIX, "inverses": MATRIX},
    },
    choices={
        **KINDS.choices,
        "linear": "ucb",
        "pair": "ucb",
        "gradient": "greedy",
        "residual": "gap",
        "reweighted": "spanner",
    },
    flat=(*KINDS.flat, "gradient", "residual"),
    staged=("residual", "reweighted"),
    widest=FLATTEST,
    check=check,
)


class PublishedClient(LocalClient):
    """`Client(billboard)`: the device of one user. Guarantee and settings: as LocalClient's."""

    kinds: ClassVar[Kinds] = PUBLISHED

    @classmethod
    def extent(
        cls, report: dict[str, Any], link: str, rewards: tuple[float, float], dim: int, matrix: Array | None = None
    ) -> Extent:
        """A pair is x beside a number in an interval; a gradient is cut to norm 1. reweighted: of a statement by
        U = `matrix`, divided by how far apart two of them are."""
        kind, (low, high) = report["name"], rewards
        if kind == "reweighted":
            asked = question(report, np.eye(dim) if matrix is None else matrix, np.zeros(dim))
            norm, far = statements.apart(asked, link)
            return Extent(statements.sizes(dim)[STAGES.index(asked.stage)], norm / far, 1.0)
        if kind == "pair":
            scale, middle = float(report["scale"]), float(report["middle"])
            norm = math.hypot(1, scale * max(abs(low - middle), abs(high - middle)))
            return Extent(dim + 1, norm, math.hypot(2, scale * (high - low)))
        if kind in ("gradient", "residual"):
            return Extent(dim, 1.0, 2.0)
        return super().extent(report, link, rewards, dim)

    @property
    def _shake(self) -> float:
        """The extra perturbation of x where the published algorithm asks for it: no privacy rests on it."""
        return float(self._report.get("shake", 0.0))

    @property
    def _farthest(self) -> float:
        return self._norm + randomness.FARTHEST * self._shake

    def pick(self, features: Array) -> int:
        if self._policy["name"] in DRAWN:
            return draw(float(self._draws.uniforms(1)[0]), self._weights(features))
        if self._policy["name"] not in ("ucb", "greedy"):
            return super().pick(features)
        values: Array = features @ self._theta
        if self._policy["name"] == "ucb":
            squares = np.einsum("ki,ij,kj->k", features, self._inverse, features)
            values = values + self._policy["width"] * np.sqrt(np.maximum(squares, 0.0))
        return int(np.argmax(values))

    def chance(self, features: Array, index: int) -> Chance:
        if self._policy["name"] in DRAWN:
            return Chance(float(self._weights(features)[index]), 0.0)
        return super().chance(features, index)

    def _weights(self, features: Array) -> Array:
        policy = self._policy
        if policy["name"] == "gap":
            return designs.gap_weights(features, policy["played"], policy["greed"])
        thetas, count = policy["thetas"], len(policy["thetas"])  # of the inverses, which have the widths in them
        inverses = policy["inverses"].reshape(count, self.dim, self.dim)
        alive = designs.survivors(features, thetas, inverses, np.ones(count))
        return designs.span_weights(features, alive, policy["factor"])

    def contribution(self, x: Array, reward: float | None) -> Exact:
        vector = super().contribution(x, reward)
        if self._shake > 0:
            vector[:-1] += self._shake * self._noise.normals(self.dim)
        return vector

    def _vector(self, x: Array, reward: float | None) -> Array:
        """A reward that never came is the one nearest to 0 in a pair."""
        made = super()._vector(x, reward)
        if reward is None and self._report["name"] == "pair":
            nearest = min(max(0.0, self.rewards[0]), self.rewards[1])
            made[-1] = self._report["scale"] * (nearest - self._report["middle"])
        return made

    def _datum(self, x: Array, reward: float) -> Array:
        kind = self._report["name"]
        if kind == "pair":
            return np.append(x, self._report["scale"] * (reward - self._report["middle"]))
        if kind == "gradient":
            r = reward if self.code == IDENTITY else in_units(reward, self.code, *self.rewards)
            return np.asarray((mean(self.code, float(np.dot(x, self._theta))) - r) / self._report["bound"] * x)
        if kind == "residual":
            clip, bound = self._report["clip"], self._report["bound"]
            z = min(max(float(np.dot(x, self._theta)), -clip), clip)
            return np.asarray((z - in_units(reward, IDENTITY, *self.rewards)) / bound * x)
        if kind == "reweighted":
            r = in_units(reward, self.code, *self.rewards)
            return said(x, r, question(self._report, self._inverse, self._theta), self.link)
        if kind == "linear":
            return pair(x, 1.0, self._report["scale"] * reward)
        return super()._datum(x, reward)


def question(report: dict[str, Any], matrix: Array, point: Array) -> SumQuery:
    """What a billboard of reweighted regression asks."""
    numbers = report["radius"], report["scale"], report["outer"]
    return SumQuery(report["stage"], matrix, np.asarray(report["half"]), point, *numbers)
