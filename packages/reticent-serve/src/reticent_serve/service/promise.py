"""Budget and certificate on the dashboard: in words for a lawyer, in numbers for a statistician."""

import math

from reticent.privacy import words
from reticent.privacy.certificate import Certificate
from reticent.privacy.ledger import GaussianRelease, OneOfRelease
from reticent_serve.service.markup import Child, Markup, tag


def section(certificate: Certificate) -> Markup:
    return tag(
        "section",
        tag("h2", "What is promised to people"),
        tag(
            "div",
            tag("div", tag("h3", "In words"), text(certificate), class_="card"),
            tag("div", tag("h3", "In numbers"), _table(numbers(certificate)), class_="card"),
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


def text(certificate: Certificate) -> list[Child]:
    """The certificate's own words."""
    out = words.promise(certificate)
    if not certificate.private:
        return [tag("p", *out, class_="problem")]
    if certificate.caveats:
        out[-1] += " The certificate below says what else has to be known about it."
    return [tag("p", sentence) for sentence in out]


def numbers(certificate: Certificate) -> list[tuple[str, str]]:
    if certificate.epsilon is None:
        return [("Claim", "none")]
    pair = f"({certificate.epsilon:.4g}, {certificate.delta:g})"
    rows = [
        ("Guarantee", f"{pair}-differential privacy, {certificate.model} model"),
        ("Budget", f"ε = {certificate.budget:g}, δ = {certificate.delta:g}"),
        ("Spent", f"ε = {certificate.spent:.4g} {words.spent(certificate)}"),
        ("Unit", certificate.unit),
        ("Neighbours", certificate.relation),
    ]
    each = [one.worst.releases if isinstance(one, OneOfRelease) else (one,) for one in certificate.releases]
    releases = [release for side in each for release in side if isinstance(release, GaussianRelease)]
    if releases:
        first, distances = releases[0], dict.fromkeys(f"{release.sensitivity:.4g}" for release in releases)
        rows += [
            ("Gaussian DP", f"μ = {math.hypot(*(release.mu for release in releases)):.4g}"),
            ("Noise", f"σ = {first.sigma:.4g}, discrete Gaussian, one draw for each release"),
            ("Sensitivity", f"{' and '.join(distances)} (l2), column norm {first.column_norm:.4g}"),
        ]
    rows += [("Rounds of one person", ", ".join(f"{k}: ε = {e:.3g}" for k, e in certificate.group.items()))] * bool(
        certificate.group
    )
    return rows


def _table(rows: list[tuple[str, str]]) -> Markup:
    return tag("dl", [[tag("dt", name), tag("dd", text)] for name, text in rows])
