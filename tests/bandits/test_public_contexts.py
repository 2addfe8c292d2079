"""contexts="public": curvature is of all choices, answered or not; released are moments alone."""

import numpy as np
import polars as pl
import pytest

from tacit import Budget, JointGLM, Simulated, Spec, environments, simulate
from tacit.kernels.glm import Tuning
from tacit.mechanisms.opening import opened
from tacit.privacy.noise import Secure
from tacit.testing.stage import User, act, users
from tests.pieces import Pieces

BUDGET = Budget(1.0, 0.02)
SILENT = Budget(np.inf, 0.02)


def made(**options):
    settings = {"dim": 2, "link": "probit", "radius": 2.0, "budget": BUDGET, "contexts": "public", "first": 6}
    return JointGLM(**settings | {"source": Simulated(3), "policy": np.random.default_rng(4)} | options)


def people(count, *, blocks=None, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        arms = rng.uniform(-0.6, 0.6, (4, 2))
        if blocks:
            arms = np.column_stack([arms, rng.integers(blocks, size=4)])
        yield User(arms, float(rng.integers(2)))


def parts(bandit):
    return (*bandit._state.estimate, bandit._state.prefix.released, *bandit._state.public[:2])


@pytest.mark.parametrize(
    "options", [{}, {"dim": 4, "blocks": 2}, {"link": "identity"}, {"forget": 60}, {"prior": ([0.5, 0.2], 2.0)}]
)
def test_the_compiled_loop_is_choose_and_observe(options):
    loop, steps = made(**options), made(**options)
    members = list(people(120, blocks=options.get("blocks")))
    block = users(members)
    loop.play(block)
    assert [act(steps, member) for member in members] == block.index.tolist()
    assert loop._steps == steps._steps > 3
    for one, other in zip(parts(loop), parts(steps), strict=True):
        assert np.array_equal(one, other)


def test_without_noise_it_learns_what_the_private_one_learns():
    rows = []
    for contexts in ("public", "private"):
        spec = Spec(JointGLM, budget=SILENT, contexts=contexts, first=10)
        rows += simulate([spec], environments.ball(dim=3, arms=5, radius=3.0), horizon=2000, runs=3, seed=1).rows
    public, private = (row["regret_mean"] for row in rows)
    assert public < 1.5 * private + 5


def test_a_choice_that_is_not_answered_has_curvature_and_no_moment():
    bandit = made(budget=SILENT)
    arms = np.array([[0.6, 0.0]])
    bandit.choose(arms)
    assert bandit._state.public.open[0] > 0 and not opened(bandit._state.prefix).open.any()
    before = bandit._state.public.open.copy()
    bandit.observe(bandit.choose(arms), 1.0)
    assert np.array_equal(bandit._state.public.open, 2 * before)  # the reward has added nothing to it
    assert opened(bandit._state.prefix).open[0] == pytest.approx(1.0)  # 2 (1 - 1/2), the estimate being 0


def test_a_late_reward_is_centred_where_its_choice_was():
    """The moment that comes later belongs to the line that the curvature was made with."""
    bandit = made(budget=SILENT, prior=([1.0, 0.0], 5.0))
    ticket = bandit.choose([[0.9, 0.0]])
    centre = opened(bandit._tickets).features[ticket.id][-1]
    for member in people(30):
        act(bandit, member)
    assert bandit._steps > 2 and centre > 0.55
    before = opened(bandit._state.prefix).open.copy()
    bandit.observe(ticket, 0.0)
    assert opened(bandit._state.prefix).open[0] - before[0] == pytest.approx(-2 * centre)


def test_a_missing_reward_counts_as_expected():
    """Half the rewards never come, at random: the estimate is not drawn to half of what it would be."""
    rng, theta = np.random.default_rng(1), np.array([1.0, -0.5])
    bandit = made(budget=SILENT, radius=3.0, link="logistic", discount=1.0)
    for _ in range(6000):
        x = rng.uniform(-0.7, 0.7, 2)
        choice = bandit.choose([x])
        if rng.integers(2):
            bandit.observe(choice, float(rng.random() < 1 / (1 + np.exp(-x @ theta))))
    assert bandit.theta @ theta / (theta @ theta) > 0.75


def test_hybrid_arms_are_the_same_vectors_without_their_zeros():
    """Of which the sums have all that the whole vectors' have: by the same noise the estimate is the same."""
    same = {"dim": 5, "tuning": Tuning()}
    hybrid, whole = made(blocks=2, shared=1, **same), made(**same)
    rng = np.random.default_rng(2)
    for i in range(90):
        row = np.append(rng.uniform(-0.5, 0.5, 3), i % 2)[None]
        for bandit, arm in ((hybrid, row), (whole, hybrid.algorithm.layout.whole(row))):
            choice = bandit.choose(arm)
            if i % 3:  # the others never answer
                bandit.observe(choice, float(row[0, 0] > 0))
    assert hybrid._steps == whole._steps > 5 and hybrid.mechanism.size == 5
    assert hybrid.mechanism.sigma == whole.mechanism.sigma and hybrid.privacy.unit == whole.privacy.unit
    assert np.allclose(hybrid.theta, whole.theta, rtol=1e-9) and hybrid.theta.all()
    assert np.allclose(hybrid._state.estimate.inverse, whole._state.estimate.inverse, rtol=1e-9)


def test_releases_are_moments_alone():
    plain, blocks = made(), made(dim=4, blocks=2)
    assert plain.mechanism.size == 2 and blocks.mechanism.size == 4
    (release,) = plain.privacy.releases
    assert release.sensitivity == pytest.approx(2.0) and "centred rewards" in release.statistic
    assert release.relation == "replace rewards"


def test_the_certificate_names_what_is_public():
    told = made(source=Secure()).privacy
    text = " ".join(str(told).split())
    assert "one round's reward, and whether and when it came; features and offered arms are public" in told.unit
    assert "the response to one visit" in text and 'contexts="public"' in text and told.epsilon <= 1.0 + 1e-9
    assert told.neighbours == "replace rewards"
    named = made(max_rounds_per_person=3, source=Secure()).privacy
    assert "the rewards of at most 3 rounds" in named.unit and "rewards of one person" in named.relation


@pytest.mark.parametrize("options", [{}, {"dim": 4, "blocks": 2}, {"dim": 3, "blocks": 2, "shared": 1}])
def test_goes_on_where_it_was_saved(options, tmp_path):
    bandit = made(source=Secure(), **options)
    members = list(people(60, blocks=options.get("blocks")))
    for member in members[:20]:
        act(bandit, member)
    late = bandit.choose(members[20].arms)
    bandit.save(tmp_path / "bandit.json")
    again = JointGLM.load(tmp_path / "bandit.json")
    assert all(np.array_equal(one, other) for one, other in zip(parts(bandit), parts(again), strict=True))
    again.observe(late.id, 1.0)
    for member in members[21:]:
        act(again, member)
    assert again._steps > bandit._steps and again.privacy.unit == bandit.privacy.unit


def test_learns_from_a_log():
    bandit = made()
    rows = {"x0": [0.5, 0.1, -0.3] * 10, "x1": [0.0, 0.4, 0.2] * 10, "reward": [1.0, None, 0.0] * 10}
    assert bandit.learn_log(rows) == {}
    assert bandit._state.public.closed[0] > 0 and bandit._steps > 1


BAD = (7.0, -np.inf, "much", 10**400, [])  # as rewards


def logged(reward, *, row=3, **options):
    """Twelve rows of a log, one of them with that reward, and what was refused."""
    bandit, members = made(first=20, **options), list(people(12, blocks=options.get("blocks")))
    rewards = [member.reward for member in members]
    rewards[row] = reward
    columns = {f"x{i}": [member.arms[0][i] for member in members] for i in range(2)}
    if options.get("blocks"):
        columns["action"] = [int(member.arms[0][2]) for member in members]
    if options.get("max_rounds_per_person"):
        columns["person"] = [f"{i % 5}" for i in range(12)]
    return bandit, bandit.learn_log(columns | {"reward": rewards})


@pytest.mark.parametrize("options", [{}, {"dim": 4, "blocks": 2}, {"max_rounds_per_person": 2}])
def test_a_reward_in_a_log_moves_nothing_that_has_no_noise(options):
    """A row whose reward is refused is a choice like that without one: contexts are summed without noise."""
    fine, out = logged(1.0, **options)
    full = set(out)  # people with no rounds left
    silent, _ = logged(None, **options)
    for bad in BAD:
        bandit, refused = logged(bad, **options)
        assert set(refused) == full | {3} and bandit.choices == fine.choices
        for other in (fine, silent):
            assert all(np.array_equal(a, b) for a, b in zip(bandit._state.public, other._state.public, strict=True))
        assert np.array_equal(opened(bandit._state.prefix).open, opened(silent._state.prefix).open)
    assert not np.array_equal(opened(fine._state.prefix).open, opened(silent._state.prefix).open)


def test_a_reward_in_pieces_moves_nothing_that_has_no_noise():
    """The same rows in pieces."""
    found = []
    for name, reward in (("good", 1.0), ("bad", 7.0), ("none", None)):
        rows = {"x0": [0.5, 0.1, -0.3] * 4, "x1": [0.0, 0.4, 0.2] * 4, "reward": [1.0, reward, *[0.0] * 10]}
        bandit = made(first=20)
        assert set(bandit.learn_log(Pieces(pl.DataFrame(rows)))) == ({1} if name == "bad" else set())
        found.append(bandit._state.public.open)
    assert np.array_equal(found[0], found[1]) and np.array_equal(found[0], found[2]) and found[0].any()


def test_a_reward_that_is_refused_moves_nothing_that_has_no_noise():
    """Of choices that are made here, one by one and many at once."""
    found = []
    for reward in (1.0, None, *BAD):
        bandit = made(first=20)
        members = list(people(6))
        for member in members:
            choice = bandit.choose(member.arms)
            if reward in BAD:
                with pytest.raises(ValueError, match="Expected"):
                    bandit.observe(choice, reward)
            elif reward is not None:
                bandit.observe(choice, reward)
        many = bandit.choose_many([member.arms for member in members])
        if reward is not None:
            assert len(bandit.observe_many(many, [reward] * 6)) == (6 if reward in BAD else 0)
        found.append(bandit._state.public.open)
    assert found[0].any() and all(np.array_equal(found[0], other) for other in found)


@pytest.mark.parametrize(
    "options",
    [
        {"curvature": "none"},
        {"max_rounds_per_person": 2, "week": 100},
    ],
)
def test_what_does_not_go_with_it_is_refused(options):
    with pytest.raises(ValueError, match="with contexts"):
        made(**options)


@pytest.mark.parametrize(
    ("named", "options"),
    [
        ("week", {"max_rounds_per_person": 2, "week": 100}),
    ],
)
def test_what_is_refused_is_named(named, options):
    with pytest.raises(ValueError, match=f'with contexts="public", got {named}.$'):
        made(**options)


@pytest.mark.parametrize("options", [{}, {"dim": 4, "blocks": 2}])
def test_a_choice_beyond_the_limit_is_served_and_in_no_sum(options):
    bandit = made(max_rounds_per_person=2, on_limit="serve", first=50, **options)
    once = made(max_rounds_per_person=2, on_limit="serve", first=50, **options)
    for i, member in enumerate(people(8, blocks=options.get("blocks"))):
        bandit.observe(bandit.choose(member.arms[:1], person="ada"), member.reward)
        if i < 2:
            once.observe(once.choose(member.arms[:1], person="ada"), member.reward)
    assert bandit.choices == 8 and once._state.public.open.any()
    assert np.array_equal(bandit._state.public.open, once._state.public.open)
    assert np.array_equal(opened(bandit._state.prefix).open, opened(once._state.prefix).open)
    rows = {"x0": [0.5] * 4, "x1": [0.1] * 4, "reward": [1.0] * 4, "person": ["ada"] * 4}
    bandit.learn_log(rows | ({"action": [0] * 4} if options else {}))
    assert bandit.choices == 12 and np.array_equal(bandit._state.public.open, once._state.public.open)


def test_unknown_contexts_are_refused():
    with pytest.raises(ValueError, match="Expected contexts"):
        made(contexts="open")
