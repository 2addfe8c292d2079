"""LocalIRLS: two halves, one report a user, the fused loop, and what the server can never be given."""

import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from reticent import environments
from reticent.algorithms import irls
from reticent.core import snapshot
from reticent.errors import BadState
from reticent.experiments.spec import Spec
from reticent.privacy.budget import Budget
from reticent_devices.bandits.embedded import Embedded
from reticent_devices.bandits.local.irls import LocalIRLS
from reticent_devices.bandits.local.irls_kernel import IRLSSettings, IRLSTuning, add_anchor, local_fit
from reticent_devices.bandits.server import named
from reticent_devices.roles.local import LocalClient

BUDGET = Budget(4.0, 1e-6)
WORLD = environments.ball(dim=3, arms=6, radius=2.0, link="logistic")


def server(**options):
    return named(LocalIRLS, **{"features": 3, "budget": BUDGET, "radius": 2.0} | options)


@pytest.mark.parametrize(
    "options",
    [
        *({}, {"randomizer": "gaussian"}, {"public_arms": True}, {"budget": Budget(math.inf, 1e-6)}),
        *({"curvature": "none"}, {"curvature": "none", "randomizer": "gaussian", "discount": 0.9}),
    ],
    ids=["cap", "gaussian", "public", "no noise", "scores", "gaussian scores"],
)
def test_the_fused_loop_and_the_devices_calls_agree(options):
    """The same arms in every round; sums agree up to the rounding of NumPy's sums against the loop's, or its root: a
    score may have norm 1, and a cap lifts it by sqrt(1 - |score|^2)."""
    spec = Spec(LocalIRLS, **{"budget": BUDGET} | options)
    fused, steps = (spec.build(WORLD, 600, SeedSequence(7)) for _ in range(2))
    block, again = WORLD.block(600), WORLD.block(600)
    for each in (block, again):
        WORLD.start(default_rng(1), 600).fill(each)
    fused.play(block)
    for t in range(600):
        choice = steps.choose(again.arms[t])
        assert choice.index == block.index[t], t
        steps.observe(choice, block.reward[t])
    near = 1e-6 if options.get("curvature") == "none" else 1e-9
    np.testing.assert_allclose(fused.server._state.sums, steps.server._state.sums, rtol=near, atol=near)
    np.testing.assert_allclose(fused.server.theta, steps.server.theta, rtol=near)


def test_a_device_and_a_server_apart():
    made, rng = server(), default_rng(0)
    for _ in range(30):
        client = LocalClient(made.billboard())
        choice = client.choose(rng.standard_normal((5, 3)) / 4)
        report = client.randomize(choice, 1.0)
        assert client.randomize(choice, 0.0) == report, "a retry sends the same bytes, whatever it says"
        made.observe(report)
    missing = client.randomize(client.choose(np.eye(3)), None)
    assert len(missing) == len(report), "a reward that never came looks like one that did"
    assert made.users == 30
    certificate = made.privacy
    assert certificate.private and certificate.model == "local" and certificate.delta == 0
    assert certificate.epsilon <= 4.0 and certificate.spent == certificate.epsilon


def test_public_arms_keep_the_reward_private_and_say_so():
    made = server(public_arms=True, budget=Budget(0.5, 1e-6))
    client = LocalClient(made.billboard(), public_arms=True)
    made.observe(client.randomize(client.choose(np.eye(3)), 1.0))
    assert made.privacy.epsilon <= 0.5 and made.privacy.delta == 0
    assert any("only the reward" in caveat for caveat in made.privacy.caveats)


def test_what_has_no_effect_is_refused():
    for given in ({"public_arms": True, "randomizer": "gaussian"}, {"curvature": "none", "scale": 2.0}):
        with pytest.raises(ValueError, match="no (randomizer|scale) with .*, where it has no effect"):
            server(**given)


def test_bad_reports_change_nothing():
    made = server()
    client = LocalClient(made.billboard())
    good = client.randomize(client.choose(np.eye(3)), 1.0)
    for bad in (b"", b"X" + good[1:], good[:-1], good + b"0", b"S" + good[1:]):
        with pytest.raises(ValueError, match="Expected"):
            made.observe(bad)
    assert made.users == 0 and not made._state.sums.any()


def test_a_choice_that_expires_without_a_reward_is_reported_without_it():
    bandit = Embedded(server(), pending=3)
    bandit.observe([bandit.choose(np.eye(3)) for _ in range(3)][1], 1.0)
    assert bandit.server.users == 1
    for users in (2, 2, 3, 4):  # the second choice was answered
        bandit.choose(np.eye(3))
        assert bandit.server.users == users


