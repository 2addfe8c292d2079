"""The certificate of a bandit: what its plan costs, and what it was given beside its settings."""

from typing import Any, NamedTuple

from reticent.core import actions
from reticent.core.actions import Declared
from reticent.core.onepass import OnePass
from reticent.privacy.certificate import Certificate, certify

LOGGED = (
    "{} of the choices are rows of a log (learn_log), protected like other rounds. If the log's policy learnt from "
    "people, what one person was offered may tell of another; that happened before, and is not covered. Whoever gives "
    "logs is trusted: the same log is refused a second time, by a comparison of its rows without noise."
)


class Sources(NamedTuple):
    """What a bandit was given beside its settings."""

    source: Any
    policy_given: bool


class Counts(NamedTuple):
    """Public."""

    choices: int = 0
    logged: int = 0  # rows of logs
    steps: int = 0  # that were released


def claimed(
    algorithm: OnePass,
    given: Sources,
    counts: Counts = Counts(),
    declared: tuple[Declared, ...] = (),
    deadline: str = "",
) -> Certificate:
    plan = algorithm.plan
    schema = plan.features
    return certify(
        plan.name,
        model="joint",
        budget=plan.budget,
        releases=plan.releases(plan.mechanism.leaves),
        spent=plan.releases(counts.steps),
        source=given.source,
        horizon=plan.horizon,
        rounds=counts.choices,
        person=plan.person,
        policy_given=given.policy_given,
        features=actions.schema_of(schema, declared) if schema is not None and declared else schema,
        actions=actions.words(declared),
        deadline=deadline,
        caveats=(*([LOGGED.format(counts.logged)] if counts.logged else []), *plan.caveats),
    )


def deadline(wait: str, default: float | None) -> str:
    """When a choice enters, and with what."""
    silence = "as nothing" if default is None else f"as {default:g}"
    return f"each choice enters once, {wait}, with the reward that came by then or, without one, {silence}"
