"""A claim in plain words, for people and for those who answer to them: on certificates and on the dashboard."""

import math
from typing import TYPE_CHECKING

from reticent.privacy import relations
from reticent.privacy.ledger import (
    LAPLACE_ONE,
    GaussianRelease,
    LaplaceRelease,
    LocalRelease,
    OneOfRelease,
    PhasesRelease,
    PureRelease,
    Release,
    ShuffledRelease,
)

if TYPE_CHECKING:
    from reticent.privacy.certificate import Certificate

LITTLE, HARDLY = 4.0, 10.0  # epsilon above which a claim protects little, and hardly at all
NO_PROMISE = "No promise is made for people's data: the caveats say why."
SEEN = {
    "joint": "all that others ever see, pages and certificates included,",
    "shuffle": "all that others and the server ever see",
    "local": "all that others and the server ever see",
}
TRUST = {
    "joint": (
        "This rests on who is trusted: those with access to the machine, its database and its keys hold people's data "
        "as they are, and so does the application that asks on people's behalf."
    ),
    "shuffle": (
        "This rests on who is trusted: the shuffler, and that the batch's other reports come from people whom the "
        "server does not run."
    ),
    "local": "Nobody is trusted but the person's own device.",
}
DISPLAYED = (
    "Which arm a person is shown is not covered: devices fetch all arms ahead, so that nobody sees which one is "
    "displayed, or they draw it with a floor and count what that tells in the person's own account (docs/device.md)."
)
PUBLIC = {  # where the relation is about rewards alone
    "joint": "What the application says about people, and what they are offered, is taken to be public.",
    "shuffle": (
        "Which arms a person was offered and which one was shown is taken to be public: that follows from the number "
        "of the choice and from what was released before."
    ),
    "local": (
        "The arm that a person was offered, with that person's features in it, is sent to the server as it is: neither "
        "is protected."
    ),
}


def guess(epsilon: float, delta: float) -> float:
    """How often somebody who sees everything can be right about which of two people was there, each as likely before:
    at most (e^epsilon + delta) / (e^epsilon + 1), for whatever is (epsilon, delta)-private."""
    return (math.exp(min(epsilon, 700.0)) + delta) / (math.exp(min(epsilon, 700.0)) + 1)


def rate(epsilon: float, delta: float) -> str:
    """That, in per cent, rounded up."""
    return f"{math.ceil(1000 * guess(epsilon, delta) - 1e-9) / 10:.1f}\u00a0%"


def strength(epsilon: float) -> str | None:
    """What has to be said of so large an epsilon."""
    if epsilon <= LITTLE * (1 + 1e-6):
        return None
    most, much = (HARDLY, "hardly at all") if epsilon > HARDLY * (1 + 1e-6) else (LITTLE, "little")
    return f"That protects {much}: epsilon is above {most:g}."


def shuffle_assumes(malicious: float) -> str:
    """What a claim of the shuffle model rests on, where that share of a batch's reports may be anybody's."""
    share = f"at most {100 * malicious:g} %" if malicious else "none"
    return (
        f"This assumes an honest shuffler, and that {share} of a batch's reports come from the server or from whoever "
        f"works with it (malicious = {malicious:g}). What hides a report are the coins of the batch's other users: "
        "whoever sends all the others reads the one that is left."
    )


def spent(certificate: "Certificate") -> str:
    """What goes with the number `spent`, which looks like something that runs out and is not."""
    bound = "budget" if certificate.private else "claim"
    return (
        f"so far; it stays within the {bound} as long as this bandit runs, so that there is no need to stop; going on "
        "from a backup would cost more"
    )


def promise(certificate: "Certificate") -> list[str]:
    """What is promised to people, sentence by sentence: it follows from the certificate's numbers alone."""
    epsilon, delta = certificate.epsilon, certificate.delta
    if not certificate.private or epsilon is None or delta is None:
        return [NO_PROMISE]
    visit = certificate.neighbours in relations.ROUNDS
    whose = "one visit" if visit else "what one person gave"
    if certificate.person is not None:
        whose = _visits(certificate)
    if relations.of_rewards(certificate.neighbours):
        whose = f"the response to {whose}"
    released = certificate.spent or 0.0
    out = [
        f"Take somebody who sees {SEEN[certificate.model]} and knows everything about everyone else. Asked which of "
        f"two versions of {whose} is the true one, each as likely before, they are right at most "
        f"{rate(epsilon, delta)} of the time; a coin is right 50\u00a0% of the time. With what has been released so "
        f"far it is at most {rate(released, delta if released else 0.0)}.",
        *filter(None, [strength(epsilon)]),
    ]
    if relations.of_rewards(certificate.neighbours):
        out.append(PUBLIC[certificate.model])
    elif certificate.model != "joint":
        out.append(DISPLAYED)
    if visit and certificate.person is None:
        out.append("A person who comes often is protected less for all visits together.")
    if certificate.over:
        several = ", ".join(f"{rate(e, delta)} over {weeks} weeks" for weeks, e in certificate.over.items())
        out.append(
            "That is for the answers of one week. A person whose visits are answered in several is protected less: "
            f"{several}."
        )
    return [*out, f"{TRUST[certificate.model]} It holds whatever else becomes known, now or later."]