def test_the_billboard_holds_public_numbers_only_and_changes_on_a_public_schedule():
    made = server(first=5)
    client, before = LocalClient(made.billboard()), made.billboard()
    for _ in range(4):
        made.observe(client.randomize(client.choose(np.eye(3)), 1.0))
    assert made.billboard() == before
    made.observe(client.randomize(client.choose(np.eye(3)), 1.0))
    after = json.loads(made.billboard())
    assert after["version"] == 1 and any(after["theta"])


def test_a_file_of_another_shape_is_named(tmp_path, monkeypatch):
    made, path = server(), tmp_path / "server.json"
    with monkeypatch.context() as another:
        another.setattr(snapshot, "arrays", lambda state: [np.zeros(3)])
        made.save(path)
    with pytest.raises(BadState, match="Expected the state of a LocalIRLS"):
        LocalIRLS.load(path)
    made.unknown = 1
    with monkeypatch.context() as another:
        fields = dataclasses.fields(made)
        another.setattr(snapshot.dataclasses, "fields", lambda _: (*fields, SimpleNamespace(name="unknown", init=1)))
        made.save(path)
    with pytest.raises(BadState, match="Expected settings of a LocalIRLS"):
        LocalIRLS.load(path)


def test_the_anchor_is_the_least_squares_fit_of_two_numbers():
    """Of alpha t t' + beta (I - t t') to a step's curvature, added to what was there; one number while exploring."""
    rng = default_rng(1)
    root, axis = rng.standard_normal((4, 4)), rng.standard_normal(4)
    matrix, line = root + root.T, np.outer(axis, axis) / (axis @ axis)
    basis = np.stack([line.ravel(), (np.eye(4) - line).ravel()], axis=1)
    found = basis @ np.linalg.lstsq(basis, matrix.ravel(), rcond=None)[0]
    anchor = np.ones((4, 4))
    add_anchor(matrix, axis, False, anchor)
    np.testing.assert_allclose(anchor, 1.0 + found.reshape(4, 4), rtol=1e-12)
    for direction, random in ((axis, True), (np.zeros(4), False)):
        anchor = np.zeros((4, 4))
        add_anchor(matrix, direction, random, anchor)
        np.testing.assert_allclose(anchor, np.eye(4) * np.trace(matrix) / 4, rtol=1e-12)


ZERO, ONE = ("low", "constant", "blend", "coin"), ("high", "shrink", "scale", "unit", "discount")
PLAIN = IRLSSettings(**dict.fromkeys(ZERO, 0.0), **dict.fromkeys(ONE, 1.0), radius=100.0)


def test_the_curvature_is_drawn_in_as_far_as_it_may_be_noise():
    """Without noise the fit is ridge regression."""
    rng = default_rng(2)
    root = rng.standard_normal((3, 3))
    gram, anchor, moment = root @ root.T * 50, 40.0 * np.eye(3), rng.standard_normal(3)
    i, j = np.triu_indices(3)
    released = np.concatenate([2.0 * np.where(i == j, 1, math.sqrt(2)) * gram[i, j], moment])
    for std in (0.0, 3.0, 1e3):
        posterior = irls.prior(3, 100.0)
        tuning = IRLSTuning(variance=2.0, ridge=4.0, explore=0.1, share=1.0, trust=1.5)
        local_fit(released, anchor, std, PLAIN._replace(scale=2.0), tuning, posterior)
        noise = 1.5 * 4 * (std / 2.0) ** 2  # 6 numbers, less the two of `anchor`
        drawn = anchor + max(0.0, 1 - noise / np.sum((gram - anchor) ** 2)) * (gram - anchor)
        prior = 100.0 / math.sqrt(3)
        ridge = 4.0 * (2.0 / prior**2 + std / prior)
        np.testing.assert_allclose(posterior.theta, np.linalg.solve(drawn + ridge * np.eye(3), moment), rtol=1e-9)


def test_it_learns():
    """Far below uniform play at epsilon 8 (20 runs of seeds that nothing was tuned on)."""
    made = Spec(LocalIRLS, budget=Budget(8.0, 1e-6)).build(WORLD, 5000, SeedSequence(3))
    block = WORLD.block(5000)
    WORLD.start(default_rng(5), 5000).fill(block)
    made.play(block)
    uniform = float((block.means.max(axis=1) - block.means.mean(axis=1)).sum())
    assert block.regret.sum() < 0.35 * uniform
