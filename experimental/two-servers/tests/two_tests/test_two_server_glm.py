"""Two aggregators: JointGLM's estimate with the noise of both, and a certificate that says against whom."""

import json
import math

import numpy as np
import pytest
from numpy.random import SeedSequence, default_rng

from core_tests.bandits.test_fused import stepwise
from core_tests.made import joint
from lab_tests.raising import raised
from reticent import Budget, Category, JointGLM, Number, Person, Schema, Simulated, Spec, environments, simulate
from reticent.errors import BadBillboard, BadReport, BadState, HorizonReached, NotSecure, WrongBatch
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.saving import arrays
from reticent.model import links
from reticent.privacy import gaussian, ledger
from reticent_devices import Embedded
from reticent_devices.bandits.server import named
from reticent_two import TwoServerClient, TwoServerGLM, lies
from reticent_two.roles import signed, wire
from reticent_two.roles.task import canonical
from reticent_two.shares import split

BUDGET, ARMS = Budget(1.0, 1e-6), np.array([[0.8, 0.1], [0.1, 0.8], [-0.5, 0.5]])


def server(**options):
    """By settings of one name each."""
    return named(TwoServerGLM, **{"features": 2, "budget": BUDGET, "first": 8} | options)


def client(made, board=None, **options):
    """A device of a server whose aggregators are in this process; at another board, which they sign."""
    text = made.billboard() if board is None else made._own.signed(made.task, canonical(board))
    return TwoServerClient(text, identities=made._own.identities, **options)


def board_of(made):
    return json.loads(signed.split(made.billboard()).board)


def test_the_noise_is_that_of_both_and_the_estimate_knows_it():
    made = server(helper_budget=Budget(4.0, 1e-6), first=None)
    leader, helper = (grid.sigma for grid in made.task.grids)
    curator = made._curator
    assert curator.mechanism.sigma == math.hypot(leader, helper) and type(curator.mechanism) is Grid
    assert curator.one_pass.course.std(1) == pytest.approx(math.hypot(leader, helper) * curator.one_pass.gains[1])
    one = joint(features=2, budget=BUDGET)
    assert helper == pytest.approx(one.plan.mechanism.sigma, rel=0.01)  # cells of 12 bits cost less
    assert helper / leader == pytest.approx(gaussian.mu(Budget(4.0, 1e-6)) / gaussian.mu(BUDGET), rel=1e-6)
    assert made.first > one.plan.schedule.first  # a step says more than its noise
    simulated = server(source=Simulated(0), helper_budget=Budget(4.0, 1e-6))._curator
    assert simulated.mechanism.sigma == pytest.approx(curator.mechanism.sigma, rel=0.01)


def test_the_certificate_says_against_whom():
    made = server(helper_budget=Budget(4.0, 1e-5))
    told = made.privacy
    assert told.model == "two-server" and told.private and told.epsilon == pytest.approx(1.0, rel=1e-6)
    operator, helper = made.against["the operator"], made.against["the helper"]
    assert operator == (told.epsilon, 1e-6) and helper == (pytest.approx(4.0, rel=1e-6), 1e-5)
    for release, (epsilon, delta) in zip(told.releases, (operator, helper), strict=True):
        assert ledger.epsilon_of([release], delta) == epsilon
        assert release.sigma in [grid.sigma for grid in made.task.grids]  # never that of both
    text = " ".join(str(told).split())
    both = "If the operator and the helper work together, or somebody takes what both have stored, nothing"
    assert text.index("Take somebody") < text.index(both) < text.index("claim (1, 1e-06)")  # in the promise itself
    assert "Against the helper the claim is (4, 1e-05)" in text
    assert "helper sees is right at most 98.3" in text and "not been reviewed by anybody outside" in text
    assert "an operator who changes the page reads" in text and "of the last 668 steps" in text
    assert not server(source=Simulated(0)).privacy.private