def details(release: Release) -> list[tuple[str, str]]:
    """What the numbers of a release are called, and the numbers."""
    if isinstance(release, GaussianRelease):
        rows = [("sensitivity D (l2)", f"{release.sensitivity:.6g}"), ("column norm c", f"{release.column_norm:.6g}")]
        rows += [("rounds a person k", f"{release.rounds}")] * (release.rounds > 1)
        rows += [("sigma", f"{release.sigma:.6g}")]
        if release.grid:
            exponent = round(math.log2(release.grid))
            rows += [("grid", f"multiples of 2^{exponent}, sigma = {release.sigma / release.grid:.4g} of them")]
        formula = "mu = k D c / sigma" if release.rounds > 1 else "mu = D c / sigma"
        return [*rows, (formula, "inf" if release.mu == math.inf else f"{release.mu:.6g}")]
    if isinstance(release, OneOfRelease):
        each = ((group.name, f"D = {group.sensitivity:.6g} (l2), mu = {group.mu:.6g}") for group in release.groups)
        rows = [("group", f"{name} people: {numbers}") for name, numbers in each]
        first = release.worst.releases[0]
        rows += [("column norm c", f"{first.column_norm:.6g}"), ("sigma", f"{first.sigma:.6g}")]
        return [*rows, ("mu, of one group", f"{release.mu:.6g}, the largest")]
    if isinstance(release, PureRelease):
        return [
            ("sensitivity D (l1)", f"{release.cells * release.unit:.6g}, {release.cells} cells"),
            ("noise of each number", f"discrete Laplace of scale {release.scale} cells, std {release.std:.6g}"),
            ("epsilon of a round", f"{release.epsilon:.6g}, at any delta"),
        ]
    if isinstance(release, PhasesRelease):
        rows = [(f"phase {i}", f"{one.statistic}: {_said(one)}") for i, one in enumerate(release.phases, 1)]
        return rows + [("rounds a person k", f"{release.rounds}, in whichever phases")] * (release.rounds > 1)
    if isinstance(release, LocalRelease):
        return [("sensitivity D (l2)", f"{release.sensitivity:.6g}"), ("noise std per number", f"{release.std:.6g}")]
    if isinstance(release, ShuffledRelease) and release.chance:
        return [
            ("users of the batch", f"{release.users} (at least {release.minimum} must report)"),
            ("sensitivity", "every bit of a user"),
            ("each bit is a fair coin", f"with probability {release.chance:.6g}"),
            ("std of the sum, with rounding", f"{release.std:.6g}"),
            ("bits per user", f"{release.bits}"),
        ]
    if isinstance(release, ShuffledRelease):
        return [
            ("sensitivity D (l2)", f"{release.sensitivity:.6g}"),
            ("users of the batch", f"{release.users} (at least {release.minimum} must report)"),
            *[("rounds", f"{release.rounds}: every user answers each of them")] * (release.rounds > 1),
            ("grid cells per unit", f"{release.grid:.6g}"),
            ("coins per coordinate", f"{release.trials}"),
            ("noise std of the sum", f"{release.std:.6g}"),
            ("bits per user", f"{release.bits}"),
        ]
    if isinstance(release, LaplaceRelease):
        shares = f"{release.honest} shares of" if release.honest > 1 else "one share of"
        return [
            ("sensitivity", f"{release.cells} cells, the whole range of rewards"),
            ("users of the batch", f"{release.users} (at least {release.minimum} must report)"),
            ("noise of the sum", f"discrete Laplace, b = {release.chance / LAPLACE_ONE:.6g}, in {shares} it"),
            ("noise std of the sum", f"{release.std:.6g}"),
            ("epsilon", f"{release.epsilon:.6g}, at any delta"),
            ("bits per user", f"{release.bits}"),
        ]
    return [
        ("each use", f"({release.epsilon0:.6g}, {release.delta0:.3g})-private by {release.theorem}"),
        ("uses of one user", f"{release.count}"),
        ("degrees of freedom", f"{release.degrees_of_freedom}"),
    ]


def _said(release: PureRelease | GaussianRelease) -> str:
    return ", ".join(f"{name} {value}" for name, value in details(release))


def _visits(certificate: "Certificate") -> str:
    """Whose visits are protected together."""
    count = f"up to {certificate.person} of them"
    if certificate.week is None:
        return f"all visits of one person, {count},"
    return f"all visits of one person that are answered in one week ({certificate.week:g} choices), {count},"
