"""The claim, with all that it rests on: for a lawyer, a statistician and a program."""

import html
import itertools
import math
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from reticent.features.schema import Schema
from reticent.privacy import deployments, relations, words
from reticent.privacy.budget import Budget
from reticent.privacy.ledger import Composed, Release, epsilon_of, grid_delta, relation_of
from reticent.privacy.noise import Secure, Simulated
from reticent.privacy.persons import PersonClaim

COLUMNS = 100  # of the printed certificate
ROUNDING = 1e-6  # of the budget
GROUPS = (2, 5, 10)  # rounds of one person for which a certificate that protects single rounds says what epsilon is


class Origin(Protocol):
    """Where noise comes from, as a certificate describes it."""

    @property
    def private(self) -> bool: ...
    @property
    def description(self) -> str: ...


class Devices(NamedTuple):
    """The origin of noise that people's devices draw."""

    private: bool
    description: str


DEVICES = Devices(True, "each device's cryptographic generator: exact integers")
SIMULATED_DEVICES = Devices(False, "simulated: for experiments, not for people's data")
OWN = (DEVICES, SIMULATED_DEVICES)


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What is guaranteed. `epsilon` is recomputed from the noise in use (None: no privacy); `spent` is what the
    releases so far have cost the user they cost most: at most epsilon, so that there is no need to stop when it
    comes near; `private` is false where the claim does not hold for a person's data, and `caveats` say why. `group`:
    epsilon at the same delta for a person with so many rounds, where one round is the unit; `person`: the most rounds
    of one person, where a person is; `week`: that many in each week of so many choices, and `over`: epsilon for all
    that a person did in so many weeks, where one week is the unit. `distance`: total variation between the noise drawn
    and the law that is accounted for (None: floats, unknown); `grid_delta`: the part of delta that the grid costs.
    `features`: what the bandit makes of people's fields, if it is given fields; its bounds are public. `actions`: those
    that were added or retired, and when, in numbers of choices. `deadline`: when a choice enters the sums, and with
    what, where there is such a time. `horizon`: the choices that it was planned for, if it was for so many.
    `neighbours`: the relation by its name (privacy.relations), from which `unit` and `relation`, its words, follow; all
    three are empty where nothing is claimed."""

    bandit: str
    model: str
    private: bool
    epsilon: float | None
    delta: float | None
    budget: float | None
    spent: float | None
    unit: str
    relation: str
    neighbours: str
    source: str = "none"
    distance: float | None = None
    grid_delta: float = 0.0
    group: dict[int, float] = {}
    person: int | None = None
    week: float | None = None
    over: dict[int, float] = {}
    releases: tuple[Release, ...] = ()
    caveats: tuple[str, ...] = ()
    features: str = ""
    actions: str = ""
    deadline: str = ""
    horizon: int | None = None

    def json(self) -> bytes:
        return msgspec.json.encode(self)

    def registry(self) -> dict[str, Any]:
        """A record for public registries of deployments (privacy.deployments), with what is left to fill in. ValueError
        for a certificate that does not hold for people's data."""
        return deployments.record(self)

    def __repr__(self) -> str:
        if self.epsilon is None:
            return f"<Certificate of {self.bandit}: no privacy is claimed>"
        private = "" if self.private else "; not private, see caveats"
        return f"<Certificate of {self.bandit}: ({self.epsilon:.4g}, {self.delta:g}), {self.model}{private}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        most = "" if self.horizon is None else f"; planned for {self.horizon} choices"
        lines = [f"Privacy certificate: {self.bandit}{most}", "", _wrapped("  ", " ".join(words.promise(self))), ""]
        if self.epsilon is None:
            claim = "none: no privacy is claimed"
        else:
            claim = f"({self.epsilon:.4g}, {self.delta:g})-differential privacy, {self.model} model"
        rows = [("claim", claim)]
        if self.epsilon is not None:
            rows += [
                ("budget", f"epsilon {self.budget:g} at delta {self.delta:g}"),
                ("spent", f"epsilon {self.spent:.4g} {words.spent(self)}"),
            ]
        rows += [("holds for", _holds(self.private, bool(self.caveats)))]
        if self.epsilon is not None:
            if self.delta and self.horizon is None:
                most = f"{self.delta:g} would allow revealing a user outright from {math.ceil(1 / self.delta)} users on"
                rows += [("delta", f"{most}; no number is planned")]
            rows += [("unit", self.unit), ("neighbours", self.relation), ("noise", self.source)]
            if self.distance is not None:
                law = "none: exact" if self.distance == 0 else f"{self.distance:.3g}"
                cost = f"{self.grid_delta:.2g}" if self.grid_delta > 1e-15 else "less than 1e-15"
                rows += [("distance", f"{law}; the grid costs {cost} of delta")]
            rows += [("a person's", ", ".join(f"{k} rounds: epsilon {e:.4g}" for k, e in self.group.items()))] * bool(
                self.group
            )
            several = ", ".join(f"{n} weeks: epsilon {e:.4g}" for n, e in self.over.items())
            rows += [("a person's", f"{several} (in any weeks, also one after the other)")] * bool(self.over)
        rows += [("features", self.features)] * bool(self.features)
        rows += [("actions", self.actions)] * bool(self.actions)
        rows += [("deadline", self.deadline)] * bool(self.deadline)
        lines += [_wrapped(f"  {name:<14}", text) for name, text in rows]
        for (statistic, details), group in itertools.groupby(self.releases, lambda r: (r.statistic, words.details(r))):
            names = [release.name for release in group]
            title = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}, {len(names)} alike"
            lines += ["", _wrapped("  ", f"{title}: {statistic}")]
            lines += [_wrapped(f"    {name:<22}", text) for name, text in details]
        if self.caveats:
            lines += ["", "  caveats"] + [_wrapped("    - ", caveat) for caveat in self.caveats]
        return "\n".join(lines)


