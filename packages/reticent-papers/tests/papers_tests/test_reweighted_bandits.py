"""Bandits on reweighted regression and SquareCB: their kernels against slow versions, their bounds, their face."""

import dataclasses
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core_tests.bandits.test_storage as storage
from core_tests.bandits.test_fused import compare
from lab_tests.raising import raised
from papers_tests.test_reweighted import contribution, person, positive_definite
from reticent import Budget, Secure, Simulated, Spec, Uniform, environments, simulate
from reticent.errors import NotSecure
from reticent.mechanisms.saving import arrays
from reticent.model import links
from reticent.privacy import gaussian
from reticent_devices import Embedded, Server
from reticent_devices.bandits.server import named
from reticent_papers import JointReweighted, JointSquareCB, LocalReweighted, LocalSquareCB, epochs, square_cb
from reticent_papers.kernels.matrices import root
from reticent_papers.kernels.spanner import spanner as spanning
from reticent_papers.kernels.squarecb import gradient_step
from reticent_papers.local.reports_kernel import CLOSING, GRADIENT, GRAM, statement
from reticent_papers.local.statements import STAGES, SumQuery, apart, said
from reticent_papers.queries import Queries
from reticent_papers.regression.sgd import gradient_apart

BUDGET, KINDS = Budget(4.0, 1e-3), [JointReweighted, LocalReweighted, JointSquareCB, LocalSquareCB]


def build(kind, **options):
    """The bandit; of a server with its devices in one process."""
    defaults = {"dim": 3, "horizon": 400, "budget": BUDGET, "first": 60, "rewards": (-1.0, 1.0), "link": "identity"}
    settings = defaults | {"source": Simulated(1), "policy": np.random.default_rng(2), "pending": 30} | options
    if not issubclass(kind, Server):
        return kind(**settings)
    pending = settings.pop("pending")
    settings["features"], settings["range"] = settings.pop("dim"), settings.pop("rewards")
    return Embedded(named(kind, **settings), pending=pending)


def closed(bandit):
    """Epochs closed so far."""
    return getattr(bandit, "server", bandit).closed


def counts(bandit):
    return getattr(bandit, "server", bandit)._state.counts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "world", [environments.ball(dim=3, arms=6), environments.basis(dim=4, arms=4)], ids=lambda w: w.name
)
def test_fused_and_stepwise_agree(kind, world):
    compare(Spec(kind, budget=BUDGET, first=50), world, close=kind is LocalReweighted)


@pytest.mark.parametrize("kind", [JointReweighted, LocalReweighted])
def test_fused_and_stepwise_agree_for_logistic_rewards(kind):
    world = environments.rare(link="logistic", dim=3, arms=4, radius=3.0)
    compare(Spec(kind, budget=BUDGET, first=60), world, close=kind is LocalReweighted)


def test_the_papers_linear_widths_are_sums_in_both_loops():
    """16 lambda |U phi| + eps |X^-T phi|, not the root of the sum of squares."""
    world = environments.ball(dim=3, arms=6)
    compare(Spec(JointReweighted, budget=BUDGET, first=150, schedule="paper"), world)
    bandit = build(JointReweighted, schedule="paper", dim=2, first=100)
    arms = np.array([[1.0, 0.0], [0.6, 0.0], [0.0, 0.1]])  # the first is better than the second by .4
    bandit._state.counts[epochs.EPOCH], bandit._state.thetas[0] = 1, [1.0, 0.0]
    for each, alive in ((0.11, False), (0.14, True)):  # half-widths of both: 1.6 times .22 or .28, or sqrt 2 less
        bandit._state.inverses[0] = each**2 * np.eye(2)
        weights = bandit._weights(arms)
        middle, half = bandit.intervals(arms)[0]
        assert half == pytest.approx(2 * each * np.linalg.norm(arms, axis=1))
        assert (middle[1] + half[1] >= middle[0] - half[0]) == alive
        assert weights.sum() == pytest.approx(1) and weights[0] > 0 and weights[2] == 0


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 12), st.sampled_from([1.1, 2.0]))
@settings(max_examples=200)
def test_spanners_span_with_the_certified_factor(seed, dim, count, factor):
    rng = np.random.default_rng(seed)
    arms = rng.standard_normal((count, dim)) * 10.0 ** rng.uniform(-3, 0, dim)
    if rng.random() < 0.3:  # fewer dimensions than there seem to be
        arms = np.outer(rng.standard_normal(count), rng.standard_normal(dim))
    chosen = np.empty(count, np.int64)
    rank, largest = spanning(arms, np.ones(count, np.bool_), factor, chosen)
    chosen = chosen[:rank]
    assert largest <= factor * (1 + 1e-9)
    assert len(set(chosen)) == len(chosen) == np.linalg.matrix_rank(arms, tol=1e-8 * np.abs(arms).max())
    coefficients = np.linalg.lstsq(arms[chosen].T, arms.T, rcond=None)[0]
    assert np.allclose(arms[chosen].T @ coefficients, arms.T, atol=1e-7)
    assert np.abs(coefficients).max() <= factor * (1 + 1e-5)


