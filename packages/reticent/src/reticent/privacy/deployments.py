"""A certificate as a record for public registries of deployments (Dwork, Kohli & Mulligan 2019).

Its fields are those of the Differential Privacy Deployments Registry of OpenDP (opendp/deployments-registry-data,
schemas/deployments-schema.yaml, as of 2026), which takes YAML, of which JSON is a part. What reticent cannot know
begins with FILL_IN. Nothing in it depends on people's data beyond what the certificate shows."""

from typing import TYPE_CHECKING, Any

from reticent import registry
from reticent.privacy import relations, words
from reticent.privacy.ledger import (
    Gaussian,
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

FILL_IN = "FILL IN: "
MODELS = {"joint": "Central", "shuffle": "Shuffle", "local": "Local"}
DETAILS = {
    "joint": (
        "Joint differential privacy: all that is shown to everybody else is protected. The choice that a person gets "
        "depends on that person's own request."
    ),
    "shuffle": "Devices add noise to their reports; a shuffler shows the analyzer their sum or multiset.",
    "local": "Devices add noise to their reports; each report is private by itself.",
}


def record(certificate: "Certificate") -> dict[str, Any]:
    """ValueError for a certificate that does not hold for people's data: it is not to be registered."""
    if not certificate.private or certificate.epsilon is None:
        raise ValueError("Expected a certificate that holds for people's data, got one that does not: see its caveats.")
    return {
        "url_slug": f"{FILL_IN}words-with-dashes",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(),
            "dp_variant": _variant(certificate),
            "privacy_loss": _loss(certificate),
            "deployment_model": _model(certificate),
            "accounting": {
                "post_processing": "Estimates, choices and all that is shown are computed from what was released.",
                "composition": _composition(certificate),
            },
            "implementation": _implementation(certificate),
            "administrative": {
                "sources": f"{FILL_IN}links to what is public about the deployment.",
                "notes": " ".join(words.promise(certificate)),
                "registry_authors": [f"{FILL_IN}who filled in this record, and how to reach them."],
            },
        },
    }


def _basic() -> dict[str, Any]:
    return {
        "name": f"{FILL_IN}what the deployment is called.",
        "data_curators": [f"{FILL_IN}who answers for the data, and how to reach them."],
        "intended_use": f"{FILL_IN}what is offered to whom, and what for.",
        "data_product_type": "Machine learning model",
        "data_product_region": f"{FILL_IN}where people are.",
        "description": f"A contextual bandit: it learns what to offer to whom from what people do. {FILL_IN}more.",
        "publication_date": f"{FILL_IN}YYYY-MM-DD, of the first release.",
    }


def _variant(certificate: "Certificate") -> dict[str, Any]:
    public = ["The number of choices, on which alone the times of releases depend, and all settings."]
    if relations.of_rewards(certificate.neighbours):
        times = "The number of choices, public arms and earlier releases, on which alone the times of releases depend"
        public = [f"{times}, and all settings.", words.PUBLIC[certificate.model]]
    return {
        "variant_name": "Approximate DP" if certificate.delta else "Pure DP",
        "data_domain": "Rounds: the features of what a person was offered, vectors of norm at most 1, and the reward, "
        f"within public bounds. {certificate.features}".strip(),
        "unprotected_quantities": " ".join(public),
    }


def _loss(certificate: "Certificate") -> dict[str, Any]:
    if certificate.person is None:
        unit = "Round" if certificate.neighbours in relations.ROUNDS else "Person"
    else:
        unit = "Person" if certificate.week is None else "Person-week"
    several = {f"{rounds} rounds of one person": e for rounds, e in certificate.group.items()}
    several |= {f"{weeks} weeks of one person": e for weeks, e in certificate.over.items()}
    details = [
        f"Recomputed from the noise in use; the budget is epsilon {certificate.budget:g}.",
        *[f"For {who}: epsilon {e:.4g} at the same delta." for who, e in several.items()],
        *certificate.caveats,
    ]
    return {
        "privacy_unit": unit,
        "privacy_unit_details": f"{certificate.unit}. Neighbours: {certificate.relation}.",
        "privacy_parameters": {"epsilon": certificate.epsilon}
        | ({"delta": certificate.delta} if certificate.delta else {}),
        "privacy_parameters_details": " ".join(details),
    }


def _model(certificate: "Certificate") -> dict[str, Any]:
    end = "without an end" if certificate.horizon is None else f"for {certificate.horizon} choices"
    return {
        "model_name": MODELS[certificate.model],
        "model_name_details": DETAILS[certificate.model],
        "actors": words.TRUST[certificate.model],
        "release_type": "Many releases",
        "release_type_details": f"Continual, {end}: epsilon is for all releases together that one unit is in, and "
        f"there is no need to stop. {certificate.deadline}".strip(),
        "data_source_type": "Dynamic",
        "access_type": "Non-interactive",
        "access_type_details": "Nobody queries people's data. People get choices, which follow from what was released "
        "and from their own request.",
    }


def _composition(certificate: "Certificate") -> str:
    first: Release = certificate.releases[0]
    if isinstance(first, Gaussian):
        one_of = "of the groups of an experiment a unit is in one, and the largest mu counts; "
        return (
            "All releases in which a unit takes part are one Gaussian mechanism with adaptively chosen inputs, mu-GDP; "
            f"{one_of * isinstance(first, OneOfRelease)}several compose as the root of the sum of mu^2. epsilon at "
            "delta is that of the exact Gaussian curve (Balle & Wang 2018), with what the grid of discrete noise costs."
        )
    if isinstance(first, PhasesRelease | PureRelease):
        return (
            "A round is in one phase. Rounds of a unit in several phases compose: pure epsilons add, also to that of "
            "the Gaussian phases, whose mu compose as the root of the sum of mu^2; the worst split counts."
        )
    if isinstance(first, ShuffledRelease):
        return "A unit is in the sums of one batch, which are composed; epsilon is recomputed from the coins in use."
    if isinstance(first, LaplaceRelease):
        return "A unit is in one sum, whose noise is discrete Laplace: epsilon = sensitivity ln(1 / b), at any delta."
    if isinstance(first, LocalRelease):
        return "A unit sends one report, which is private by itself; epsilon is recomputed from the randomizer in use."
    return f"{first.count} uses, each private by {first.theorem}, composed."


def _implementation(certificate: "Certificate") -> dict[str, Any]:
    version = registry.load("reticent", "__version__")
    used = []
    for release in certificate.releases:
        numbers = ", ".join(f"{name} = {value}" for name, value in words.details(release))
        used.append(f"- {release.name}: {release.statistic} ({numbers})")
    noise = "" if certificate.distance is None else f", at a total variation of {certificate.distance:g} from its law"
    return {
        "preprocessing_and_hyperparameter_tuning": "reticent's constants were set in simulations, and bounds are "
        f"public settings. {FILL_IN}what else was tuned, and on which data.",
        "mechanisms": "\n".join(
            [
                *used,
                f"- noise: {certificate.source}{noise}",
                f"- {certificate.bandit} of reticent {version}, Apache-2.0",
            ]
        ),
        "justification": f"{FILL_IN}why this epsilon, this unit and this model of trust.",
    }
