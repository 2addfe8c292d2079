"""What may be asked: every request and reward is checked here, whole, before anything of it meets a state."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.core import actions
from tacit.core.actions import Declared
from tacit.core.onepass import OnePass
from tacit.core.reward import reward_problem
from tacit.data import Array, Integers, Raw
from tacit.features import frames
from tacit.features.schema import Schema
from tacit.model import arms as arm_sets
from tacit.model.arms import check_mask


class Offer(NamedTuple):
    """RAW. One person's arms: their features, their names if they have any, and the indices of those that are
    available; None if all are."""

    features: Array
    names: tuple[str, ...] | None
    available: Integers | None

    def __repr__(self) -> str:
        return "<raw>"

    @property
    def arms(self) -> Array:
        """Those that may be chosen."""
        return self.features if self.available is None else self.features[self.available]

    def place(self, picked: int) -> int:
        """Of an arm that was picked among them, in the request."""
        return picked if self.available is None else int(self.available[picked])

    def name(self, place: int) -> str | None:
        return self.names[place] if self.names else None


@dataclass(frozen=True, kw_only=True)
class Door:
    """What one bandit takes, with the actions that are declared now. limited: persons are counted."""

    dim: int
    blocks: int
    rewards: tuple[float, float]
    schema: Schema | None
    limited: bool
    declared: tuple[Declared, ...] = ()

    @classmethod
    def of(cls, algorithm: OnePass, declared: tuple[Declared, ...] = ()) -> "Door":
        plan = algorithm.plan
        schema = plan.features
        if schema is not None and declared:
            schema = actions.schema_of(schema, declared)
        return cls(
            dim=plan.dim,
            blocks=plan.blocks,
            rewards=plan.reward.range,
            schema=schema,
            limited=plan.limits.most is not None,
            declared=declared,
        )

    @property
    def width(self) -> int:
        """Numbers of an arm."""
        return arm_sets.width(self.dim, self.blocks)

    @property
    def names(self) -> tuple[str, ...]:
        """Of declared actions."""
        return () if self.schema is None else self.schema.actions

    def arms(self, arms: Any, given: Any = None) -> Offer:
        """Arms as vectors, or a person's fields with `given` actions; ValueError for bad ones. Nobody asks for a choice
        among them."""
        return Offer(*arm_sets.asked(self.schema, self.dim, arms, given, self.blocks), None)

    def offer(self, arms: Any, available: npt.ArrayLike | None = None, given: Any = None) -> Offer:
        """The same for a request; ValueError for a bad one."""
        found = self.arms(arms, given)
        return found._replace(available=check_mask(available, len(found.features)))

    def batch(self, arms: Any, given: Any = None) -> tuple[list[Array], list[str | None], tuple[str, ...] | None]:
        """Of many users at once: the features of each, what is wrong with them, and the names of arms if they have any.
        ValueError for what is no batch."""
        names: tuple[str, ...] | None = None
        if self.schema is None:
            arm_sets.without_actions(given)
            if frames.is_frame(arms):
                table = frames.columns(arms)
                if "arms" not in table:
                    raise ValueError(
                        "Expected a column arms, or a bandit with a schema for a frame of fields, got neither."
                    )
                arms = frames.values(table["arms"])
            rows, problems = arm_sets.rows(arms, self.dim)
        else:
            rows, problems = self.schema.batch(arms, given, placed=self.blocks > 1)
            names = self.schema.offered if given is None else tuple(given)
        return rows, problems, names

    def played(self, arms: Any, given: Any = None, place: int = 0) -> Array | None:
        """RAW. The features of an arm that was played elsewhere; None where they are wrong."""
        try:
            x: Array = self.arms(arms, given).features[place]
            return x if math.isfinite(float(x.sum())) else None
        except (ValueError, TypeError, KeyError, IndexError, OverflowError):
            return None

    def check(self, reward: object) -> Raw[float]:
        """A reward in its range, or ValueError."""
        problem = reward_problem(reward, *self.rewards)
        if problem:
            raise ValueError(problem)
        value: Any = reward  # a number
        return Raw(float(value))

    def retired(self, offer: Offer) -> bool:
        """Whether it offers an action that was retired since it was checked."""
        gone = {one.name for one in self.declared if one.until is not None}
        if not gone or offer.names is None:
            return False
        offered = offer.names if offer.available is None else [offer.names[int(i)] for i in offer.available]
        return not gone.isdisjoint(offered)


def nothing(width: int) -> Raw[Array]:
    """What is kept of a choice that teaches nothing: as many numbers as of any other."""
    return Raw(np.zeros(width))
