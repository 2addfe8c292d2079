"""What the core's mechanisms must do, trees, the square root and its buffers do; and how near the best they are."""

import math

import numpy as np
import pytest

import core_tests.mechanisms.test_continual as core
from core_tests.reference import linear as reference
from reticent import Simulated
from reticent.mechanisms.discounted import coefficients
from reticent.mechanisms.recursive import encoder_of
from reticent_lab.mechanisms.buffered import Buffered, _design
from reticent_lab.mechanisms.toeplitz import Toeplitz
from reticent_lab.mechanisms.toeplitz_kernel import root_squares
from reticent_lab.mechanisms.tree import Tree
from tools.bench.noise import lower_bound

MECHANISMS = {
    "tree": lambda **k: Tree(**k), "consistent": lambda **k: Tree(**k, consistent=True),
    "toeplitz": lambda **k: Toeplitz(**k), "buffered": lambda **k: Buffered(**k),
}  # fmt: skip
CHECKS = [
    core.test_without_noise_it_is_a_running_sum, core.test_an_honest_error_at_the_horizon,
    core.test_noise_has_the_std_it_says_and_no_other, core.test_spent_so_far_grows_to_the_whole,
]  # fmt: skip


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_a_mechanism_of_continual_release(name, check):
    check(MECHANISMS[name])


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_an_adversary_sees_of_the_first_user(name):
    """The consistent tree's prefixes tell less than its nodes, so its claim is only an upper bound."""
    seen = core.seen(MECHANISMS[name](leaves=8, size=30_000, sigma=1.0))
    assert seen <= 1.03 and (seen >= 0.97 or name == "consistent")


def encoders(leaves):
    """(C, largest column norm that the mechanism claims)."""
    yield reference.root_toeplitz(leaves), Toeplitz(leaves=leaves, size=1, sigma=1.0).column_norm
    buffered = Buffered(leaves=leaves, size=1, sigma=1.0)
    state = buffered.noise_state(None)
    b = np.array([state.weights @ state.decay**k for k in range(leaves)])
    decoder = np.array([[b[i - j] if i >= j else 0.0 for j in range(leaves)] for i in range(leaves)])
    yield np.linalg.solve(decoder, np.tril(np.ones((leaves, leaves)))), buffered.column_norm
    tree, rows = Tree(leaves=leaves, size=1, sigma=1.0), []
    for height in range(tree.levels):
        for number in range(leaves >> height):
            row = np.zeros(leaves)
            row[number << height : (number + 1) << height] = 1
            rows.append(row)
    yield np.array(rows), tree.column_norm


@pytest.mark.parametrize("leaves", [1, 2, 7, 64, 300])
def test_column_norms_are_exact(leaves):
    """And no entry is negative, which the rule for late rewards needs
    (packages/reticent/tests/core_tests/mechanisms/test_together.py)."""
    for encoder, norm in encoders(leaves):
        assert encoder.min() >= -1e-9
        assert norm == pytest.approx(np.linalg.norm(encoder, axis=0).max(), rel=1e-6)


def test_buffered_is_within_a_percent_of_the_exact_toeplitz_for_every_horizon():
    for leaves in (10, 1000, 10**6, 5 * 10**7, 10**9):
        buffered = Buffered(leaves=leaves, size=1, sigma=1.0)
        root = Toeplitz(leaves=min(leaves, 10**7), size=1, sigma=1.0).column_norm ** 2
        if leaves > 10**7:  # sum of f_k^2 grows by ln(n) / pi
            root += math.log(leaves / 10**7) / math.pi
        ratio = buffered.gain(np.array([float(leaves)]))[0] * buffered.column_norm / root
        assert 0.97 < ratio < 1.01 and buffered.memory == 10


def test_the_buffers_encoder_inverts_its_decoder():
    decoder = _design(500)
    encoder, k = encoder_of(decoder), np.arange(500)
    b = np.exp(-np.outer(k, decoder.rates)) @ decoder.weights
    c = np.exp(-np.outer(k, encoder.rates)) @ encoder.weights
    c[0] += encoder.first
    assert np.allclose(np.convolve(b, c)[:500], 1.0) and c.min() > 0
    assert encoder.squares(500) == pytest.approx((c**2).sum())


def test_no_mechanism_beats_the_lower_bound():
    for leaves in (1, 10, 1000):
        singular = np.linalg.svd(np.tril(np.ones((leaves, leaves))), compute_uv=False)
        assert lower_bound(leaves) == pytest.approx(singular.mean(), rel=1e-9)
        for make in MECHANISMS.values():
            m = make(leaves=leaves, size=1, sigma=1.0)
            assert m.column_norm * m.gain(np.arange(1.0, leaves + 1)).max() >= lower_bound(leaves) * (1 - 1e-9)
    assert lower_bound(10**8) == pytest.approx(lower_bound(10**7) + math.log(10) / math.pi, rel=1e-6)


def test_toeplitz_refuses_a_table_that_does_not_fit():
    with pytest.raises(ValueError, match="Buffered has the same error"):
        Toeplitz(leaves=10**9, size=20, sigma=1.0).init(Simulated(0))
    assert coefficients(3) == pytest.approx([1, 1 / 2, 3 / 8])


def test_root_squares():
    out = np.empty(3)
    root_squares(np.array([1, 4, 50]), out)
    f = reference.root_toeplitz(50)[:, 0]
    assert np.allclose(out, [1, (f[:4] ** 2).sum(), (f**2).sum()])
