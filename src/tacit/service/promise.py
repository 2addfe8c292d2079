"""Budget and certificate on the dashboard: in words for a lawyer, in numbers for a statistician."""

import math
from typing import Any

from tacit.privacy.certificate import Certificate
from tacit.privacy.ledger import GaussianRelease
from tacit.service.markup import Child, Markup, tag
from tacit.service.words import SPACE


def section(certificate: Certificate, status: dict[str, Any]) -> Markup:
    return tag(
        "section",
        tag("h2", "What is promised to people"),
        tag(
            "div",
            tag("div", tag("h3", "In words"), words(certificate, status), class_="card"),
            tag("div", tag("h3", "In numbers"), _table(numbers(certificate, status)), class_="card"),
            class_="halves",
            id="promise",
            data_live=True,
        ),
        tag(
            "details",
            tag("summary", "The whole certificate, with its caveats"),
            tag("pre", str(certificate), id="certificate", data_live=True),
        ),
    )


def guess(epsilon: float, delta: float) -> float:
    """How often somebody who sees everything can be right about which of two people was there, each as likely before:
    at most (e^epsilon + delta) / (e^epsilon + 1), for whatever is (epsilon, delta)-private."""
    return (math.exp(min(epsilon, 700.0)) + delta) / (math.exp(min(epsilon, 700.0)) + 1)


def words(certificate: Certificate, status: dict[str, Any]) -> list[Child]:
    epsilon, delta = certificate.epsilon, certificate.delta
    if not certificate.private or epsilon is None or delta is None:
        return [tag("p", "No promise is made for people's data: the certificate below says why.", class_="problem")]
    most = status["privacy"]["max_rounds_per_person"]
    unit = "one visit" if most is None else f"all visits of one person, up to {most} of them,"
    population, out = status["population"], []
    out.append(
        f"Had {unit} been entirely different, all that others see would be almost the same: what they are offered, "
        "this page and every certificate."
    )
    out.append(
        "How close is almost? Take somebody who sees all of that, for ever, and knows everything about everyone else. "
        f"Asked which of two versions of {'that visit' if most is None else 'those visits'} is the true one, they are "
        f"right at most {_rate(epsilon, delta)} of the time. Whoever tosses a coin is right 50{SPACE}% of the time. "
        f"With what has been released so far it is at most {_rate(certificate.spent or 0.0, delta)}."
    )
    if most is None:
        out.append("A person who comes often is protected less for all visits together: see “rounds of one person”.")
    if len(population["bandits"]) > 1:
        once = ", ".join(population["unlimited"])
        out.append(
            f"People of the population {population['name']} may be in {', '.join(population['bandits'])}; for all of "
            f"these together it is at most {_rate(population['epsilon'], population['delta'])}"
            + (f", for somebody with one visit in each of {once}." if once else ".")
        )
    out.append(
        "This rests on who is trusted: those with access to the machine, its database and its keys, and the "
        "application that asks on people's behalf. It holds whatever else becomes known, now or later."
        + " The certificate below says what else has to be known about it."
        * bool(certificate.caveats)
    )
    return [tag("p", text) for text in out]


def numbers(certificate: Certificate, status: dict[str, Any]) -> list[tuple[str, str]]:
    if certificate.epsilon is None:
        return [("Claim", "none")]
    pair = f"({certificate.epsilon:.4g}, {certificate.delta:g})"
    rows = [
        ("Guarantee", f"{pair}-differential privacy, {certificate.model} model"),
        ("Budget", f"ε = {certificate.budget:g}, δ = {certificate.delta:g}"),
        ("Spent so far", f"ε = {certificate.spent:.4g}"),
        ("Unit", certificate.unit),
        ("Neighbours", certificate.relation),
    ]
    for release in certificate.releases[:1]:
        if isinstance(release, GaussianRelease):
            rows += [
                ("Gaussian DP", f"μ = {release.mu:.4g}"),
                ("Noise", f"σ = {release.sigma:.4g}, discrete Gaussian, one draw for each release"),
                ("Sensitivity", f"{release.sensitivity:.4g} (l2), column norm {release.column_norm:.4g}"),
            ]
    rows += [("Rounds of one person", ", ".join(f"{k}: ε = {e:.3g}" for k, e in certificate.group.items()))] * bool(
        certificate.group
    )
    population = status["population"]
    if len(population["bandits"]) > 1:
        together = f"ε = {population['epsilon']:.4g}, δ = {population['delta']:g}: {', '.join(population['bandits'])}"
        once = f"; one round in each of {', '.join(population['unlimited'])}" if population["unlimited"] else ""
        rows.append((f"Population {population['name']}", together + once))
    return rows


def _rate(epsilon: float, delta: float) -> str:
    return f"{100 * guess(epsilon, delta):.1f}{SPACE}%"


def _table(rows: list[tuple[str, str]]) -> Markup:
    return tag("dl", [[tag("dt", name), tag("dd", text)] for name, text in rows])
