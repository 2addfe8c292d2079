"""What a budget, a source of noise, a policy's generator, a radius and a range of rewards must be: a mix-up is named
before anything is made."""

from typing import Any

import numpy as np
from numpy.random import Generator

from reticent import checks
from reticent.features.schema import Schema
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated


def check(owner: Any) -> None:
    """The settings of a joint bandit or a regressor, or ValueError."""
    _for_rounds(owner)
    owner.budget.needs_delta(type(owner).__name__)
    given = owner.source
    if isinstance(given, type) or not isinstance(getattr(given, "private", None), bool):
        raise ValueError(f"Expected source to be Secure() or Simulated(seed), got {_name(given)}.")
    _policy(getattr(owner, "policy", None))
    _sizes(owner)


def check_server(owner: Any) -> None:
    """The settings of a server, whose devices have the noise, or ValueError."""
    _for_rounds(owner)
    if not isinstance(owner.source, Simulated | None):
        raise ValueError(
            "Expected source to be None (devices draw from their operating system) or, in simulation, "
            f"Simulated(seed), got {_name(owner.source)}."
        )
    _policy(owner.policy)
    check_features(owner.features)
    if isinstance(owner.features, Schema):
        owner.features.check_for_devices()


def dimension(owner: Any) -> None:
    """Sets `dim`, which follows from `features` where they are given, or ValueError."""
    given = owner.features
    if given is not None:
        if not isinstance(given, Schema):
            found = type(given).__name__
            raise ValueError(f"Expected features to be a Schema (Schema.from_dict makes one of a dict), got {found}.")
        if owner.dim not in (0, given.dim):
            raise ValueError(f"Expected dim={given.dim}, as the schema has it, got {owner.dim!r}.")
        owner.dim = given.dim
    checks.positive_int(dim=owner.dim)
    owner.dim = int(owner.dim)


def check_features(given: object) -> None:
    """ValueError unless it is a Schema or a number of dimensions."""
    if not isinstance(given, Schema):
        if not isinstance(given, int | np.integer) or isinstance(given, bool):
            raise ValueError(
                "Expected features to be a Schema (Schema.from_dict makes one of a dict) or how many numbers a vector "
                f"has, got {type(given).__name__}."
            )
        checks.positive_int(features=given)


def check_budget(given: object) -> None:
    """A Budget, or ValueError."""
    if not isinstance(given, Budget):
        raise ValueError(
            f"Expected budget to be a Budget, e.g. Budget(epsilon=1.0, delta=1e-6), got {type(given).__name__}."
        )


def _for_rounds(owner: Any) -> None:
    """A Budget of one round, or ValueError: whose noise does not follow from `unit` would be too small for a person."""
    check_budget(owner.budget)
    owner.budget.of_rounds(type(owner).__name__)


def _sizes(owner: Any) -> None:
    """The bounds that sensitivities follow from."""
    checks.size(radius=owner.radius)
    name = "targets" if hasattr(owner, "targets") else "rewards"
    checks.interval(**{name: getattr(owner, name)})


def _policy(given: object) -> None:
    if not isinstance(given, Generator | None):
        raise ValueError(f"Expected policy to be None or a NumPy Generator, got {type(given).__name__}.")


def _name(given: object) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__
