"""The record for registries: the fields that OpenDP's registry takes and no others, with the certificate's numbers."""

import json
import sys

import pytest

from core_tests.made import joint
from reticent import Budget, Simulated, cli
from reticent.features import Number, Schema
from reticent.privacy.deployments import FILL_IN
from reticent_devices import LocalIRLS, ShuffleNewton

# opendp/deployments-registry-data, schemas/deployments-schema.yaml: what is required, and what may be there
BASIC = {"name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"}
FIELDS = {
    "basic": (BASIC | {"publication_date"}, {"data_product_sector"}),
    "dp_variant": ({"variant_name", "data_domain", "unprotected_quantities"}, set()),
    "privacy_loss": (
        {"privacy_unit", "privacy_unit_details", "privacy_parameters", "privacy_parameters_details"},
        set(),
    ),
    "deployment_model": (
        {"model_name", "actors", "release_type", "data_source_type", "access_type"},
        {"model_name_details", "release_type_details", "data_source_type_details", "access_type_details"},
    ),
    "accounting": ({"post_processing", "composition"}, set()),
    "implementation": ({"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"}, set()),
    "administrative": ({"registry_authors", "sources", "notes"}, set()),
}
WORDS = {
    "variant_name": {"Pure DP", "Approximate DP"},
    "model_name": {"Local", "Central", "Shuffle"},
    "release_type": {"Many releases"},
    "data_source_type": {"Dynamic"},
    "access_type": {"Non-interactive"},
    "data_product_type": {"Machine learning model"},
}
BUDGET = Budget(1.0, 1e-6)
SCHEMA = Schema(context={"age": Number(0, 99)}, arms="disjoint", actions=("tea", "cake"))
BANDITS = {
    "round": joint(features=3, budget=BUDGET),
    "person": joint(features=SCHEMA, budget=BUDGET, rounds=5),
    "shuffle": ShuffleNewton(3, Budget(1.0, 1e-4), horizon=5000),
    "local": LocalIRLS(3, Budget(2.0, 1e-6)),
    "rewards": LocalIRLS(3, Budget(2.0, 1e-6), public_arms=True),
}


def checked(record):
    assert record.keys() == {"url_slug", "status", "tier", "deployment"}
    assert (record["status"], record["tier"]) == ("Draft", 3) and record["deployment"].keys() == FIELDS.keys()
    for part, (required, optional) in FIELDS.items():
        given = record["deployment"][part]
        assert required <= given.keys() <= required | optional, part
        for name, value in given.items():
            listed = value if isinstance(value, list) else [value]
            assert all(isinstance(one, str) and one for one in listed) or name == "privacy_parameters", name
            assert name not in WORDS or value in WORDS[name]
    return record["deployment"]


@pytest.mark.parametrize("name", BANDITS)
def test_a_record_has_the_registrys_fields_and_the_certificates_numbers(name):
    certificate = BANDITS[name].privacy
    found = checked(json.loads(json.dumps(certificate.registry())))
    loss = found["privacy_loss"]
    assert loss["privacy_parameters"].get("delta", 0.0) == certificate.delta
    assert loss["privacy_parameters"]["epsilon"] == certificate.epsilon
    assert certificate.unit in loss["privacy_unit_details"] and certificate.relation in loss["privacy_unit_details"]
    assert all(caveat in loss["privacy_parameters_details"] for caveat in certificate.caveats)
    assert all(release.statistic in found["implementation"]["mechanisms"] for release in certificate.releases)
    models = {"shuffle": "Shuffle", "local": "Local", "rewards": "Local"}
    assert found["deployment_model"]["model_name"] == models.get(name, "Central")
    assert loss["privacy_unit"] == ("Person" if name == "person" else "Round")
    assert ("public" in found["dp_variant"]["unprotected_quantities"]) == (name == "rewards")


def test_contacts_and_reasons_are_left_to_fill_in():
    found = checked(BANDITS["round"].privacy.registry())
    open_ones = [*found["basic"]["data_curators"], *found["administrative"]["registry_authors"]]
    assert all(one.startswith(FILL_IN) for one in [*open_ones, found["implementation"]["justification"]])


@pytest.mark.parametrize("given", [{"source": Simulated(1)}, {"budget": Budget(float("inf"), 1e-6)}])
def test_what_does_not_hold_for_people_is_not_registered(given):
    bandit = joint(**{"features": 3, "budget": BUDGET} | given)
    with pytest.raises(ValueError, match="holds for people's data"):
        bandit.privacy.registry()


def test_the_command(monkeypatch, capsys):
    for name, code in (("joint-glm:rounds=5", 0), ("lin-ucb", 1)):
        monkeypatch.setattr(sys, "argv", ["reticent", "privacy", name, "--registry"])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert stop.value.code == code
        if code == 0:
            checked(json.loads(capsys.readouterr().out))
