"""Which model learns, and why: the only place that decides."""

from typing import Any, NamedTuple

from tacit import checks
from tacit.features.schema import Schema
from tacit.kernels.blocks import BLOCKS
from tacit.kernels.glm import Known, Tuning
from tacit.model import links
from tacit.model.links import Link
from tacit.model.scores import ScoreContribution
from tacit.models.centred import Centred
from tacit.models.fields import Fields
from tacit.models.glm import GLM
from tacit.models.protocol import Model
from tacit.models.scores import Scores

CURVATURES = ("auto", "released", "none", "fields")
MOST = 100  # numbers of an action, or of an arm around a base rate, with which sums of products are the default
# "auto" releases no curvature from MANY dimensions on; where the horizon is known, from LEAST on and below ENOUGH
# blocks p^1.5 / mu rounds, p the features of an arm: noise of std 1 / mu in p^2 numbers, seen by one in `blocks`.
# Blocks that share nothing have their shape in common, so that far fewer rounds do; MANY is of one block's dimensions.
LEAST, MANY, ENOUGH, ENOUGH_APART = 50, 100, 150.0, 0.5
CHANGING = Tuning(ridge=1.5)  # with `forget`: a smaller ridge learns what is new sooner
CAVEAT = "The usual reward was given as public (base_rate=): the people behind that number, if any, are not protected."


class ModelSettings(NamedTuple):
    """What decides. given: whether what is known from elsewhere was given, by name. All of it is public."""

    curvature: str
    schema: Schema | None
    base_rate: float | None
    dim: int
    blocks: int
    given: dict[str, bool]

    @property
    def own(self) -> int:
        """Numbers of one block."""
        return self.dim // self.blocks


class ModelChoice(NamedTuple):
    """why: in words for the certificate, where there was something to choose."""

    kind: type[GLM | Scores | Centred | Fields]
    why: str


def kind_of(asked: ModelSettings, horizon: int | None, mu: float) -> ModelChoice:
    """ValueError for settings that cannot be."""
    checks.one_of(CURVATURES, curvature=asked.curvature)
    if asked.base_rate is not None:
        checks.probability(base_rate=asked.base_rate)
    auto = asked.curvature == "auto"
    if by_fields(asked):
        return ModelChoice(Fields, "; by fields, as each action has a part of the vector for itself" if auto else "")
    if asked.base_rate is not None:
        _check_centred(asked)
        return ModelChoice(Centred, "; around a usual reward, as base_rate is given")
    if not auto:
        return ModelChoice(Scores if asked.curvature == "none" else GLM, "")
    few, why = _few_rounds(asked, horizon, mu)
    return ModelChoice(Scores if few else GLM, why)


def by_fields(asked: ModelSettings) -> bool:
    """Whether sums are by fields; ValueError if they cannot be."""
    schema, against = asked.schema, [name for name, given in asked.given.items() if given]
    apt = schema is not None and schema.arms == "disjoint" and schema.blocks > 1
    if asked.curvature == "fields" and (not apt or against):
        reason = f"{against[0]} beside it" if apt else "other features, or none"
        raise ValueError(f'Expected features of disjoint arms alone with curvature="fields", got {reason}.')
    return asked.curvature == "fields" or (asked.curvature == "auto" and apt and not against and asked.own <= MOST)


def _check_centred(asked: ModelSettings) -> None:
    """ValueError for a base rate that nothing can be done with."""
    against = [name for name, given in asked.given.items() if given]
    if asked.curvature != "auto":
        against.append(f'curvature="{asked.curvature}"')
    if asked.own > MOST:
        against.append(f"more than {MOST} numbers of an arm")
    if against:
        raise ValueError(
            "Expected base_rate with vectors, or with features of shared arms or of disjoint ones by fields, got it "
            f"with {against[0]}."
        )


def _few_rounds(asked: ModelSettings, horizon: int | None, mu: float) -> tuple[bool, str]:
    """Whether the rounds to come are too few to learn a curvature through its noise, and a sentence about it."""
    apart, own, dim = asked.blocks > 1, asked.own, asked.dim
    if dim < LEAST:
        return False, f"; with curvature, as dimensions are fewer than {LEAST}"
    if horizon is None or (apart and own >= MANY):
        few = (own if apart else dim) >= MANY
        than = f"dimensions{' of a block' if apart else ''} are {f'{MANY} or more' if few else f'fewer than {MANY}'}"
    else:
        enough = (ENOUGH_APART if apart else ENOUGH) * asked.blocks * own**1.5 / mu
        few = horizon < enough
        than = f"the horizon is {'below' if few else 'not below'} {enough:.3g} rounds"
    return few, f"; {'without' if few else 'with'} curvature, as {than}"


def model(
    kind: type[GLM | Scores | Centred | Fields],
    asked: ModelSettings,
    *,
    link: Link,
    rewards: tuple[float, float],
    radius: float,
    unit: float,
    tuning: Tuning,
    prior: Known,
    mu: float,
    forget: float | None,
) -> Model[Any]:
    low, high = rewards
    parts: dict[str, Any] = {"dim": asked.dim, "blocks": asked.blocks, "low": low, "high": high}
    if kind is Fields:
        assert asked.schema is not None
        return Fields.of(asked.schema, base_rate=asked.base_rate, radius=radius, **parts)
    if kind is Centred:
        assert asked.base_rate is not None
        return Centred.of(asked.schema, base_rate=asked.base_rate, radius=radius, **parts)
    if kind is Scores:
        return Scores(contribution=ScoreContribution(link=link, **parts), radius=radius, prior=prior)
    more: dict[str, Any] = {"tuning": tuning, "prior": prior, "mu": mu, "forget": forget}
    return GLM.of(link=link, radius=radius, unit=unit, **more, **parts)


def check_idle(kind: type, tuning: Tuning, link: Link, radius: float, usual: float) -> None:
    """ValueError for a setting that has no effect with that model. A default may stand: saved bandits have it. usual:
    the default radius."""
    form = {Fields: "features whose sums are by fields", Centred: "base_rate", Scores: "none"}.get(kind)
    if form is not None and tuning not in (Tuning(), CHANGING, BLOCKS):
        raise ValueError(f'Expected curvature="released" with tuning, which is of estimates by curvature, got {form}.')
    if kind in (Fields, Centred):
        why = "where the chance of a reward is linear in the features"
        if link is not links.logistic:
            raise ValueError(f"Expected no link with {form}, {why}, got {link.name}.")
        if radius != usual:
            raise ValueError(f"Expected no radius with {form}, {why}, got {radius:g}.")
