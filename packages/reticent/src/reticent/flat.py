"""An algorithm's settings under one name each, as files, the command line and worlds give them."""

from typing import Any

from reticent.algorithms.prior import WarmStart
from reticent.core.reward import Reward
from reticent.experiment import Algorithm, Experiment
from reticent.features.schema import Schema
from reticent.joint import JointGLM, idle
from reticent.model.holdout import Holdout
from reticent.models.choose import Variant
from reticent.privacy.budget import Budget

REWARD = ("link", "radius", "range", "base_rate", "window", "default")
VARIANT = ("first", "growth", "discount", "tuning")
WARM = ("prior", "rows")
OWN = ("model", "forget", "horizon", "per_day")
PARTS = (JointGLM, Reward, Variant, WarmStart, Experiment)
NAMES = ("features", "budget", *REWARD, *OWN, *VARIANT, *WARM, "holdout")


def named(
    *,
    features: Schema | int,
    budget: Budget,
    holdout: Holdout | None = None,
    kind: type[JointGLM] = JointGLM,
    **settings: Any,
) -> Algorithm:
    """The algorithm with these settings; what is None is as by default. kind: of your own, with the same settings."""
    given = {name: value for name, value in settings.items() if value is not None}
    unknown = sorted(given.keys() - NAMES)
    if unknown:
        raise ValueError(f"Expected settings of joint-glm ({', '.join(NAMES)}), got {', '.join(unknown)}.")
    reward = Reward(**{name: given[name] for name in REWARD if name in given})
    variant = {name: given[name] for name in VARIANT if name in given}
    warm = {name: given[name] for name in WARM if name in given}
    own = {name: given[name] for name in OWN if name in given}
    if variant:
        own["model"] = Variant(own.get("model"), **variant)
    if warm:
        own["warm_start"] = WarmStart(**warm)
    out = kind(features, budget, reward, **own)
    return out if holdout is None else Experiment(out, holdout)


def flat(algorithm: Algorithm) -> dict[str, Any]:
    """What `named` makes it of."""
    holdout = None
    if isinstance(algorithm, Experiment):
        holdout, algorithm = algorithm.holdout, algorithm.algorithm
    variant, warm = algorithm.variant, algorithm.warm_start
    out: dict[str, Any] = {"features": algorithm.features, "budget": algorithm.budget, "holdout": holdout}
    out |= {name: getattr(algorithm.reward, name) for name in REWARD}
    out |= {name: getattr(algorithm, name) for name in OWN} | {"model": variant.name}
    out |= {name: getattr(variant, name) for name in VARIANT}
    return out | {name: None if warm is None else getattr(warm, name) for name in WARM}


def fitting(settings: dict[str, Any]) -> dict[str, Any]:
    """These without what would have no effect beside the others."""
    features, names = settings["features"], (*REWARD, "model")
    reward = {name: settings[name] for name in names if settings.get(name) is not None}
    known = any(settings.get(name) is not None for name in WARM)
    without = idle(features, reward.get("base_rate"), reward.get("model"), known=known)
    return {name: value for name, value in settings.items() if name not in without}
