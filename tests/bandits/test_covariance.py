"""covariance=: the released curvature is drawn towards a shape that is public, as far as it may be noise."""

import numpy as np
import pytest

from tacit import Budget, JointGLM, Simulated
from tacit.algorithms import covariance
from tacit.algorithms.onepass import scores
from tacit.audit.stage import User, act, users
from tacit.kernels.linalg import smat, svec

P = 6
WIDTHS = np.array([0.5, 0.3, 0.2, 0.1, 0.05, 0.02])


def made(**options):
    settings = {"dim": P, "budget": Budget(1.0, 1e-6), "source": Simulated(1), "policy": np.random.default_rng(2)}
    return JointGLM(**settings | {"first": 50} | options)


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, P)) * WIDTHS / 2


def curvature(vector, scale):
    out = np.empty((P, P))
    smat(vector[: P * (P + 1) // 2] / scale, out)
    return out


def released(bandit, matrix, noise, seed=3):
    packed = np.empty(P * (P + 1) // 2)
    svec(matrix, packed)
    whole = np.concatenate([bandit.contribution.scale * packed, np.zeros(P)])
    return whole + noise * np.random.default_rng(seed).normal(size=whole.size)


def test_a_matrix_and_rows_mean_the_same():
    x = rows(40)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    for given in (x, x.tolist(), (x / lengths).T @ x, 7 * (x / lengths).T @ x):
        found = made(covariance=given).algorithm.shape.matrix
        assert np.trace(found) == pytest.approx(1.0) and np.allclose(found, made(covariance=x).algorithm.shape.matrix)


def test_from_fifty_dimensions_on_scores_are_turned_by_it():
    """With blocks, too, and whatever the horizon; the certificate says why."""
    options = {"dim": 60, "blocks": 10, "horizon": 10**9}
    assert "scores" not in made(**options).privacy.releases[0].statistic
    told = made(**options, covariance=rows(40)).privacy.releases[0].statistic
    assert "scores" in told and "the features' covariance is given" in told
    assert "scores" not in made(covariance=rows(40)).privacy.releases[0].statistic


WRONG = [np.ones((3, P)), np.ones(P), np.arange(P * P).reshape(P, P), -np.eye(P), "shape", np.full((9, P), np.nan)]


@pytest.mark.parametrize("wrong", WRONG)
def test_others_are_refused(wrong):
    with pytest.raises(ValueError, match="Expected covariance"):
        made(covariance=wrong)


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="to have finite numbers, got others"):
        made(covariance=np.full((P, P), np.nan))
    with pytest.raises(ValueError, match=f"to be {P} x {P}, or more rows of {P} features, got 3 x {P + 1}\\."):
        made(covariance=np.ones((3, P + 1)))


@pytest.mark.parametrize("options", [{"contexts": "public"}, {"dim": 3 + 2 * P, "blocks": 2, "shared": 3}])
def test_what_does_not_go_with_it_is_refused(options):
    with pytest.raises(ValueError, match="Expected no covariance"):
        made(covariance=np.eye(P), **options)


def off(bandit, true, std, seed):
    """How far the curvature is from the true one as it was released, and as it was drawn."""
    vector = released(bandit, true, std, seed)
    drawn, scale = covariance.drawn(vector, bandit.algorithm.shape, bandit.contribution.scale, std)
    assert scale >= bandit.contribution.scale and np.array_equal(drawn[-P:], vector[-P:])
    own = (vector, bandit.contribution.scale), (drawn, scale)
    return [np.linalg.norm(curvature(*pair) - true) for pair in own]


def test_a_known_shape_takes_off_noise():
    bandit = made(covariance=rows(4000))
    before, after = np.mean([off(bandit, 30 * bandit.algorithm.shape.matrix, 1.0, seed) for seed in range(20)], axis=0)
    assert after < 0.6 * before


def test_a_wrong_shape_is_given_up():
    bandit, true = made(covariance=np.diag(WIDTHS[::-1])), 30 * np.diag(WIDTHS)
    before, after = np.mean([off(bandit, true, 0.05, seed) for seed in range(20)], axis=0)
    assert after < 1.05 * before


def test_blocks_are_drawn_one_by_one():
    bandit = made(dim=2 * P, blocks=2, covariance=rows(100))
    rng = np.random.default_rng(0)
    for _ in range(200):
        act(bandit, User(np.column_stack([rows(4, rng.integers(1 << 30)), [0, 1, 0, 1]]), float(rng.integers(2))))
    assert bandit._steps > 2 and np.isfinite(bandit.theta).all()


@pytest.mark.parametrize("options", [{}, {"dim": 2 * P, "blocks": 2}, {"curvature": "none"}])
def test_the_compiled_loop_is_choose_and_observe(options):
    """Step by step, however rounds are cut into blocks."""
    loop, steps = (made(first=20, covariance=rows(100), **options) for _ in range(2))
    rng, members = np.random.default_rng(5), []
    for i in range(150):
        arms = rows(4, seed=i)
        arms = np.column_stack([arms, [0, 1, 0, 1]]) if "blocks" in options else arms
        members.append(User(arms, float(rng.integers(2))))
    chosen = []
    for start, stop in ((0, 33), (33, 40), (40, 150)):
        block = users(members[start:stop])
        loop.play(block)
        chosen += block.index.tolist()
    assert [act(steps, member) for member in members] == chosen and loop._steps == steps._steps > 4
    assert all(np.array_equal(a, b) for a, b in zip(loop._state.estimate, steps._state.estimate, strict=True))


def test_scores_are_turned():
    """Without curvature: the estimate is along P times the released sums, in longer steps where features say so."""
    plain, known = (made(curvature="none", covariance=given) for given in (None, rows(200)))
    for bandit in (plain, known):
        for _ in range(60):
            act(bandit, User(rows(3, seed=bandit.choices), float(bandit.choices % 2)))
    assert plain._steps == known._steps == 1  # one release, so that there is no average of several
    for bandit, turn in ((plain, np.eye(P)), (known, known.algorithm.shape.turn)):
        along = turn @ bandit._state.prefix.released
        assert bandit.theta @ along == pytest.approx(np.linalg.norm(bandit.theta) * np.linalg.norm(along))
    assert (scores.paces(known.algorithm, np.arange(P))[0] > scores.paces(plain.algorithm, np.arange(P))[0]).all()
    assert np.allclose(
        np.linalg.inv(known.algorithm.shape.turn), P * known.algorithm.shape.matrix + covariance.RIDGE * np.eye(P)
    )


def test_it_is_post_processing():
    """The same noise, the same claim; the certificate names it."""
    plain, drawn = made(), made(covariance=np.eye(P))
    assert plain.mechanism == drawn.mechanism and plain.privacy.releases == drawn.privacy.releases
    assert any("covariance=" in caveat for caveat in drawn.privacy.caveats)


def test_it_is_saved(tmp_path):
    bandit = made(covariance=rows(20))
    bandit.save(tmp_path / "bandit.json")
    assert np.array_equal(JointGLM.load(tmp_path / "bandit.json").algorithm.shape.matrix, bandit.algorithm.shape.matrix)
