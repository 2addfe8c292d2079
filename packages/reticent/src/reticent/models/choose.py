"""Which model learns, and why: the only place that decides."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from reticent import checks
from reticent.features.schema import Schema
from reticent.kernels.blocks import BLOCKS
from reticent.kernels.glm import Tuning
from reticent.model import links
from reticent.models.centred import Centred
from reticent.models.fields import Fields
from reticent.models.glm import GLM
from reticent.models.protocol import Model, ModelSettings
from reticent.models.scores import Scores

Factory = Callable[[ModelSettings], Model[Any]]
MODELS: dict[str, Factory] = {"curvature": GLM.of, "scores": Scores.of, "fields": Fields.of, "centred": Centred.of}
MOST = 100  # numbers of an action, or of an arm around a base rate, with which sums of products are the default
# Unless one is named, no curvature is released from MANY dimensions on; where the horizon is known, from LEAST on and
# below ENOUGH blocks p^1.5 / mu rounds, p the features of an arm: noise of std 1 / mu in p^2 numbers, seen by one in
# `blocks`. Blocks that share nothing have their shape in common, so that far fewer rounds do; MANY is of one block's.
LEAST, MANY, ENOUGH, ENOUGH_APART = 50, 100, 150.0, 0.5
CHANGING = Tuning(ridge=1.5)  # with `forget`: a smaller ridge learns what is new sooner
CAVEAT = "The usual reward was given as public (base_rate=): the people behind that number, if any, are not protected."


@dataclass(frozen=True)
class Variant:
    """Settings for research, whose defaults were measured.

    name: of a model (MODELS), or what makes one of its settings; None: the one that is chosen for these. first: the
    smallest step, and how many users get random arms; by default 8 and some for each unit of the noise's std, so that a
    step says more than its noise. growth, discount: how steps grow, and how the past fades. tuning: of estimates by
    curvature; its default depends on whether arms are disjoint, and whether anything is forgotten."""

    name: str | Factory | None = None
    first: int | None = None
    growth: float | None = None
    discount: float | None = None
    tuning: Tuning | None = None

    __repr__ = checks.concise

    def __post_init__(self) -> None:
        if isinstance(self.name, str):
            checks.one_of(tuple(MODELS), model=self.name)
        elif self.name is not None and not callable(self.name):
            raise ValueError(f"Expected model to be a name or to make one, got {type(self.name).__name__}.")
        if self.first is not None:
            checks.positive_int(first=self.first)
        if self.growth is not None and not 1 < self.growth < math.inf:
            raise ValueError(f"Expected growth above 1, got {self.growth!r}.")


def variant(given: object) -> Variant:
    """Of what a setting may be."""
    return given if isinstance(given, Variant) else Variant(given)  # type: ignore[arg-type]


def usual_tuning(blocks: int, forget: float | None) -> Tuning:
    return BLOCKS if blocks > 1 else Tuning() if forget is None else CHANGING


class ModelChoice(NamedTuple):
    """why: in words for the certificate, where there was something to choose."""

    model: Model[Any]
    why: str


def model(name: str | Factory | None, asked: ModelSettings, horizon: int | None) -> ModelChoice:
    """ValueError for settings that cannot be."""
    if callable(name):
        return ModelChoice(name(asked), "")
    if by_fields(name, asked.schema, asked.dim, asked.base_rate, known=asked.known):
        why = "; by fields, as each action has a part of the vector for itself" if name is None else ""
        found = ModelChoice(Fields.of(asked), why)
    elif asked.base_rate is not None:
        _check_centred(name, asked)
        found = ModelChoice(Centred.of(asked), "; around a usual reward, as base_rate is given")
    elif name is not None:
        if name == "centred":
            raise ValueError('Expected base_rate with model="centred", got none.')
        found = ModelChoice(MODELS[name](asked), "")
    else:
        few, why = _few_rounds(asked, horizon)
        found = ModelChoice((Scores if few else GLM).of(asked), why)
    _check_idle(found.model, asked)
    return found


def by_fields(name: str | None, schema: Schema | None, dim: int, base_rate: float | None, *, known: bool) -> bool:
    """Whether sums are by fields; ValueError if they cannot be. known: something is, from elsewhere."""
    apt = schema is not None and schema.arms == "disjoint" and schema.blocks > 1
    if name == "fields" and (not apt or known):
        reason = "warm_start beside it" if apt else "other features, or none"
        raise ValueError(f'Expected features of disjoint arms alone with model="fields", got {reason}.')
    return name == "fields" or (
        name is None and apt and not known and schema is not None and dim // schema.blocks <= MOST
    )


def _check_centred(name: str | None, asked: ModelSettings) -> None:
    """ValueError for a base rate that nothing can be done with."""
    against = ["warm_start"] * asked.known
    if name not in (None, "centred"):
        against.append(f'model="{name}"')
    if asked.own > MOST:
        against.append(f"more than {MOST} numbers of an arm")
    if against:
        raise ValueError(
            "Expected base_rate with vectors, or with features of shared arms or of disjoint ones by fields, got it "
            f"with {against[0]}."
        )


def _few_rounds(asked: ModelSettings, horizon: int | None) -> tuple[bool, str]:
    """Whether the rounds to come are too few to learn a curvature through its noise, and a sentence about it."""
    disjoint, own, dim = asked.blocks > 1, asked.own, asked.dim
    if dim < LEAST:
        return False, f"; with curvature, as dimensions are fewer than {LEAST}"
    if horizon is None or (disjoint and own >= MANY):
        few = (own if disjoint else dim) >= MANY
        than = f"dimensions{' of a block' if disjoint else ''} are {f'{MANY} or more' if few else f'fewer than {MANY}'}"
    else:
        enough = (ENOUGH_APART if disjoint else ENOUGH) * asked.blocks * own**1.5 / asked.mu
        few = horizon < enough
        than = f"the horizon is {'below' if few else 'not below'} {enough:.3g} rounds"
    return few, f"; {'without' if few else 'with'} curvature, as {than}"


def _check_idle(model: Model[Any], asked: ModelSettings) -> None:
    """ValueError for a setting that has no effect with that model. What is by default may stand."""
    names = {Fields: "features whose sums are by fields", Centred: "base_rate", Scores: 'model="scores"'}
    form = names.get(type(model))
    if form is not None and asked.tuning not in (Tuning(), CHANGING, BLOCKS):
        raise ValueError(f'Expected model="curvature" with tuning, which is of its estimates, got {form}.')
    if isinstance(model, Fields | Centred):
        why = "where the chance of a reward is linear in the features"
        if asked.link is not links.logistic:
            raise ValueError(f"Expected no link with {form}, {why}, got {asked.link.name}.")
        if asked.radius != 1.0:
            raise ValueError(f"Expected no radius with {form}, {why}, got {asked.radius:g}.")