@pytest.mark.parametrize(("curvature", "forget"), [("released", None), ("none", None), ("released", 500.0)])
def test_step_by_step_is_the_compiled_loop(curvature, forget):
    """Devices that choose by the billboard, and the loop."""
    world = environments.ball(dim=3, arms=6, radius=2.0, link="logistic")
    spec = Spec(TwoServerGLM, budget=Budget(4.0, 0.01), first=20, curvature=curvature, forget=forget)
    one, two = (spec.build(world, 300, SeedSequence(1)) for _ in range(2))
    fill, block = world.start(default_rng(2), 300).fill, world.block(100)
    for _ in range(3):
        fill(block)
        one.play(block)
        index, rewards, _ = stepwise(two, block)
        assert np.array_equal(block.index, index) and np.array_equal(block.reward, rewards)
    for a, b in zip(arrays(one.server._state)[1:], arrays(two.server._state)[1:], strict=True):  # but users so far
        assert np.array_equal(a, b)
    assert one.server.version == two.server.version > 5


def test_regret_is_that_of_a_curator_with_the_noise_of_both():
    """At mu / sqrt 2. The same seeds, so that what differs is the rounding of `first`; 12 runs of 2000 rounds."""
    mu = gaussian.mu(BUDGET) / math.sqrt(2)
    weaker = Budget(gaussian.epsilon(mu, 1e-6), 1e-6)
    world = environments.ball(dim=3, arms=10, radius=2.0, link="logistic")
    specs = [Spec(TwoServerGLM, budget=BUDGET), Spec(JointGLM, budget=weaker), Spec(JointGLM, budget=BUDGET)]
    rows = simulate(specs, world, horizon=2000, runs=12, seed=7).rows
    two, both, one = (row["regret_mean"] for row in rows)
    assert abs(two / both - 1) < 0.05 and one < two


