"""What `make generated` writes is what is there."""

import itertools
import math

import pytest

from reticent.model import links
from reticent.model.links import PROBIT, Link, decay
from tools import generated, layers, path
from tools import links as translated


@pytest.mark.parametrize("name", generated.FILES)
def test_what_follows_from_the_code_is_up_to_date(name):
    text = generated.FILES[name]()
    assert (generated.ROOT / name).read_text() == text, f"{name} is not what the code says: run `make generated`."
    assert generated.FILES[name]() == text  # the same each time


def test_a_formula_that_javascript_computes_otherwise_is_refused():
    def mean(code, z):
        """Its arctan is rounded as the engine likes."""
        return 0.5 + math.atan(z) / math.pi

    with pytest.raises(ValueError, match="^Expected a formula that JavaScript computes alike .*, got math.atan"):
        translated.function(mean, links.probit)


def test_arithmetic_is_translated_in_its_order():
    def mean(code, z):
        """A formula."""
        number = links.kind(code)
        if number == PROBIT:
            return 0.0
        e = decay(abs(z))
        return (1.0 if z < 0.5 else -e) - z * (e - (2.0 - z))

    one = Link("one", links.LOGISTIC, True, 1.0)
    expected = "const e = decay(Math.abs(z));\n      return (z < 0.5 ? 1 : -e) - (z * (e - (2 - z)));\n"
    assert translated.function(mean, one) == f"(z) => {{\n      {expected}    }}"
    assert translated.function(mean, links.probit) == "(z) => 0"


def test_pictures_have_every_layer_and_every_step():
    drawn = layers.text()
    for name in itertools.chain(*layers.contract()):
        assert drawn.count(f">{name}</text>") == 2, name  # of its row, and of its column
    assert all(f">{step.name}</text>" in path.text() for step in path.STEPS)


def test_a_step_whose_package_is_gone_is_noticed(monkeypatch):
    monkeypatch.setattr(path, "STEPS", (path.STEPS[0]._replace(home="gone"), *path.STEPS[1:]))
    with pytest.raises(ValueError, match="^Expected a package where the request is .*, got gone.$"):
        path.text()