def test_a_spanner_of_nothing_is_empty():
    assert spanning(np.zeros((3, 2)), np.ones(3, np.bool_), 2.0, np.empty(3, np.int64)) == (0, 0.0)


def test_inverse_gap_weights():
    arms, theta = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), np.array([0.8, 0.2])
    weights, gamma = square_cb.propensities(arms, theta, 4.0), 4.0 * math.sqrt(3)
    assert weights[1] == pytest.approx(1 / (3 + gamma * 0.6)) and weights[2] == pytest.approx(1 / (3 + gamma * 0.3))
    assert weights.sum() == pytest.approx(1.0)
    draws = square_cb.choose_many(np.random.default_rng(0), np.repeat(arms[None], 20_000, axis=0), theta, 4.0)
    assert np.allclose(np.bincount(draws, minlength=3) / 20_000, weights, atol=0.02)  # more than five standard errors


@pytest.mark.parametrize("link", [links.identity, links.logistic], ids=lambda link: link.name)
@pytest.mark.parametrize("kind", [GRAM, GRADIENT, CLOSING])
def test_a_statement_is_the_contribution_of_one_row(link, kind):
    rng, each = np.random.default_rng(3), contribution(link, dim=3, radius=2.0)
    state = build(LocalReweighted, link=link.name, rewards=(0.0, 1.0), radius=2.0).server._state
    for _ in range(20):
        matrix = positive_definite(rng, 3, 20.0)
        point = rng.standard_normal(3) if link.bounded or kind == GRADIENT else np.zeros(3)
        state.matrix[:], state.half[:], state.point[:] = matrix, root(matrix), point
        x, r = person(rng, 3), rng.random()
        expected = {
            GRAM: lambda x=x, m=matrix: each.gram(x[None], m),
            GRADIENT: lambda x=x, r=r, m=matrix, p=point: each.gradient(x[None], np.array([r]), m, p),
            CLOSING: lambda x=x, r=r, m=matrix, p=point: each.closing(x[None], np.array([r]), m, p),
        }[kind]()
        far = each.gram_sensitivity, each.gradient_sensitivity, each.closing_sensitivity
        asked = SumQuery(STAGES[kind], matrix, root(matrix), point, each.radius, each.scale, each.outer_scale)
        assert np.allclose(said(x, r, asked, link.name), expected / far[kind])
        within = apart(asked, link.name)
        assert within[1] == pytest.approx(far[kind] / (each.tightness(matrix) if kind == CLOSING else 1.0))
        state.stage[:] = kind, expected.size, within[1], each.scale, each.outer_scale
        out = np.empty(expected.size)
        statement(x, r, link.code, 2.0, state, out)
        assert np.allclose(out, expected / far[kind])
        tiny = np.array([2.23e-162, 1.57e-162, 1.57e-162])  # a computed norm of numbers so small is too short
        statement(tiny, r, link.code, 2.0, state, out)
        assert not out.any() and not said(tiny, r, asked, link.name).any()


def test_one_user_moves_the_iterate_by_at_most_the_bound_even_if_late():
    """Random users; one is replaced, or its reward comes at another time: 2 (R + 1) eta."""
    rng = np.random.default_rng(4)
    clip, bound = 1.0, 2 * 2.0
    for step in (0.1, 2.0):
        for _ in range(200):
            users = [(person(rng, 3), rng.choice([-1.0, 1.0])) for _ in range(12)]
            others, place = list(users), rng.integers(12)
            if rng.random() < 0.5:
                others[place] = (person(rng, 3), rng.choice([-1.0, 1.0]))
            else:
                others.insert(rng.integers(11), others.pop(place))
            ends = []
            for each in (users, others):
                theta = np.zeros(3)
                for x, r in each:
                    gradient_step(x, r, step, clip, theta)
                ends.append(theta)
            assert np.linalg.norm(ends[0] - ends[1]) <= bound * step * (1 + 1e-9)
    ends = []
    for angle, r in ((-math.pi / 6, -1.0), (math.pi / 6, 1.0)):
        theta = np.array([0.0, -0.99])
        gradient_step(np.array([math.cos(angle), math.sin(angle)]), r, 1e-3, 1.0, theta)
        ends.append(theta)
    apart = np.linalg.norm(ends[0] - ends[1]) / 1e-3
    assert 0.6 * bound <= apart <= gradient_apart(1.0)  # replaced in place; the rest of the bound is for late rewards


