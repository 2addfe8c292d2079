"""JointGLM with base_rate= for vectors and for features of shared arms."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from core_tests.made import joint
from reticent import Budget, Simulated
from reticent.features import Category, Number, Schema
from reticent.mechanisms.saving import arrays
from reticent.models.centred import Centred
from reticent.models.glm import GLM

BUDGET = Budget(4.0, 1e-3)
ACTION = {"length": Number(0, 10), "topic": Category("a", "b")}
SCHEMA = Schema(context={"plan": Category("free", "paid")}, action=ACTION)


def make(**options):
    common = {"budget": BUDGET, "first": 12, "source": Simulated(1), "policy": default_rng(2), "base_rate": 0.05}
    return joint(**{"features": 3} | common | options)


def test_it_is_for_vectors_and_shared_arms():
    assert isinstance(make().one_pass.learnt, Centred) and isinstance(make(base_rate=None).one_pass.learnt, GLM)
    shared = make(features=SCHEMA)
    assert isinstance(shared.one_pass.learnt, Centred) and shared.one_pass.learnt.contribution.skip == 1
    longest = shared.one_pass.learnt.contribution.longest
    assert longest == pytest.approx(math.sqrt(3 / 4))  # of four parts the constant is one
    told = make().privacy
    assert "centred rewards times features, 14 numbers" in told.releases[0].statistic
    assert "as base_rate is given" in told.releases[0].statistic
    assert any("(base_rate=)" in caveat for caveat in told.caveats)
    assert told.releases[0].sensitivity == pytest.approx(make().one_pass.learnt.contribution.sensitivity)


def test_what_it_refuses_beside_what_no_two_options_do():
    """Those are in tests/whole/test_option_pairs.py."""
    for options, got in (({"features": 101}, "more than 100 numbers"), ({"model": "curvature"}, 'model="curvature"')):
        with pytest.raises(ValueError, match=f"Expected base_rate with vectors.*got it with {got}"):
            make(**options)


def test_a_schema_s_constant_is_left_out():
    """Vectors of a schema, and the same without their constant and as long as they may be: the same sums."""
    whole, rest = make(features=SCHEMA, first=1000), make(features=SCHEMA.dim - 1, first=1000)
    rng, longest = default_rng(5), whole.one_pass.learnt.contribution.longest
    for _ in range(20):
        asked, fields = {"plan": "paid"}, {"length": rng.uniform(0, 10), "topic": "b"}
        reward = float(rng.random() < 0.5)
        whole.observe(whole.choose(asked, actions={"it": fields}), reward)
        rest.observe(rest.choose([SCHEMA.vectors(asked, {"it": fields})["it"][1:] / longest]), reward)
    one, other = (arrays(bandit.sums.state.prefix) for bandit in (whole, rest))
    assert all(np.allclose(*pair, atol=1e-9) for pair in zip(one, other, strict=True))
    assert any(part.any() for part in one)
