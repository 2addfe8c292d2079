"""The claim, with all that it rests on: for a lawyer, a statistician and a program."""

import math

import msgspec

from tacit.privacy.budget import Budget
from tacit.privacy.ledger import GaussianRelease, Release, epsilon_of
from tacit.privacy.noise import Source

UNIT = "one user: one round's whole arm set and reward"
RELATION = "replace one user; later users may be chosen adaptively"


class Certificate(msgspec.Struct, frozen=True, kw_only=True):
    """What is guaranteed. `epsilon` is recomputed from the noise in use (None: no privacy); `spent` is what the
    releases so far have cost the user they cost most; `private` is false where the claim does not hold for a
    person's data, and `caveats` say why."""

    bandit: str
    model: str
    private: bool
    epsilon: float | None
    delta: float | None
    budget: float | None
    spent: float | None
    unit: str = UNIT
    relation: str = RELATION
    source: str = "none"
    releases: tuple[Release, ...] = ()
    caveats: tuple[str, ...] = ()

    def json(self) -> bytes:
        return msgspec.json.encode(self)

    def __str__(self) -> str:
        lines = [f"Privacy certificate: {self.bandit}", ""]
        if self.epsilon is None:
            claim = "none: no privacy is claimed"
        else:
            claim = f"({self.epsilon:.4g}, {self.delta:g})-differential privacy, {self.model} model"
        rows = [("claim", claim)]
        if self.epsilon is not None:
            rows += [
                ("budget", f"epsilon {self.budget:g} at delta {self.delta:g}"),
                ("spent so far", f"epsilon {self.spent:.4g}"),
            ]
        rows += [("holds for", "people's data" if self.private else "experiments only: see the caveats")]
        if self.epsilon is not None:
            rows += [("unit", self.unit), ("neighbours", self.relation), ("noise", self.source)]
        lines += [f"  {name:<14}{text}" for name, text in rows]
        for release in self.releases:
            lines += ["", f"  {release.name}: {release.statistic}"]
            lines += [f"    {name:<22}{text}" for name, text in _details(release)]
        if self.caveats:
            lines += ["", "  caveats"] + [f"    - {caveat}" for caveat in self.caveats]
        return "\n".join(lines)


def joint_certificate(
    bandit: str,
    *,
    budget: Budget,
    epsilon: float,
    releases: tuple[Release, ...],
    spent: tuple[Release, ...],
    source: Source,
    rounds: int,
    model: str = "joint",
) -> Certificate:
    """The certificate of a bandit whose releases are all that leaves a trusted curator; `rounds` is the horizon, or
    the number of choices so far."""
    if budget.epsilon == math.inf:
        return plain_certificate(bandit, "No noise is added: epsilon is infinite.")
    caveats = []
    if not source.private:
        caveats.append(f"The noise is {source.description}.")
    if budget.delta * rounds >= 1:
        caveats.append(
            f"delta {budget.delta:g} is at or above 1/rounds = {1 / rounds:.3g}: "
            "it would allow revealing a user outright."
        )
    return Certificate(
        bandit=bandit,
        model=model,
        private=source.private,
        epsilon=epsilon,
        delta=budget.delta,
        budget=budget.epsilon,
        spent=epsilon_of(spent, budget.delta),
        source=source.description,
        releases=releases,
        caveats=tuple(caveats),
    )


def local_certificate(
    bandit: str,
    *,
    budget: Budget,
    epsilon: float,
    releases: tuple[Release, ...],
    spent: tuple[Release, ...],
    source: Source,
    rounds: int,
) -> Certificate:
    """The certificate where each person's randomised report is all that leaves that person: `releases` are the kinds
    of reports (one person sends one of them), `spent` what the costliest of those sent so far was."""
    return joint_certificate(
        bandit,
        budget=budget,
        epsilon=epsilon,
        releases=releases,
        spent=spent,
        source=source,
        rounds=rounds,
        model="local",
    )


def plain_certificate(bandit: str, caveat: str) -> Certificate:
    """No privacy, and why."""
    return Certificate(
        bandit=bandit,
        model="none",
        private=False,
        epsilon=None,
        delta=None,
        budget=None,
        spent=None,
        caveats=(caveat,),
    )


def _details(release: Release) -> list[tuple[str, str]]:
    if isinstance(release, GaussianRelease):
        return [
            ("sensitivity D (l2)", f"{release.sensitivity:.6g}"),
            ("column norm c", f"{release.column_norm:.6g}"),
            ("sigma", f"{release.sigma:.6g}"),
            ("mu = D c / sigma", "inf" if release.mu == math.inf else f"{release.mu:.6g}"),
        ]
    return [
        ("each use", f"({release.epsilon0:.6g}, {release.delta0:.3g})-private by {release.theorem}"),
        ("uses of one user", f"{release.count}"),
        ("degrees of freedom", f"{release.degrees_of_freedom}"),
    ]