@pytest.mark.parametrize("kind", KINDS)
def test_the_certificate_spends_the_budget(kind):
    bandit = build(kind)
    certificate = bandit.privacy
    assert certificate.epsilon == pytest.approx(4.0, rel=1e-4) and certificate.epsilon <= 4 * (1 + 1e-6)
    assert certificate.model == ("joint" if "Joint" in kind.__name__ else "local")
    assert certificate.spent == 0.0
    block = environments.ball(dim=3, arms=4).block(300)
    environments.ball(dim=3, arms=4).start(np.random.default_rng(0), 300).fill(block)
    bandit.play(block)
    assert closed(bandit) >= 2 and bandit.privacy.spent == pytest.approx(4.0, rel=1e-4)
    assert build(kind, budget=Budget(math.inf, 0.1)).privacy.epsilon is None


@pytest.mark.parametrize("kind", [JointReweighted, JointSquareCB])
def test_a_saved_bandit_goes_on_bit_by_bit(kind, tmp_path):
    storage.test_a_loaded_bandit_goes_on_bit_by_bit(build(kind, first=30), tmp_path)


@pytest.mark.parametrize("kind", [LocalReweighted, LocalSquareCB])
def test_a_saved_server_goes_on_bit_by_bit(kind, tmp_path):
    bandit = build(kind)
    storage.play(bandit, np.random.default_rng(6), 90)
    bandit.server.save(tmp_path / "server.json")
    again = Embedded(kind.load(tmp_path / "server.json"), pending=30)
    again._state.counts[:] = bandit._state.counts
    assert storage.play(bandit, np.random.default_rng(7), 120) == storage.play(again, np.random.default_rng(7), 120)
    assert all(map(np.array_equal, arrays(bandit._state), arrays(again._state)))


@pytest.mark.parametrize(
    "wrong", [{"horizon": None}, {"first": 0}, {"radius": 0.0}, {"rewards": (1.0, 0.0)}, {"link": "magic"}, {"dim": 0}]
)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_settings(kind, wrong):
    raised(ValueError, build, kind, **wrong).match("Expected")
    raised(ValueError, build, JointSquareCB, link="logistic").match("Expected")
    raised(ValueError, build, JointReweighted, factor=1.0).match("factor above 1")


def test_epochs_double_and_a_short_horizon_has_one():
    assert list(epochs.ends(10, 75))[:-1] == [10, 30, 70]
    bandit = build(JointSquareCB, horizon=200, first=10)
    assert [bandit._length(k) for k in range(3)] == [10, 20, 40]
    for kind in KINDS:
        bandit = build(kind, horizon=20, first=60)
        for _ in range(20):
            bandit.observe(bandit.choose(np.eye(3)), 1.0)
        assert closed(bandit) == 0


def test_elimination_keeps_the_best_arm_and_learns():
    """One run at a fixed seed: regret far below uniform play's, and intervals of every epoch hold the truth."""
    world = environments.ball(dim=3, arms=10)
    specs = [Spec(JointReweighted, budget=Budget(1.0, 1e-5)), Spec(Uniform)]
    result = simulate(specs, world, horizon=40_000, runs=1, seed=3)
    ours, uniform = (row["regret_mean"] for row in result.rows)
    assert ours < 0.3 * uniform
    bandit = Spec(JointReweighted, budget=Budget(1.0, 1e-5)).build(world, 40_000, np.random.SeedSequence(1))
    started, block = world.start(np.random.default_rng(9), 40_000), world.block(40_000)
    started.fill(block)
    bandit.play(block)
    arms = block.arms[:200].reshape(-1, 3)
    for middle, half in bandit.intervals(arms):
        assert np.mean(np.abs(middle - arms @ started.theta) <= half) > 0.97


