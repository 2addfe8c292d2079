"""What a body of `choose` asks for, as a bandit takes it. RAW."""

from collections.abc import Sequence
from typing import Any

from reticent import durations
from reticent.features.schema import Schema
from reticent_serve.service import bodies
from reticent_serve.service.config import BanditSetting
from reticent_serve.service.words import count, counted, date


def sentence(setting: BanditSetting, status: dict[str, Any]) -> str | None:
    """None from the first release on, and of a bandit that was retired."""
    if status["version"] > 0 or status["retired"]:
        return None
    size, made, entered, due = (status[name] for name in ("next_release_after", "choices", "entered", "due_at"))
    since = "since the restore" if status["predecessors"] else "so far"
    start = f"Nothing has been released {since}. People get {_offered(setting, status)} until"
    if due is not None:
        return f"{start} about {date(due)}, when the first step of {counted(size, 'choice')} counts."
    return (
        f"{start} the first step of {counted(size, 'choice')} counts. Made so far: {count(made)}; counted so far: "
        f"{count(entered)}. A choice counts {durations.words(status['window'])} after it was made."
    )


def _offered(setting: BanditSetting, status: dict[str, Any]) -> str:
    if status["predecessors"]:
        return "arms by what was released before it"
    known = setting.warm_start is not None
    return "arms by what was known at the start" if known else "random arms"


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
