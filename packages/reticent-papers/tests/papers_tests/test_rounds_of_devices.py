"""ShuffleGLM by devices, shufflers and server, in its rounds: what is sent and learnt."""

import json
import math

import numpy as np
import pytest

from devices_tests.roles.boards import Stream, another, behaviour, people
from reticent import Budget, Simulated
from reticent.errors import BadBillboard, HorizonReached
from reticent.privacy import randomness
from reticent.privacy.randomness import Seeded
from reticent_devices import Embedded, Shuffler
from reticent_devices.bandits.server import named
from reticent_devices.mechanisms.shuffle.encoding import reach
from reticent_papers import ShuffleGLM
from reticent_papers.mechanisms import noisy_kernel
from reticent_papers.shuffle import glm_kernel
from reticent_papers.shuffle import round_boards as boards
from reticent_papers.shuffle.rounds import RoundsClient

BUDGET, FINE = Budget(1.0, 1e-2), Budget(1.0, 1e-6)
THETA = np.array([2.0, 1.0])


def server(**options):
    return named(
        ShuffleGLM,
        **({"features": 2, "radius": 3.0, "horizon": 180, "first": 60, "iterations": 3, "budget": BUDGET} | options),
    )


def person(client, rng):
    """A device that has chosen and got a reward."""
    choice = client.choose(rng.uniform(-0.7, 0.7, (5, 2)))
    return choice, float(rng.random() < 1 / (1 + math.exp(-float(choice.features @ THETA))))


def enrolled(made, count, rng, **options):
    """Devices that have sent their first report, and the shuffler that has it."""
    board = made.billboard()
    shuffler, members = Shuffler(board, budget=made.budget), []
    for _ in range(count):
        client = RoundsClient(board, budget=made.budget, rewards=(0.0, 1.0), **options)
        choice, reward = person(client, rng)
        shuffler.add(client.randomize(choice, reward))
        members.append((client, choice))
    return members, shuffler


def answered(made, members):
    """The next round."""
    board = made.billboard()
    shuffler = Shuffler(board, budget=made.budget)
    for client, choice in members:
        shuffler.add(client.answer(choice, board))
    return shuffler


def batch(made, count, rng):
    members, shuffler = enrolled(made, count, rng)
    made.observe(shuffler.close())
    while json.loads(made.billboard())["round"]:
        made.observe(answered(made, members).close())
    return members


def changed(board, **values):
    return json.dumps(json.loads(board) | values, sort_keys=True).encode()


@pytest.mark.parametrize("iterations", [2, pytest.param(30, marks=pytest.mark.full)])
def test_two_thousand_devices_teach_a_batch(iterations):
    made = server(horizon=4000, first=2000, iterations=iterations, budget=FINE)
    batch(made, 2000, np.random.default_rng(0))
    assert (made.users, made.version) == (2000, 1 + iterations)
    assert made.privacy.private and 0.99 < made.privacy.spent <= made.privacy.epsilon <= 1 + 1e-6
    cosine = made.theta @ THETA / np.linalg.norm(made.theta) / np.linalg.norm(THETA)
    assert cosine > 0.8  # the sum of gradients is ten times its noise: more than five standard errors
    assert json.loads(made.billboard())["thetas"] == [made.theta.tolist()]
    assert [release.rounds for release in made.privacy.releases] == [1, iterations]


def test_a_server_plays_to_its_horizon_and_is_saved_between_rounds(tmp_path):
    made, rng = server(horizon=120), np.random.default_rng(1)
    members = batch(made, 60, rng)
    with pytest.raises(BadBillboard, match="on its terms"):
        members[0][0].answer(members[0][1], made.billboard())  # of the next batch
    members, shuffler = enrolled(made, 60, rng)
    made.observe(shuffler.close())
    made.save(tmp_path / "server.json")
    made = ShuffleGLM.load(tmp_path / "server.json")
    while made.version < 8:
        made.observe(answered(made, members).close())
    assert made.users == 120 and made.privacy.private
    members, shuffler = enrolled(made, 60, rng)  # devices go on choosing by what was learnt
    with pytest.raises(HorizonReached, match="at most 120 users"):
        made.observe(shuffler.close())
    assert made.version == 8 and len(json.loads(made.billboard())["thetas"]) == 2


class Recorded(Seeded):
    """A device's noise, kept: its uniform numbers, and its coins."""

    def __init__(self, seed):
        super().__init__(np.random.default_rng(seed))
        self.uniform, self.heads = [], []

    def uniforms(self, count):
        self.uniform.append(super().uniforms(count))
        return self.uniform[-1]

    def halves(self, trials, count):
        self.heads.append(super().halves(trials, count))
        return self.heads[-1]


class Tape:
    """Instead of a generator: the uniform numbers of all devices, and the sum of their coins in each number."""

    def __init__(self, uniform, heads):
        self.uniform, self.heads = list(np.concatenate(uniform)), list(np.sum(heads, axis=0))

    def random(self):
        return self.uniform.pop(0)


