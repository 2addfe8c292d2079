"""ShuffleNewton: what is simulated is what devices, shuffler and server do; bad input changes nothing."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.linalg import block_diag

from core_tests import disjoint
from core_tests.bandits.test_fused import compare
from reticent import Budget, Reward, Spec, environments, simulate
from reticent.algorithms import irls
from reticent.errors import BadReport, BatchTooSmall, LateReport, UnknownChoice, WrongBatch
from reticent.features import Number, Schema
from reticent.kernels.linalg import smat, svec
from reticent_devices import Embedded, ShuffleNewton
from reticent_devices.bandits.shuffle.batches_kernel import ShuffleState
from reticent_devices.bandits.shuffle.newton_kernel import absorb, optimist_share
from reticent_devices.bandits.shuffle.sum_kernel import APART, add_up
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.roles.shuffler import Shuffler
from reticent_devices.roles.wire import digest

BUDGET = Budget(1.0, 1e-2)


@pytest.mark.parametrize("explore", ["thompson", "ucb", "greedy", "elimination"])
def test_fused_and_stepwise_are_identical(explore):
    for world in (environments.ball(link="logistic", dim=5, arms=20), environments.basis(dim=4, arms=4)):
        compare(Spec(ShuffleNewton, budget=BUDGET, explore=explore, first=40, growth=1.3), world)
    probit = environments.rare(link="probit", radius=3.0)
    compare(Spec(ShuffleNewton, budget=Budget(math.inf, 1e-2), explore=explore, first=40), probit)
    compare(Spec(ShuffleNewton, budget=BUDGET, explore=explore, first=90), probit)
    compare(Spec(ShuffleNewton, budget=BUDGET, explore=explore, first=40), environments.disjoint(dim=9, arms=3))


def test_fused_and_stepwise_are_identical_without_curvature():
    balls = environments.ball(link="logistic", dim=5), environments.ball(dim=3)
    for world in (*balls, environments.disjoint(dim=9, arms=3)):
        compare(Spec(ShuffleNewton, budget=BUDGET, curvature="none", first=40), world)


def test_scores_are_taken_for_arms_of_many_dimensions_and_where_reports_would_be_too_long():
    def made(**settings):
        server = ShuffleNewton(budget=BUDGET, **settings)
        return server.contribution.size, server.contribution.sensitivity, " ".join(str(server.privacy).split())

    size, sensitivity, words = made(features=100)
    assert (size, sensitivity) == (100, 2.0)
    assert "sums of scores over a batch: 100 numbers, each user in one batch; without curvature, as an arm" in words
    assert made(features=99)[0] == 99 * 102 // 2 and "curvature" not in made(features=99)[2]
    assert (
        made(features=disjoint.schema(41, 4))[0] == 369 and "65535 numbers" in made(features=disjoint.schema(41, 4))[2]
    )
    assert made(features=100, curvature="released")[0] == made(features=100, estimate="sum")[0] == 100 * 103 // 2
    assert (
        made(features=3, curvature="none")[0] == 3 and "without curvature" not in made(features=3, curvature="none")[2]
    )
    for wrong, said in (
        ({"features": 3, "curvature": "half"}, "curvature"),
        ({"features": 400, "curvature": "released"}, "at most 65535 numbers, got 80600 with a curvature"),
        ({"features": 3, "curvature": "none", "explore": "ucb"}, 'curvature.*got explore="ucb" and estimate="auto"'),
    ):
        with pytest.raises(ValueError, match=said):
            made(**wrong)


@pytest.mark.parametrize(
    ("features", "growth", "fading", "share"), [(2, 1.2, 1.2**-0.5, 1.0), (disjoint.schema(2, 0), 1.1, 1.0, 0.3)]
)
def test_the_estimate_from_scores_is_a_multiple_of_their_sum(features, growth, fading, share):
    """Three batches beside numpy: real devices, whose scores are known, and the sums that the server was handed."""
    server = ShuffleNewton(features, BUDGET, Reward(radius=3.0), first=60, curvature="none")
    rng, total, variance, average = default_rng(3), np.zeros(2), 0.0, np.zeros(2)
    for batch in range(3):
        plan, board = server.analyzer.plan(batch), server.billboard()
        message = three_roles(server, plan.users, rng)
        reports, sums = server.analyzer.open(message, batch, digest(board))
        server.observe(message)
        total = fading * total + (sums - reports * (plan.reach + plan.trials / 2)) / plan.scale
        variance = fading**2 * variance + reports * (plan.trials + 1) / 4 / plan.scale**2
        eta = 1 / (math.sqrt(variance * 2) / (0.5 * 3.0) + 2 * 0.25 * plan.users * growth / 10)
        average += max(share, 1 / (batch + 1)) * (eta * total - average)
        shown = json.loads(server.billboard())
        for name, wanted in (("theta", eta * total), ("centre", average)):
            assert np.allclose(shown[name], wanted * min(1, 9 / np.linalg.norm(wanted)))
    assert shown["inverse"] == shown["axes"] == shown["spread"] == []
    x, arms, board = np.array([0.3, -0.4]), [[0.3, -0.4], [0.1, 0.2]], server.billboard()
    mean = 1 / (1 + math.exp(-x @ shown["theta"]))
    assert np.allclose(ShuffleClient(board).contribution(x, 1.0), x / 0.5 * (1 - mean) / max(mean, 1 - mean))
    choice = ShuffleClient(board).choose(arms)
    assert choice.index == np.argmax(arms @ np.array(shown["centre"])) and choice.propensity == 1.0


def three_roles(server, users, rng):
    """A whole batch through the three roles; returns the shuffler's message."""
    board = server.billboard()
    shuffler = Shuffler(board)
    for _ in range(users):
        client = ShuffleClient(board)
        choice = client.choose(rng.uniform(-0.5, 0.5, (4, server.dim)))
        shuffler.add(client.randomize(choice, float(rng.random() < 0.5)))
    return shuffler.close()