def certify(
    bandit: str,
    *,
    model: str,
    budget: Budget,
    releases: Sequence[Release],
    spent: Sequence[Release],
    source: Origin,
    rounds: int,
    horizon: int | None = None,
    costliest: Sequence[Release] | None = None,
    delta: float | None = None,
    person: PersonClaim | None = None,
    policy_given: bool = False,
    caveats: Sequence[str] = (),
    features: Schema | None = None,
    actions: str = "",
    deadline: str = "",
) -> Certificate:
    """The certificate of all that is released, in any model: the ledger computes its epsilon.

    source: what a class that is not reticent's own, or a subclass, says of itself is not believed. releases: what
    happens to the data. costliest: those that the user whom they cost most is in, all by default; spent: those of them
    so far. rounds: the number of choices so far. horizon: how many were planned. delta: of the claim, the budget's by
    default. person: what the claim is for, where it is for one person. policy_given:
    whether the policy's draws come from the caller's generator. features: how people's fields become vectors. actions:
    what changed among them. deadline: when a choice enters, in words."""
    described = "" if features is None else str(features)
    if budget.epsilon == math.inf:
        return plain_certificate(bandit, "No noise is added: epsilon is infinite.", described)
    delta = budget.delta if delta is None else delta
    epsilon = epsilon_of(releases if costliest is None else costliest, delta)
    if epsilon == math.inf:
        return plain_certificate(bandit, f"The noise in use gives no finite epsilon at delta {delta:g}.", described)
    listed = [*caveats]
    if features is not None and features.public:
        listed.append(features.public)
    own = type(source) in (Secure, Simulated) or any(source is one for one in OWN)
    origin = source.description if own else f"from {type(source).__name__}, which is not one of reticent's sources"
    private = own and source.private
    if not private:
        listed.append(f"The noise is {origin}.")
    elif policy_given:
        listed.append(
            "The policy's draws come from a generator that the caller gave: the claim assumes that they do not depend "
            "on people's data and are used for nothing else."
        )
    if delta * (rounds := horizon or rounds) >= 1:
        listed.append(
            f"delta {delta:g} is at or above 1/rounds = {1 / rounds:.3g}: it would allow revealing a user outright."
        )
    group = {}
    neighbours = relation_of(releases)
    unit, relation = relations.UNIT[neighbours], relations.USER[neighbours]
    if person is not None:
        unit, relation = person.unit(neighbours), person.relation(neighbours)
    elif (
        model == "joint"
        and neighbours in relations.ROUNDS
        and all(isinstance(release, Composed) for release in releases)
    ):
        group = {k: epsilon_of(releases, delta, rounds=k) for k in GROUPS}
    return Certificate(
        bandit=bandit,
        model=model,
        private=private and epsilon <= budget.epsilon * (1 + ROUNDING),
        epsilon=epsilon,
        delta=delta,
        budget=budget.epsilon,
        spent=epsilon_of(spent, delta),
        unit=unit,
        relation=relation,
        neighbours=neighbours,
        source=origin,
        distance=getattr(source, "distance", None) if own else None,
        grid_delta=grid_delta(releases, epsilon),
        group=group,
        person=None if person is None else person.rounds,
        week=None if person is None else person.week,
        over={} if person is None else {n: epsilon_of(several, delta) for n, several in person.over.items()},
        releases=tuple(releases),
        caveats=tuple(listed),
        features=described,
        actions=actions,
        deadline=deadline,
        horizon=horizon,
    )


def plain_certificate(bandit: str, caveat: str, features: str = "") -> Certificate:
    """No privacy, and why."""
    return Certificate(
        bandit=bandit,
        model="none",
        private=False,
        epsilon=None,
        delta=None,
        budget=None,
        spent=None,
        unit="",
        relation="",
        neighbours="",
        caveats=(caveat,),
        features=features,
    )


def _holds(private: bool, caveats: bool) -> str:
    if not private:
        return "experiments only: see the caveats"
    return "people's data, but see the caveats" if caveats else "people's data"


def _wrapped(head: str, text: str) -> str:
    return textwrap.fill(text, COLUMNS, initial_indent=head, subsequent_indent=" " * len(head))
