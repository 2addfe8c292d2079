"""What a body of `choose` asks for, as a bandit takes it. RAW."""

from collections.abc import Sequence
from typing import Any

from tacit.features.schema import Schema
from tacit.service import bodies


def offered(body: bodies.ChooseBody, schema: Schema | None, most: int) -> tuple[Any, Any, Sequence[str] | None]:
    """What is asked for: arms and nothing, or a person's fields and actions; and the names, where they have names."""
    described = body.context is not bodies.UNSET
    if (
        (body.arms is bodies.UNSET) != described
        or described != (schema is not None)
        or (body.actions is not bodies.UNSET and not described)
    ):
        needed = "arms, and no context or actions" if schema is None else "context, and no arms"
        raise ValueError(f"Expected {needed}, for this bandit.")
    arms: Any
    actions: Any
    if schema is None:
        arms, actions, names = body.arms, bodies.UNSET, list(body.arms) if isinstance(body.arms, dict) else None
    else:
        arms, actions = body.context, body.actions
        names = list(schema.offered if body.actions is bodies.UNSET else body.actions)
    if len(arms if names is None else names) > most:
        raise ValueError(f"Expected at most {most} arms.")
    return arms, actions, names


def fields(schema: Schema | None) -> tuple[str, ...]:
    """The names that values may have in a body."""
    return () if schema is None else (*schema.context, *schema.action)


def most_containers(schema: Schema | None, most_arms: int) -> int:
    """Lists and objects of a body with as many arms as may be."""
    described, own = (0, 0) if schema is None else (len(schema.context), len(schema.action))
    return bodies.FEW + described + most_arms * (1 + own)


def mask(given: Any, names: Sequence[str] | None) -> list[bool] | None:
    if given is bodies.UNSET:
        return None
    if all(isinstance(one, bool) for one in given):
        return list(given)
    if names is None or not set(given) <= set(names):
        raise ValueError("Expected available to be a mask, or names of arms that have names.")
    return [name in given for name in names]