def test_a_server_learns_from_real_devices_and_goes_on_after_a_restart(tmp_path):
    rng, server = default_rng(0), ShuffleNewton(2, BUDGET, first=60)
    server.observe(three_roles(server, 60, rng))
    assert server.users == 60 and server.version == 1
    server.save(tmp_path / "server.json")
    assert json.loads((tmp_path / "server.json").read_text())["raw data"] is False
    again = ShuffleNewton.load(tmp_path / "server.json")
    assert again.billboard() == server.billboard()
    following = three_roles(server, 120, rng)
    server.observe(following)
    again.observe(following)
    assert again.billboard() == server.billboard() and again.privacy == server.privacy
    assert server.privacy.private and server.privacy.epsilon <= 1 + 1e-6 and "shuffle" in str(server.privacy)


def test_a_null_report_and_a_wrong_reward():
    client = ShuffleClient(ShuffleNewton(2, BUDGET).billboard())
    choice = client.choose({"a": [0.123456, 0.1], "b": [0.123456, 0.1]})
    for wrong in ("1", [1.0], 1j):
        with pytest.raises(ValueError, match="a number, got"):
            client.randomize(choice, wrong)
    report = client.randomize(choice, None)
    assert client.randomize(choice, 1.0) == report  # one report for ever
    assert "0.123" not in repr(choice) + repr(client)
    with pytest.raises(BadReport):
        ShuffleClient(b"{}")
    later = json.loads(ShuffleNewton(2, BUDGET).billboard()) | {"version": 99}
    with pytest.raises(BadReport, match="version 99"):
        ShuffleClient(json.dumps(later).encode())


def test_what_the_server_refuses_changes_nothing():
    server = ShuffleNewton(2, BUDGET, first=60)
    message, board = three_roles(server, 60, default_rng(1)), server.billboard()
    other = three_roles(ShuffleNewton(2, BUDGET, first=61), 61, default_rng(1))
    few = Shuffler(board, minimum=0)
    numbers = [message[:-8] + number.to_bytes(8, "little", signed=True) for number in (10**12, -1)]
    damaged = [message[:-1], message + b"0", b"", message[:2] + b"\x09" + message[3:], *numbers]
    for bad, error in (*((one, BadReport) for one in damaged), (other, WrongBatch), (few.close(), BatchTooSmall)):
        with pytest.raises(error):
            server.observe(bad)
        assert server.billboard() == board and server.users == 0
    server.observe(message)
    with pytest.raises(LateReport):
        server.observe(message)
    assert server.users == 60


def test_dropouts_are_planned_for_and_charged():
    server = ShuffleNewton(2, BUDGET, first=100, dropout=0.2, malicious=0.1)
    assert server.privacy.epsilon <= 1 + 1e-6
    server.observe(three_roles(server, 100, default_rng(2)))
    full = server.privacy.spent
    fewer = ShuffleNewton(2, BUDGET, first=100, dropout=0.2, malicious=0.1)
    fewer.observe(three_roles(fewer, 80, default_rng(2)))
    assert full < fewer.privacy.spent <= 1 + 1e-6
    with pytest.raises(BatchTooSmall):
        three_roles(fewer, 10, default_rng(3))


