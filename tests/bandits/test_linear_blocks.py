"""JointLinUCB with disjoint arms in blocks: its sensitivity, and that without noise it is the dense bandit."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import Budget, JointLinUCB
from tacit.algorithms import ridge
from tacit.bandits import snapshot
from tacit.errors import BadState
from tacit.features import Number, Schema
from tacit.model.linear import LinearContribution
from tacit.privacy.noise import Simulated
from tests.bandits.test_blocks import dense

BLOCKS, OWN = 3, 4
BUDGET, NO_NOISE = Budget(1.0, 1e-6), Budget(math.inf, 0.0)


@given(st.sampled_from([0.1, 0.7, 1.4, 3.0]), st.integers(1, 4), st.integers(2, 4), st.integers(0, 10**6))
@settings(max_examples=200)
def test_two_users_are_never_farther_apart_than_the_sensitivity(scale, own, blocks, seed):
    """In whatever blocks they are, for input far outside the bounds: what is left out of the dense contribution is
    zeros, so that no distance changes."""
    rng = np.random.default_rng(seed)
    c = LinearContribution(dim=own * blocks, scale=scale, low=-1.0, high=1.0, blocks=blocks)
    whole = LinearContribution(dim=own * blocks, scale=scale, low=-1.0, high=1.0)
    assert c.sensitivity == whole.sensitivity and c.size == blocks * own * (own + 3) // 2
    pairs, wholes = [], []
    for _ in range(2):
        x = np.append(rng.standard_normal(own) * 10 ** rng.uniform(-6, 3), rng.integers(blocks))
        y = rng.choice([-1.0, 1.0, 1e9, rng.uniform(-1, 1)])
        pairs.append(np.zeros(c.size))
        c.add(x[:-1], y, pairs[-1][c.part(int(x[-1]))])
        wholes.append(np.zeros(whole.size))
        whole.add(dense(x[None], blocks)[0], y, wholes[-1])
    apart = np.linalg.norm(pairs[0] - pairs[1])
    assert apart <= c.sensitivity * (1 + 1e-9)
    assert math.hypot(*map(np.linalg.norm, pairs)) <= c.sensitivity * (1 + 1e-9)
    assert apart == pytest.approx(np.linalg.norm(wholes[0] - wholes[1]), rel=1e-9, abs=1e-12)


def test_without_noise_it_is_the_dense_bandit():
    """Choice by choice, and by what is believed."""
    common = {"dim": BLOCKS * OWN, "radius": 2.0, "budget": NO_NOISE, "horizon": 400, "source": Simulated(0)}
    whole, parts = (JointLinUCB(**common, **more) for more in ({}, {"blocks": BLOCKS}))
    rng, theta = np.random.default_rng(1), np.random.default_rng(2).standard_normal((BLOCKS, OWN)) / 3
    for _ in range(200):
        rows = np.column_stack([rng.uniform(-0.5, 0.5, (BLOCKS, OWN)), rng.permutation(BLOCKS)])
        choices = whole.choose(dense(rows, BLOCKS)), parts.choose(rows)
        assert choices[0].index == choices[1].index
        z, a = rows[choices[0].index, :-1], int(rows[choices[0].index, -1])
        reward = float(np.clip(z @ theta[a] + 0.1 * rng.standard_normal(), -1, 1))
        whole.observe(choices[0], reward)
        parts.observe(choices[1], reward)
    asked = np.column_stack([rng.uniform(-0.5, 0.5, (5, OWN)), [0, 1, 2, 0, 1]])
    for a, b in zip(
        whole.algorithm.beliefs(whole._estimate, dense(asked, BLOCKS), 0.9),
        parts.algorithm.beliefs(parts._estimate, asked, 0.9),
        strict=True,
    ):
        assert np.allclose(a, b, atol=1e-9) and np.abs(a).max() > 0.01
    gram = np.zeros((BLOCKS, OWN, BLOCKS, OWN))
    for a in range(BLOCKS):
        gram[a, :, a] = parts.statistics.gram[a]
    assert np.allclose(gram.reshape(whole.dim, -1), whole.statistics.gram, atol=1e-9) and whole._steps > 5
    assert np.allclose(parts.statistics.moment.ravel(), whole.statistics.moment, atol=1e-9)


def test_bounds_on_the_noise_are_of_the_blocks_and_hold_in_all_of_them():
    """Drawn noise stays within them, and a dense matrix's bounds are larger."""
    bandit = JointLinUCB(dim=BLOCKS * OWN, blocks=BLOCKS, horizon=500, budget=BUDGET, source=Simulated(3))
    whole = JointLinUCB(dim=BLOCKS * OWN, horizon=500, budget=BUDGET, source=Simulated(3))
    assert (
        bandit.algorithm.regularizer.shift < whole.algorithm.regularizer.shift
        and bandit.algorithm.regularizer.drift < whole.algorithm.regularizer.drift
    )
    assert bandit.mechanism.size == BLOCKS * OWN * (OWN + 3) // 2
    for _ in range(400):  # nobody answers: what is released is noise
        bandit.choose([[0.1] * OWN + [0]])
        upsilon = bandit.algorithm.regularizer.shift - bandit.algorithm.regularizer.floor
        assert np.abs(np.linalg.eigvalsh(bandit.statistics.gram)).max() <= upsilon
    assert np.abs(bandit.statistics.gram).max() > 0
    more = ridge.gaussian_bounds(1.0, 50, OWN, 0.1, 1.0, 1.0)
    assert ridge.gaussian_bounds(1.0, 50 * BLOCKS, OWN, 0.1, 1.0, 1.0).shift > more.shift


def test_it_is_used_with_a_schema_saved_and_grown(tmp_path):
    schema = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("walk", "sleep"), max_actions=4)
    bandit = JointLinUCB(features=schema, horizon=1000, budget=BUDGET, first=5)
    own = schema.dim // 4
    assert bandit.blocks == 4 and bandit.mechanism.size == 4 * own * (own + 3) // 2
    assert "(4 blocks of" in " ".join(str(bandit.privacy).split()) and bandit.privacy.private

    def played(count):
        for i in range(count):
            bandit.observe(bandit.choose({"age": 7 * i % 100}), float(i % 2))

    played(20)
    log_det = bandit._state.estimate.logdet[0]
    bandit.add_action("read")
    assert bandit._state.estimate.logdet[0] != log_det and bandit.choose({"age": 1}, actions=["read"]).name == "read"
    bandit.retire_action("walk")
    played(20)
    assert bandit._live.tolist() == [0, 1, 2]  # its rounds are in the confidence set
    bandit.save(tmp_path / "b.json")
    again = JointLinUCB.load(tmp_path / "b.json")
    assert again.actions == bandit.actions
    assert all(np.array_equal(a, b) for a, b in zip(again.statistics, bandit.statistics, strict=True))
    assert np.array_equal(again._state.estimate.theta, bandit._state.estimate.theta)
    with pytest.raises(BadState, match="another calibration|size"):
        _as_saved_before(tmp_path / "old.json", schema)


def _as_saved_before(path, schema):
    """A dense bandit's file, with the schema that makes blocks now."""
    JointLinUCB(dim=schema.dim, horizon=1000, budget=BUDGET, first=5, source=Simulated(0)).save(path)
    body, _ = snapshot.read(path, what="bandit", format=snapshot.FORMAT, version=snapshot.VERSION)
    body["settings"]["features"] = {"schema": schema.to_dict()}
    path.write_text(json.dumps(snapshot.document(body, format=snapshot.FORMAT, version=snapshot.VERSION, raw=True)))
    return JointLinUCB.load(path)
