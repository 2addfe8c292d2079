"""The certificate of a bandit on a database: the bandit's own, and what recoveries have cost."""

from typing import Any, NamedTuple

import msgspec

from tacit.bandits.joint.continual import LOGGED
from tacit.core import actions
from tacit.core.actions import Declared
from tacit.holders.rows import BanditRow
from tacit.privacy.certificate import ROUNDING, Certificate, certify
from tacit.privacy.ledger import epsilon_of, grid_delta
from tacit.privacy.persons import many
from tacit.protocols import Algorithm

RAW_ROWS = (
    "Raw rows are sealed; who has a copy of the database, old or new, and the folder of keys of the same time can read "
    "what was waiting then. A copy without keys shows how many choices were waiting, and of how many of them something "
    "had been written. How many rounds each person has had is kept by keyed hashes. The folder of keys must not be in "
    "backups."
)

SUMS = (
    "What public contexts sum to is kept as it is, not sealed, and stays when a person is erased; who sees the "
    "database, or its log, before and after a choice can read the features of the arm that was offered."
)


class Sources(NamedTuple):
    """What a bandit was given beside its settings."""

    source: Any
    policy_given: bool


class Counts(NamedTuple):
    """Public. choices: of one incarnation. The others: of all that the database has had, since what they released is
    promised the same."""

    choices: int = 0
    unnamed: int = 0  # without a person
    logged: int = 0  # rows of logs
    recovered: bool = False  # a restore may have lost some of them


def all_rounds(algorithm: Algorithm[Any]) -> int | None:
    """The most rounds of a person that the releases of a certificate are for; None where they are for one week's."""
    limits = algorithm.plan.limits
    if limits.weeks is not None:
        return (limits.most or 0) * limits.weeks
    return limits.most if limits.week is None else None


def deadline(wait: str, missing_as: float | None) -> str:
    """When a choice enters, and with what."""
    silence = "as nothing" if missing_as is None else f"as {missing_as:g}"
    return f"each choice enters once, {wait}, with the reward that came by then or, without one, {silence}"


def claimed(
    algorithm: Algorithm[Any],
    given: Sources,
    counts: Counts = Counts(),
    declared: tuple[Declared, ...] = (),
    deadline: str = "",
) -> Certificate:
    """The claim of one incarnation, with nothing released yet."""
    plan = algorithm.plan
    planned, person = plan.releases(plan.mechanism.leaves), plan.person()
    if person is not None and counts.recovered:
        person = person._replace(required=False)  # nobody knows whether it was of those that are lost
    return certify(
        plan.name,
        model="joint",
        budget=plan.budget,
        releases=planned,
        spent=(),
        source=given.source,
        horizon=plan.horizon,
        rounds=counts.choices,
        person=person,
        unnamed=counts.unnamed,
        policy_given=given.policy_given,
        features=plan.features,
        actions=actions.words(declared),
        deadline=deadline,
        caveats=(*([LOGGED.format(counts.logged)] if counts.logged else []), *plan.caveats),
    )


def of(
    algorithm: Algorithm[Any],
    found: Certificate,
    row: BanditRow,
    released: int,
    *,
    ended: bool = False,
) -> Certificate:
    """`found` as claimed above. `released`: leaves that are committed, whether or not they are visible.

    After a recovery nothing raw of an earlier incarnation is used again, so a round is in one incarnation only and the
    claim for a round is that of one incarnation. A person's rounds may be counted too low by what the restore lost: up
    to max_rounds_per_person in each incarnation in which they teach. Those are separate Gaussian mechanisms, mu each,
    sqrt(n) mu together. An incarnation that went on from a database which had been taken back in time counts twice: its
    rounds may have been released before, with other noise."""
    plan = algorithm.plan
    spent = plan.releases(released)
    if found.epsilon is None or found.delta is None or found.budget is None:
        return found
    n, epsilon = row.incarnation, found.epsilon
    caveats, releases, over = [*found.caveats, RAW_ROWS, *[SUMS] * (plan.contexts > 0)], found.releases, found.over
    if ended:
        caveats.append("Retired: what was raw was dropped and its keys are destroyed; nothing more is released.")
    if n > 1:
        spent = found.releases  # by those of an earlier incarnation, at most
        times = "once" if n == 2 else f"{n - 1} times"
        caveats.append(
            f"Recovered {times}: what was raw before was dropped, so that no round is in two incarnations; going on "
            "from a restored database would have cost up to sqrt 2 times mu. A request that is sent again after a "
            "recovery is another round."
        )
    if row.twice:
        releases = spent = found.releases * 2
        epsilon = epsilon_of(releases, found.delta)
        caveats.append(
            "An id, or two noises of one step, showed that the database had been taken back in time before it was "
            "recovered: what was released until then may be a second release of the same people, and is counted so."
        )
    if row.silent:
        caveats.append(
            "Recovered within the budget: counts of a person's rounds may be too low since a restore, so that nobody "
            "who is named by person= teaches any more."
        )
    taught = n - row.silences + row.twice  # incarnations in which people who are named may teach, some of them twice
    if taught > 1 and plan.limits.most is not None:
        earlier = found.releases * (taught - (not row.silent))
        releases, spent = found.releases * taught, earlier if row.silent else earlier + plan.releases(released)
        epsilon = epsilon_of(releases, found.delta)
        caveats.append(
            "Counts of a person's rounds may be too low since a restore. Accounted for: up to "
            f"{many(all_rounds(algorithm) or plan.limits.most, 'round')} in each of {taught} incarnations"
            + ("; one that is counted twice is two of them." if row.twice else ".")
        )
        claim = plan.person()
        assert claim is not None
        over = {weeks: epsilon_of([*several] * taught, found.delta) for weeks, several in claim.over.items()}
    return msgspec.structs.replace(
        found,
        epsilon=epsilon,
        private=found.private and epsilon <= found.budget * (1 + ROUNDING),
        spent=epsilon_of(spent, found.delta),
        grid_delta=grid_delta(releases, epsilon),
        group={rounds: epsilon_of(releases, found.delta, rounds=rounds) for rounds in found.group},
        releases=releases,
        over=over,
        caveats=tuple(caveats),
    )