def test_the_task_is_bound_into_what_is_released():
    made = server(horizon=40, first=8)
    pair, device = made.transit(), made.device()
    for reward in (0.0, 1.0, None):
        pair.add(device.randomize(device.choose(ARMS), reward))
    report = device.randomize(device.choose(ARMS), 1.0)
    pair.add(report)
    raised(BadReport, pair.add, report).match("new report")
    raised(WrongBatch, pair.add, server().device().report(ARMS[0], 1.0)).match("this task")
    leaves = pair.close()
    for wrong in (leaves[1:], leaves[len(leaves) // 2 :] + leaves[: len(leaves) // 2], bytes(32) + leaves[32:]):
        raised(BadReport, made.observe, wrong).match("leaf")
    assert made.users == made.version == 0
    made.observe(leaves)
    assert made.users == 4 and made.version == 1
    raised(WrongBatch, made.observe, leaves).match("next step")
    while not made.over:
        made.observe(pair.close())
    with pytest.raises(HorizonReached):
        made.observe(pair.close())


def test_rewards_that_never_come_are_reports_of_zeros():
    bandit = Embedded(server(), pending=100)
    for _ in range(8):
        last = bandit.choose(ARMS)
    bandit.choose(ARMS)
    assert bandit.server.version == 1 and bandit.server.users == 8 and list(bandit.server._window[:2]) == [8, 0]
    with pytest.raises(Exception, match="Expected"):  # too late: its step has closed
        bandit.observe(last, 1.0)


def test_what_is_forgotten_is_kept_for_fewer_steps():
    """The task says how steps close and fade; both servers keep their shares of as many steps as that needs."""
    made = server(forget=5000.0)
    task = signed.task(made.task.text)
    assert task == made.task and task.steps.longest == 250 and task.steps.discount == math.exp(-0.05)
    assert task.grids[0].window < 200 < server().task.grids[0].window
    assert "longest" not in server().task.document["steps"]
    assert made._curator.mechanism.fading == task.steps.discount
    alone = joint(features=2, budget=BUDGET, forget=5000.0, first=8)
    assert made._curator.schedule == alone.plan.schedule
    bandit = Embedded(server(forget=100.0, budget=Budget(4.0, 0.01)))
    for _ in range(33):
        bandit.observe(bandit.choose(ARMS), 1.0)
    assert bandit.server.version == 4 and np.isfinite(bandit.server.theta).all()


def test_devices_make_vectors_of_fields():
    """With the application's own schema, whose digest is in the task."""
    context = {"hour": Number(0, 24, bins=3), "plan": Category("free", "pro")}
    schema = Schema(context=context, arms="disjoint", actions=("a", "b"))
    made = TwoServerGLM(schema, BUDGET, first=4)
    bandit = Embedded(made)
    for _ in range(5):
        choice = bandit.choose({"hour": 3, "plan": "pro"})
        bandit.observe(choice, 1.0)
    assert choice.name in ("a", "b") and made.version == 1 and made.task.features == schema.digest
    raised(BadBillboard, client, server(), features=schema).match("application's features")


def test_what_does_not_fit_is_refused():
    raised(ValueError, server, helper_budget=Budget(1.0, 0.0)).match("delta above 0")
    raised(ValueError, server, helper_budget=1.0).match("Expected budget to be a Budget")
    raised(ValueError, server, curvature="fields").match("Expected curvature")
    raised(ValueError, server, forget=20).match("forget of at least")
    raised(NotSecure, server, budget=Budget(math.inf, 1e-6)).match("finite epsilon")
    raised(NotSecure, server, budget=Budget(1e-9, 1e-12), curvature="none").match("room")
    for own in ("budget", "helper_budget"):
        raised(ValueError, server, **{own: Budget(1.0, 1e-6, Person(3))}).match("Expected a budget for one round")
    for name in ("window", "base_rate", "warm_start", "model"):
        raised(TypeError, server, **{name: 2}).match(name)
    with pytest.raises(BadState, match="new server"):
        Embedded(server(commitments=("0" * 64, "1" * 64), identities=("2" * 64, "3" * 64)))
    raised(ValueError, server, commitments=("0" * 64, "1" * 64)).match("or neither")


def test_it_is_saved_with_its_era(tmp_path):
    bandit = Embedded(server())
    for reward in [1.0, 0.0] * 9:
        bandit.observe(bandit.choose(ARMS), reward)
    made = bandit.server
    made.save(tmp_path / "server.json")
    again = TwoServerGLM.load(tmp_path / "server.json")
    assert again.version == made.version == 2 and again.era == made.era and np.array_equal(again.theta, made.theta)
    raised(BadState, Embedded, again).match("new server")


def test_a_device_checks_the_board_and_its_claims():
    made = server(helper_budget=Budget(4.0, 1e-6))
    assert client(made).cost == Budget(4.0, 1e-6)
    raised(BadBillboard, client, made, budget=BUDGET).match("at most 1 .* got a billboard with 4")
    raised(BadBillboard, client, made, rewards=(0.0, 2.0)).match("rewards")
    raised(ValueError, TwoServerClient, made.billboard()).match("identities")
    with pytest.raises(BadBillboard, match="identity"):
        TwoServerClient(server(source=Simulated(0)).billboard(), identities=made._own.identities)
    document = board_of(made)
    changes = [{"theta": [0.0]}, {"spread": [-1.0, 0.0]}, {"theta": [1e300, 0.0]}, {"more": 1}, {"task": None}]
    dates = [{"expires": document["made"] + days * 86400} for days in (0, 32)]
    for change in (*changes, {"task": "00" * 32}, *dates):
        raised(BadBillboard, client, made, document | change).match("Expected")


def test_reports_have_one_length_whatever_they_hold():
    """A board whose numbers are as large as they may be gives contributions that are no numbers: zeros are sent."""
    made = server()
    board = board_of(made)
    hostile = board | {"at": [1e12, -1e12], "inverse": [[-1e12, 1e12], [1e12, -1e12]]}
    lengths, pair = set(), made.transit()
    for document in (board, hostile):
        device = client(made, document)
        for reward in (0.0, 1.0, None, math.nan, 10**400, -5.0):
            report = device.randomize(device.choose(ARMS), reward)
            lengths.add(len(report))
            pair.add(report)  # every one of them passes
    assert lengths == {wire.length(made.task)} and pair.reports == 12
    for number, wrong in enumerate((math.nan, math.inf, 9.0, 1.2)):
        nonce = bytes([number]) * 16
        parts = split(made.task.prio3, made.task.grids[0].cell, np.array([wrong, 0.0, 0.0, 0.0, wrong]), nonce)
        pair.add(wire.packed(made.task, nonce, parts, device._keys))
    assert pair.reports == 16


@pytest.mark.parametrize("curvature", ["released", "none"])
@pytest.mark.parametrize("link", links.NAMES)
def test_no_board_makes_a_device_fail(link, curvature):
    """Extreme boards, arms and rewards: reports of one length, of contributions that are no longer than they may be."""
    made, rng = server(link=link, curvature=curvature, range=(-1e11, 1e11)), default_rng(0)
    board = board_of(made) | {"random": False}

    def some(*shape):
        return rng.choice([0.0, 1e12, -1e12, 1e-300, 1.0, -3.0], size=shape)

    for number in range(60):
        board |= {"theta": some(2).tolist(), "at": some(2).tolist(), "spread": abs(some(1)).tolist()}
        if curvature == "released":
            board |= {name: some(2, 2).tolist() for name in ("inverse", "axes")} | {"spread": abs(some(2)).tolist()}
        device = client(made, board)
        arms = rng.uniform(-0.7, 0.7, (3, 2)) * rng.choice([1e-300, 1e-9, 1.0], size=(3, 1))
        choice, reward = device.choose(arms), float(rng.choice([0.0, 1e11, -1e308, 1e-320, math.nan]))
        vector = device.contribution(choice.features, 0.0 if math.isnan(reward) else max(reward, -1e11))
        assert np.linalg.norm(vector) <= made.task.norm * (1 + 1e-9), number
        assert len(device.randomize(choice, reward)) == wire.length(made.task)


def test_the_longest_lies_do_no_more_than_false_data():
    """5 % of people. Seeded: it comes out the same each time. What they cost: docs/two-servers.md."""
    world = lies.WORLDS["ball, d = 5, radius 3"]
    honest, false, longest = (
        lies.regret(world, share, longest=kind, start=4000, seed=0)
        for share, kind in ((0.0, False), (0.05, False), (0.05, True))
    )
    assert honest < false < 0.02 and longest < 1.25 * false


def test_a_choice_made_again_has_its_nonce_and_other_shares():
    made, id = server(), bytes(range(16))
    one, other = (client(made) for _ in range(2))
    first, again = (wire.unpacked(made.task, device.report(ARMS[0], 1.0, id)) for device in (one, other))
    assert first.nonce == again.nonce == id and first.leader != again.leader and first.helper != again.helper
    drawn = [wire.unpacked(made.task, one.randomize(one.choose(ARMS), 1.0)).nonce for _ in range(2)]
    assert drawn[0] != drawn[1]
    raised(ValueError, one.report, ARMS[0], 1.0, bytes(8)).match("16 bytes")


def test_contributions_are_the_curators():
    """Rounded to cells, in every number; they fit the circuit with room for nothing more than rounding."""
    for curvature in ("released", "none"):
        made = server(features=4, radius=3.0, curvature=curvature)
        device, rng, task = made.device(), default_rng(1), made.task
        for _ in range(50):
            x, reward = rng.standard_normal(4), float(rng.random())
            x /= np.linalg.norm(x)
            out, adder = np.zeros(task.size), made._curator.one_pass.adder(made._curator.present)
            adder.add(x[None], np.array([reward]), 0.0, 0.0, out)
            assert np.allclose(device.contribution(x, reward), out, rtol=1e-12, atol=1e-15)
            assert np.linalg.norm(out) <= task.norm * (1 + 1e-12)
        cells = task.norm / task.grids[0].cell + math.sqrt(task.size) / 2
        assert cells <= math.isqrt(task.circuit.longest) < cells + 1.001 and cells <= 2047