def test_simulated_sums_are_those_of_devices_on_one_tape(monkeypatch):
    """The kernel draws the coins of all users at once. Given the devices' own roundings and the sum of their coins it
    makes the same numbers of them, bit by bit, in every round of three batches."""
    made, twin, rng = server(), server(source=Simulated(0), policy=np.random.default_rng(0)), np.random.default_rng(3)
    monkeypatch.setattr(noisy_kernel, "coins", lambda tape, of, p: float(tape.heads.pop(0)) - float(of) * p)
    monkeypatch.setattr(glm_kernel, "with_coins", noisy_kernel.with_coins.py_func)
    for _ in range(3):
        device, noise = RoundsClient(made.billboard(), noise=Recorded(0)), None
        users = [person(device, rng) for _ in range(60)]
        rows, values = np.array([choice.features for choice, _ in users]), np.array([reward for _, reward in users])
        for number in range(4):
            board, noise = made.billboard(), Recorded([4, made.version])
            device._noise, shuffler = noise, Shuffler(board)
            for x, reward in zip(rows, values, strict=True):
                shuffler.add(device.respond(x, float(reward), *boards.read(board)))
            made.observe(shuffler.close())
            tape, plan = Tape(noise.uniform, noise.heads), twin._plan
            where = twin._link.code, twin._widths, plan.sums
            if number == 0:
                released = glm_kernel.shuffled_information.py_func(tape, rows, 60, twin._state, *where)
            else:
                where = twin._link.code, twin._state.iterate, plan.sums
                released = glm_kernel.shuffled_gradient.py_func(tape, rows, values, 60, *where)
            assert not tape.uniform and not tape.heads
            glm_kernel.take_sum(released, 60, plan.fit, twin._state)
            for one, other in zip(made._state[:5], twin._state[:5], strict=True):
                assert np.array_equal(one, other)


def test_an_embedded_server_asks_devices_unless_it_is_simulated():
    """Both halves in one process, with secure noise: each batch is a shuffled sum for each round."""
    bandit, rng = Embedded(server(horizon=120)), np.random.default_rng(5)
    for t in range(120):
        choice = bandit.choose(rng.uniform(-0.7, 0.7, (4, 2)))
        if t % 3:  # the others' rewards never come: they send coins alone
            bandit.observe(choice, float(t % 2))
        assert 0 < choice.propensity <= 1
    assert bandit.server.users == 60 and bandit.server.version == 4  # the last batch closes with the next choice
    assert bandit.privacy.private


@pytest.mark.parametrize("theta", [[0.0, 0.0], [1e12, -1e12], [1e-12, 0.0], [-3.0, 1e6]])
def test_later_rounds_treat_all_data_alike(theta, monkeypatch):
    board = server().billboard()
    shared, stream = RoundsClient(board), Stream(1)
    monkeypatch.setattr(randomness, "octets", stream)
    question, shown = changed(board, round=1, batch=1, theta=theta), set()
    for arms, reward in people(2, (0.0, 1.0)):
        client = another(shared)
        choice = client.choose(arms)
        client.randomize(choice, reward)
        stream.rewind()
        with np.errstate(all="raise"):
            report = client.answer(choice, question)
        shown.add((len(report), stream.drawn))
    assert len(shown) == 1
    assert len({behaviour(shared, *datum, stream) for datum in people(2, (0.0, 1.0))}) == 1


@pytest.mark.parametrize("closed", [False, True])
def test_no_billboard_moves_a_contribution_beyond_what_is_calibrated(closed):
    """Random users and hostile estimates: all rounds together are no farther apart than limits.together, and nearly."""
    rng, most = np.random.default_rng(11), 0.0
    board = json.loads(server().billboard())
    if closed:
        board |= {"thetas": [[1.0, -2.0]], "inverses": [[0.01, 0.0], [0.0, 0.02]], "largest": 0.25}
    for _ in range(400):
        x, y = (v / np.linalg.norm(v) * rng.choice([1.0, 1.0, 0.5]) for v in rng.standard_normal((2, 2)))
        thetas = [rng.choice([1.0, 1e6]) * rng.choice([x - y, y - x, x, rng.standard_normal(2)]) for _ in range(3)]
        questions = [board] + [board | {"round": k + 1, "batch": k + 1, "theta": list(t)} for k, t in enumerate(thetas)]
        parsed = [boards.read(json.dumps(each).encode())[1] for each in questions]
        client = RoundsClient(json.dumps(board).encode(), noise=Seeded(np.random.default_rng(0)))
        users = [(x, float(rng.integers(2))), (y, float(rng.integers(2)))]
        moved = [client.contribution(*users[0], each) - client.contribution(*users[1], each) for each in parsed]
        parts = boards.together(parsed[0], 60)
        cells = [parsed[0]["grids"][k > 0] * np.linalg.norm(v) for k, v in enumerate(moved)]
        together = cells[0] ** 2 + sum(c**2 for c in cells[1:])
        bound = max(a**2 + parts[1].times * b**2 for a, b in zip(parts[0].widths, parts[1].widths, strict=True))
        most = max(most, together / bound)
        for vector, each in zip(moved, parsed, strict=True):
            assert np.linalg.norm(vector) <= 2 * each["plan"]["norm"] and each["plan"]["reach"] == reach(
                each["plan"]["grid"], each["plan"]["norm"]
            )
    assert (0.5 if closed else 0.9) < most <= 1 + 1e-9
