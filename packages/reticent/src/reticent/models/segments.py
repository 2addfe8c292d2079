"""What an estimate by fields says of people: what the actions that are chosen earn, beside a random one and the best
single one, and for each value of a field what each action earns from people who have it.

Every mean reward is linear in the weights, <x, theta_a>, so that averages over people are as well, and each has a
Gaussian posterior. Who comes follows from the released sums of features: each field's values are as frequent as these
say, and fields are taken to have nothing to do with each other (features.people).

What is chosen is chosen because it looks good, so that its estimate is too high, and that of what is left too low. How
much of this there is when weights are drawn from the posterior is known exactly; a part of that, FOND, is taken off.

All of it is post-processing of what was released and of the schema. It is the model's own estimate, and no trial:
docs/measurements/fields.md says how far off it was."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.random import Generator, default_rng

from reticent import special
from reticent.data import Array, Integers
from reticent.features.columns import Column, Hashed, Number
from reticent.features.people import frequencies, made_up, row
from reticent.features.schema import Schema, SchemaPart

if TYPE_CHECKING:
    from reticent.models.fields import FieldPosterior

LEVEL = 0.9  # of intervals
WIDENING = 1.6  # of them
PEOPLE, DRAWS = 2000, 20  # people that are made up, and draws from the posterior
FOND = 0.15  # chosen on tuning seeds, so that what is chosen has about the right estimate (docs/measurements/fields.md)


class Likely(NamedTuple):
    """An estimate and its interval."""

    value: float
    low: float
    high: float


class FieldSegment(NamedTuple):
    """Of one field, for each of its values and each action: the mean reward of people who have it. shares: how frequent
    a value is, with an error of about `error`. best: the action of the largest estimate; instead: what it earns there
    beyond the best single action. adds: what the best action for each value adds to the best single one."""

    name: str
    ordered: bool  # values are points of a line, but for the last one, which is none
    labels: tuple[str, ...]
    shares: Array
    error: float
    mean: Array  # (values, actions)
    low: Array
    high: Array
    best: Integers
    instead: tuple[Likely, ...]
    adds: Likely


class Segments(NamedTuple):
    """Mean rewards: of the actions that are chosen, of random ones and of the best single one, `actions[best]`; and
    what the chosen ones earn beyond the best single one and beyond random ones. actions: those that are offered, by
    their places in the schema; other numbers of actions are places in this list."""

    level: float
    actions: tuple[int, ...]
    best: int
    chosen: Likely
    random: Likely
    single: Likely
    adds: Likely
    gains: Likely
    fields: tuple[FieldSegment, ...]


def of(
    schema: Schema,
    mean: Callable[[Array], Array],
    span: float,
    posterior: "FieldPosterior",
    step: int,
    live: Integers,
    noise: float,
    fond: float = FOND,
) -> Segments:
    """After that release. mean: reward of a score; span: of rewards. live: the actions that are offered. noise: std of
    that in the sums of features. fond: how much of what is overstated is taken off."""
    rng = default_rng(step)  # of nobody's: the same for everybody who computes it
    look = _Look(schema, mean, span, posterior, live, rng, fond)
    people = posterior.people
    rows = made_up(schema, people, PEOPLE, rng)
    each, average = np.full(PEOPLE, 1 / PEOPLE), rows.mean(axis=0)
    best = int(np.argmax(look.theta @ average))
    picked = offered(posterior, rows, look.theta, live, rng)
    chosen = np.stack([rows[picked == a].sum(axis=0) for a in range(len(live))]) / PEOPLE
    single, evenly = look.alone(best, average), np.tile(average / len(live), (len(live), 1))
    over, over_single = look.overstated(rows, each), look.overstated(average[None], np.ones(1))
    return Segments(
        LEVEL,
        tuple(live.tolist()),
        best,
        look.reward(chosen, over),
        look.reward(evenly, -over),
        look.reward(single, over_single),
        look.difference(chosen - single, over - over_single),
        look.difference(chosen - evenly, 2 * over),
        tuple(
            _field(look, part, people, noise, best, over_single)
            for part in schema.own
            if len(part.names) == 1 and not isinstance(schema.context[part.names[0]], Hashed)
        ),
    )


def offered(posterior: "FieldPosterior", rows: Array, theta: Array, live: Integers, rng: Generator) -> Integers:
    """For each of the (n, p) rows the place in `live` of the action that is chosen: by (live, p) weights, and by draws
    as large as the present ones."""
    moves = rows @ (posterior.axes[live] * posterior.spread[live][:, None, :])
    draws = np.sqrt((moves**2).sum(axis=2)).T * rng.standard_normal((len(rows), len(live)))
    return np.asarray(np.argmax(rows @ theta.T + draws, axis=1))


def _field(look: "_Look", part: SchemaPart, people: Array, noise: float, best: int, over_single: float) -> FieldSegment:
    """noise: std of that in the sums of features."""
    schema, (name,) = look.schema, part.names
    column, typical = schema.context[name], frequencies(schema, people)
    labels, numbers, shares = _values(column, typical[name])
    rows = np.stack([row(schema, typical | {name: one}) for one in numbers])
    mean, low, high = look.rewards(rows)
    top = (rows @ look.theta.T).argmax(axis=1)
    beyond = [look.alone(int(a), x) - look.alone(best, x) for a, x in zip(top, rows, strict=True)]
    return FieldSegment(
        name,
        isinstance(column, Number),
        labels,
        shares,
        noise / max(float(np.maximum(people[part.start : part.start + part.size], 0.0).sum()), 1e-9),
        mean,
        low,
        high,
        top,
        tuple(look.difference(each) for each in beyond),
        look.difference(np.tensordot(shares, beyond, 1), max(0.0, look.overstated(rows, shares) - over_single)),
    )


def _values(column: Column, typical: Array) -> tuple[tuple[str, ...], Array, Array]:
    """What is shown of a field: names, the numbers that somebody with that value has, and how frequent it is. Of a line
    its two ends: where people are on it is not released."""
    if isinstance(column, Number) and column.bins == 1:
        labels = (f"{column.low:g}", f"{column.high:g}", "none")
        return labels, np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5, 0.0])
    return tuple(column.labels()), np.eye(column.size), typical


class _Look:
    """Linear functions of the weights of live actions, as mean rewards."""

    def __init__(
        self,
        schema: Schema,
        mean: Callable[[Array], Array],
        span: float,
        posterior: "FieldPosterior",
        live: Integers,
        rng: Generator,
        fond: float,
    ) -> None:
        self.schema, self._mean, self._span, self._fond = schema, mean, span, fond
        self.theta, self._covariance = posterior.theta[live], posterior.inverse[live]
        self._widths = float(special.ndtri((1 + LEVEL) / 2))
        draws = rng.standard_normal((DRAWS, *self.theta.shape)) / np.sqrt(posterior.precision[live])
        self._off = np.einsum("aij,daj->dai", posterior.axes[live], draws)

    def alone(self, action: int, x: Array) -> Array:
        out = np.zeros_like(self.theta)
        out[action] = x
        return out

    def overstated(self, rows: Array, shares: Array) -> float:
        """By how much the best action for each row, of people of that share, is taken to be better than it is."""
        moved = np.tensordot(self._off, rows, (2, 1))  # (draws, actions, rows)
        best = (self.theta @ rows.T + moved).argmax(axis=1)
        return self._fond * float((np.take_along_axis(moved, best[:, None], 1)[:, 0] @ shares).mean())

    def _found(self, each: Array, over: float) -> tuple[float, float]:
        """The sum over actions of <each_a, theta_a>, less `over`, and half the width of its interval. Errors of several
        actions may go together: the rate that all of them are drawn towards is one number."""
        stds = np.sqrt(np.einsum("ai,aij,aj->a", each, self._covariance, each))
        width = max(WIDENING * float(np.linalg.norm(stds)), float(stds.sum()))
        return float((each * self.theta).sum()) - over, self._widths * width

    def reward(self, each: Array, over: float) -> Likely:
        middle, half = self._found(each, over)
        return Likely(*self._mean(np.array([middle, middle - half, middle + half])).tolist())

    def difference(self, each: Array, over: float = 0.0) -> Likely:
        middle, half = self._found(each, over)
        return Likely(*(self._span * end for end in (middle, middle - half, middle + half)))

    def rewards(self, rows: Array) -> tuple[Array, Array, Array]:
        """(rows, actions): the mean reward of each action for people with that row, and its interval."""
        middle = rows @ self.theta.T
        half = np.sqrt(np.einsum("vi,aij,vj->va", rows, self._covariance, rows)) * WIDENING * self._widths
        mean, low, high = (self._mean(end) for end in (middle, middle - half, middle + half))
        return mean, low, high