def test_embedded_without_a_seed_pads_what_never_came_and_refuses_late_rewards():
    bandit = Embedded(ShuffleNewton(2, BUDGET, first=60))
    arms = [[0.5, 0.1], [0.1, 0.1]]
    choices = [bandit.choose(arms) for _ in range(60)]
    for choice in choices[:50]:
        bandit.observe(choice, 1.0)
    assert 0 < choices[0].propensity <= 1
    bandit.choose(arms)
    assert bandit.server.users == 60
    with pytest.raises(UnknownChoice):
        bandit.observe(choices[55], 1.0)
    assert bandit.privacy.private
    for call in (lambda: bandit.save("x"), lambda: Embedded.load("x")):
        with pytest.raises(TypeError):
            call()


def test_what_a_batch_tells_is_what_the_formulas_say():
    """absorb beside numpy, over three batches: one full, one of one direction, one of noise."""
    d, scale, unit, radius, std = 3, 2.0, 1.5, 3.0, 0.8
    rng = default_rng(5)
    kept, posterior = np.zeros(d * (d + 3) // 2), irls.prior(d, radius)
    information, weighted = np.zeros((d, d)), np.zeros(d)
    for size, rank in ((40.0, 3), (200.0, 1), (0.0, 3)):
        x = rng.standard_normal((rank, d))
        matrix, moment = size * x.T @ x, rng.standard_normal(d) * size
        noise = rng.standard_normal((d, d)) * std
        matrix, packed = matrix + (noise + noise.T) / 2, np.empty(d * (d + 1) // 2)
        svec(scale * matrix, packed)
        absorb(np.concatenate([packed, moment / unit]), std, scale, unit, radius, False, kept, posterior)
        values, axes = np.linalg.eigh(matrix)
        values = np.maximum(values - 1.5 * std / scale, 0)
        weights = values / (2 * values + std**2 * (unit**2 + (radius / scale) ** 2))
        information += axes @ np.diag(weights * values) @ axes.T
        weighted += axes @ np.diag(weights) @ axes.T @ moment
        precision = information + np.eye(d) * d / radius**2
        centre = np.linalg.solve(precision, weighted)
        assert np.allclose(posterior.inverse, np.linalg.inv(precision), atol=1e-12)
        assert np.allclose(posterior.centre, centre * min(1, radius / np.linalg.norm(centre)))
        assert np.allclose(posterior.axes @ np.diag(posterior.precision) @ posterior.axes.T, precision)
        assert np.linalg.norm(posterior.theta) <= np.linalg.norm(posterior.centre) + 1e-12
        lacking = np.maximum(0, 1 - np.linalg.eigvalsh(information) / (0.7 * np.trace(information) / d))
        assert np.allclose(posterior.spread * np.sqrt(posterior.precision), 0.3 + 0.8 * lacking)


def test_a_batch_without_data_adds_no_noise():
    """Twenty batches of pure noise leave the information that one good batch gave, but for a few per cent."""
    d, scale, radius, std = 5, 2.6, 3.0, 2.7
    kept, posterior = np.zeros(d * (d + 3) // 2), irls.prior(d, radius)
    packed = np.empty(d * (d + 1) // 2)
    svec(scale * 50 * np.eye(d), packed)
    absorb(np.concatenate([packed, np.full(d, 40.0)]), std, scale, 1.0, radius, False, kept, posterior)
    before, rng = posterior.precision.mean(), default_rng(6)
    for _ in range(20):
        absorb(std * rng.standard_normal(kept.size), std, scale, 1.0, radius, False, kept, posterior)
    assert abs(posterior.precision.mean() / before - 1) < 0.05 and np.allclose(posterior.centre, 0.8, atol=0.2)


def test_of_arms_with_one_coordinate_each_the_diagonal_alone_counts():
    d, scale, radius, std = 4, 2.0, 3.0, 8.0
    rng = default_rng(8)
    counts, moment = np.array([900.0, 30.0, 200.0, -5.0]), 30 * rng.standard_normal(d)

    def fitted(matrix):
        kept, posterior, packed = np.zeros(d * (d + 3) // 2), irls.prior(d, radius), np.empty(d * (d + 1) // 2)
        svec(scale * matrix, packed)
        absorb(np.concatenate([packed, moment]), std, scale, 1.0, radius, True, kept, posterior)
        return posterior

    noise = rng.standard_normal((d, d))
    cut, found = fitted(np.diag(counts)), fitted(np.diag(counts) + (noise + noise.T) * (1 - np.eye(d)))
    assert np.array_equal(cut.centre, found.centre) and np.array_equal(cut.inverse, found.inverse)
    information = np.maximum(counts, 0) ** 2 / (2 * np.maximum(counts, 0) + std**2)
    assert np.allclose(np.diag(found.inverse), 1 / (information + d / radius**2))


@pytest.mark.parametrize("blocks", [1, 3])
def test_the_estimate_from_the_sum_is_joint_glm_s_from_faded_batches(blocks):
    """Three batches beside numpy; noise between blocks changes nothing."""
    d, scale, unit, radius, fading = 6, 2.0, 1.5, 3.0, 0.8
    rng, p = default_rng(9), 6 // blocks
    batches = 20 * rng.standard_normal((3, d * (d + 3) // 2))
    variances, weights = [2.0, 1.0, 4.0], [fading**2, fading, 1.0]
    zeros = ShuffleState(np.zeros(2, np.int64), np.zeros(batches[0].size), *np.zeros((2, 1)), irls.prior(d, radius))
    for batch, variance in zip(batches, variances, strict=True):
        add_up(batch, variance, scale, unit, radius, blocks, fading, APART, zeros)
    total, std = weights @ batches, math.sqrt(np.dot(np.square(weights), variances))
    matrix = np.empty((d, d))
    smat(total[:-d], matrix)
    pairs = []
    for a in range(blocks):
        own, packed = slice(a * p, (a + 1) * p), np.empty(p * (p + 1) // 2)
        svec(np.ascontiguousarray(matrix[own, own]), packed)
        pairs += [packed, total[-d:][own]]
    wanted = irls.prior(d, radius) if blocks == 1 else irls.prior_of_blocks(p, radius, blocks, np.arange(blocks))
    irls.update(np.concatenate(pairs), scale=scale, unit=unit, std=std, radius=radius, tuning=APART, posterior=wanted)
    found = zeros.posterior
    assert np.allclose(zeros.sums, total) and np.allclose(zeros.variance, std**2)
    for name in ("theta", "precision", "spread"):
        assert np.allclose(getattr(found, name), getattr(wanted, name).ravel())
    assert np.array_equal(found.centre, found.theta) and np.any(found.spread > 0)
    for name in ("axes", "inverse"):
        parts = getattr(wanted, name).reshape(blocks, p, p)
        assert np.allclose(getattr(found, name), block_diag(*parts))


def test_the_sum_is_taken_for_blocks_and_for_many_dimensions():
    def fading(**settings):
        return ShuffleNewton(budget=BUDGET, **settings)._settings.fading

    assert fading(features=disjoint.schema(2)) == 1.3**-0.5 and fading(features=50) == 1.5**-0.5
    assert (
        fading(features=49) == fading(features=disjoint.schema(6, 0)) == fading(features=64, estimate="batches") == 0.0
    )
    assert fading(features=3, estimate="sum", growth=4.0) == 0.5
    with pytest.raises(ValueError, match="estimate"):
        fading(features=3, estimate="mean")


def test_blocks_are_the_schema_s():
    schema = Schema(context={"age": Number(0, 100)}, arms="disjoint", actions=("a", "b", "c"))
    assert ShuffleNewton(schema, BUDGET, first=60)._settings.blocks == 3
    assert ShuffleNewton(6, BUDGET, first=60)._settings.blocks == 1
    with pytest.raises(ValueError, match="takes blocks"):
        simulate([Spec(ShuffleNewton, budget=BUDGET)], environments.disjoint(disjoint=True), horizon=10, runs=1, seed=0)


def test_batches_stop_growing_and_optimists_get_rarer():
    """A change is noticed when the open batch closes, so batches are bounded; optimists come again only when there are
    half as many users more, or a fixed share of everybody would try arms for ever."""
    server = ShuffleNewton(3, BUDGET)
    sizes = [server.analyzer.plan(batch).users for batch in range(400)]
    assert sizes[-1] == max(sizes) == 10 * server.first and sizes[1] == math.ceil(1.5 * server.first)
    assert ShuffleNewton(3, BUDGET, largest=math.inf).analyzer.plan(20).users > 100 * sizes[0]
    assert ShuffleNewton(3, BUDGET, estimate="sum").largest == 100 * server.first
    before, optimists = 0, []
    for batch, users in enumerate(sizes):
        share = optimist_share(server.analyzer.plan(batch), before, 0.0)
        before += users
        optimists.append(share * users)
    assert min(optimists[:7]) > 8  # of batches that grow, each has some
    times = np.flatnonzero(optimists)
    assert 18 < len(times) < 24 and np.ptp(np.array(optimists)[times]) < 0.2 * max(optimists)
    assert all(b / a < 1.7 for a, b in pairwise(times[8:]))


@pytest.mark.parametrize("settings", [{"estimate": "sum"}, {"curvature": "none"}])
def test_batches_that_no_longer_grow_do_not_fade(settings):
    """Else what a server knew would be forgotten in a few batches, for ever."""
    server, rng = ShuffleNewton(2, BUDGET, first=60, largest=60, **settings), default_rng(3)
    for batch in range(3):
        server.observe(three_roles(server, 60, rng))
        plan = server.analyzer.plan(batch)
        alone = 60 * (plan.trials + 1) / 4 / plan.scale**2
        assert server._state.variance[0] == pytest.approx((batch + 1) * alone)