def test_many_dimensions_without_a_matrix():
    """A d x d matrix would have 200 MB at d = 5000."""
    rng = np.random.default_rng(7)
    for kind in (JointSquareCB, LocalSquareCB):
        tracemalloc.start()
        bandit = build(kind, dim=5000, pending=2)
        for _ in range(130):
            arms = rng.standard_normal((3, 5000)) / 100
            bandit.observe(bandit.choose(arms), 1.0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert closed(bandit) and peak < 20e6


class Fixed(Queries):
    """Keeps what it is given to release, and hands on what a script says: the same in two worlds, as in the proof."""

    def release(self, number, total, count, source):
        self.source_log.append((number, total.copy()))
        rng = np.random.default_rng(len(self.source_log))
        return rng.standard_normal(total.size) * 0.3 + np.resize([1.0, 0.0], total.size) * 0.3


class Logged(JointReweighted):
    def _regressor(self):
        regressor, log = super()._regressor(), self.__dict__.setdefault("log", [])
        ask = regressor._queries

        def asked(dim, count):
            out = Fixed(**{f.name: getattr(ask(dim, count), f.name) for f in dataclasses.fields(Queries)})
            object.__setattr__(out, "source_log", log)
            return out

        regressor.plan = asked
        return regressor


def cost(link, crowd, delays, place, worlds):
    """mu^2 spent on one user over all releases. `worlds`: arm, reward, how many choices late (None: never)."""
    logs = []
    for x, r, delay in worlds:
        bandit = build(Logged, dim=2, horizon=200, first=10, link=link, rewards=(0.0, 1.0), pending=200)
        due = {}
        for t, ((arm, reward), late) in enumerate(zip(crowd, delays, strict=True)):
            if t == place:
                arm, reward, late = x, r, delay
            choice = bandit.choose(arm[None])
            if late is not None:
                due.setdefault(t + late, []).append((choice, reward))
            for each in due.pop(t, []):
                bandit.observe(*each)
        assert bandit.closed == 3
        logs.append((bandit.log, [bandit._asked.sigma(k) for k in range(len(bandit._asked.queries))]))
    (one, sigmas), (two, _) = logs
    assert [k for k, _ in one] == [k for k, _ in two] and len(one) == 3 * len(sigmas)
    return sum(float(np.sum((a - b) ** 2)) / sigmas[k] ** 2 for (k, a), (_, b) in zip(one, two, strict=True))


@given(st.integers(0, 10**6), st.sampled_from(["identity", "logistic"]))
@settings(max_examples=40, deadline=None)
def test_a_reward_that_comes_late_or_never_is_covered(seed, link):
    """Others' rewards come late too, so that epochs get more rows than they have choices."""
    rng = np.random.default_rng(seed)
    crowd = [(person(rng, 2), float(rng.integers(2))) for _ in range(75)]
    delays = [10 if t < 10 else 0 for t in range(75)]
    if seed % 2:  # alike, so that one who is pushed out by another shows
        crowd = [(np.array([1.0, 0.0]), 1.0)] * 75
    for t in rng.integers(0, 75, rng.integers(10)):
        delays[t] = rng.choice([0, 10, 40, None])
    place, worlds = int(rng.integers(30)), []
    for _ in range(2):
        worlds.append((person(rng, 2), float(rng.integers(2)), rng.choice([0, 9, 25, None])))
    assert cost(link, crowd, delays, place, worlds) <= gaussian.mu(BUDGET) ** 2 * (1 + 1e-9)


def test_the_cost_of_a_late_reward_is_nearly_attained_and_full_epochs_are_not_cut():
    crowd = [(np.array([1.0, 0.0]), 1.0)] * 75
    delays = [10] * 10 + [0] * 65  # the second epoch (choices 11 to 30) gets the first one's rewards as well
    worlds = [(np.array([0.0, 1.0]), 1.0, 0), (np.array([0.0, 1.0]), 1.0, 25)]
    spent = cost("identity", crowd, delays, 10, worlds) / gaussian.mu(BUDGET) ** 2
    assert 0.5 <= spent <= 1 + 1e-9


def test_the_papers_schedule_is_a_simulation():
    """Its parts are slices of the order in which rewards come."""
    raised(NotSecure, build, JointReweighted, schedule="paper", source=Secure()).match("simulates the paper's schedule")
    caveats = build(JointReweighted, schedule="paper", first=400, horizon=2000).privacy.caveats
    assert any("only if every reward comes before the next choice" in each for each in caveats)
    assert not any("schedule" in each for each in build(JointReweighted).privacy.caveats)
    made = build(JointReweighted, schedule="paper", source=Secure(), budget=Budget(math.inf, 0.1))
    assert made.privacy.epsilon is None


@pytest.mark.parametrize("kind", [JointReweighted, JointSquareCB])
def test_more_people_than_secure_sums_have_room_for(kind):
    """The last release may hold all who came before it. dim=1 keeps the room for rows small."""
    first = 2**20
    settings = {"dim": 1, "horizon": 3 * first + 1, "first": first, "pending": 1}
    raised(NotSecure, build, kind, source=Secure(), **settings).match("at most 2097152 people")
    assert build(kind, **settings).choices == 0
    assert build(kind, source=Secure(), **settings | {"horizon": 3 * first}).choices == 0  # one release, of 2^20
