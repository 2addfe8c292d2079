"""ShuffleGLM by devices, shufflers and server, in its rounds: what is sent, what is refused, what it costs."""

import json
import math
import pickle

import numpy as np
import pytest
from numpy.random import default_rng

from tacit import Budget, Embedded, ShuffleGLM, Shuffler, Simulated
from tacit.bandits.shuffle import glm_kernel
from tacit.errors import BadBillboard, BatchTooSmall, HorizonReached, LateReport, WrongBatch
from tacit.mechanisms.shuffle import sums_kernel
from tacit.mechanisms.shuffle.encoding import reach
from tacit.privacy import entropy
from tacit.privacy.randomness import Seeded
from tacit.roles import billboard as boards
from tacit.roles import limits
from tacit.roles.rounds import Client
from tests.roles.boards import Stream, behaviour, people

BUDGET, FINE = Budget(1.0, 1e-2), Budget(1.0, 1e-6)
THETA = np.array([2.0, 1.0])


def server(**options):
    return ShuffleGLM(
        **({"dim": 2, "radius": 3.0, "horizon": 180, "first": 60, "iterations": 3, "budget": BUDGET} | options)
    )


def person(client, rng):
    """A device that has chosen and got a reward."""
    choice = client.choose(rng.uniform(-0.7, 0.7, (5, 2)))
    return choice, float(rng.random() < 1 / (1 + math.exp(-float(choice._x @ THETA))))


def enrolled(made, count, rng, **options):
    """Devices that have sent their first report, and the shuffler that has it."""
    board = made.billboard()
    shuffler, members = Shuffler(board, budget=made.budget), []
    for _ in range(count):
        client = Client(board, budget=made.budget, rewards=(0.0, 1.0), **options)
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


def play(devices, iterations):
    """One batch of so many devices at (1, 1e-6), and what it teaches."""
    made = server(horizon=2 * devices, first=devices, iterations=iterations, budget=FINE)
    batch(made, devices, default_rng(0))
    assert (made.users, made.version) == (devices, 1 + iterations)
    assert made.privacy.private and 0.99 < made.privacy.spent <= made.privacy.epsilon <= 1 + 1e-6
    cosine = made.theta @ THETA / np.linalg.norm(made.theta) / np.linalg.norm(THETA)
    assert cosine > 0.8  # the sum of gradients is ten times its noise: more than five standard errors
    return made


def test_two_thousand_devices_teach_a_batch():
    made = play(2000, 2)
    assert json.loads(made.billboard())["thetas"] == [made.theta.tolist()]
    assert [release.rounds for release in made.privacy.releases] == [1, 2]


@pytest.mark.full
def test_two_thousand_devices_in_all_rounds():
    play(2000, 30)


def test_a_server_plays_to_its_horizon_and_is_saved_between_rounds(tmp_path):
    made, rng = server(horizon=120), default_rng(1)
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


# the simulation is the protocol


class Recorded(Seeded):
    """A device's noise, kept: its uniform numbers, and its coins."""

    def __init__(self, seed):
        super().__init__(default_rng(seed))
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
    made, twin, rng = server(), server(source=Simulated(0), policy=default_rng(0)), default_rng(3)
    monkeypatch.setattr(
        sums_kernel, "coins", lambda tape, trials, chance: float(tape.heads.pop(0)) - float(trials) * chance
    )
    monkeypatch.setattr(glm_kernel, "with_coins", sums_kernel.with_coins.py_func)
    for _ in range(3):
        device, noise = Client(made.billboard(), noise=Recorded(0)), None
        users = [person(device, rng) for _ in range(60)]
        rows, values = np.array([choice._x for choice, _ in users]), np.array([reward for _, reward in users])
        for number in range(4):
            board, noise = made.billboard(), Recorded([4, made.version])
            device._noise, shuffler = noise, Shuffler(board)
            for x, reward in zip(rows, values, strict=True):
                shuffler.add(device.respond(x, float(reward), *boards.rounds(board)))
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
    bandit, rng = Embedded(server(horizon=120)), default_rng(5)
    for t in range(120):
        choice = bandit.choose(rng.uniform(-0.7, 0.7, (4, 2)))
        if t % 3:  # the others' rewards never come: they send coins alone
            bandit.observe(choice, float(t % 2))
        assert 0 < choice.propensity <= 1
    assert bandit.server.users == 60 and bandit.server.version == 4  # the last batch closes with the next choice
    assert bandit.privacy.private


# one answer to each question


@pytest.fixture(scope="module")
def second():
    """A server in round 1 of its first batch, and two of its devices."""
    made = server()
    members, shuffler = enrolled(made, 60, default_rng(7))
    made.observe(shuffler.close())
    return made, members[:2]


def changed(board, **values):
    return json.dumps(json.loads(board) | values, sort_keys=True).encode()


def test_a_round_is_answered_once_and_a_retry_is_the_same_bytes(second):
    made, [(client, choice), (other, another)] = second
    board = made.billboard()
    sent = client.answer(choice, board)
    assert client.answer(choice, board) == sent != other.answer(another, board)
    kept, copy = pickle.loads(pickle.dumps((client, choice)))  # a device that was restarted
    assert kept.answer(copy, board) == sent
    for question in (
        [0.1, 0.0],
        [1e6, -1e6],
        json.loads(board)["theta"][::-1] if any(json.loads(board)["theta"]) else [1, 1],
    ):
        with pytest.raises(BadBillboard, match="answered in round 1"):
            client.answer(choice, changed(board, theta=question))
    assert client.randomize(choice, 0.0) == choice._report[0]  # nor can the first be asked again


@pytest.mark.parametrize(
    "terms",
    [
        {"gradients": 4},
        {"gradients": 2},
        {"batch": 2},
        {"batch": 1, "round": 2},
        {"round": 2},
        {"rewards": [0.0, 2.0]},
        {"largest": 0.5},
        {"bandit": "Another"},
        {"link": "probit"},
        {"radius": 2.0},
        {"first": 0.0},
        {"features": "0" * 64},
    ],
    ids=str,
)
def test_other_terms_than_those_it_began_with_are_refused(second, terms):
    made, [(client, choice), _] = second
    with pytest.raises(BadBillboard, match="on its terms|a round of its batch"):
        client.answer(choice, changed(made.billboard(), **terms))


@pytest.mark.parametrize(
    "plan", [{"trials": 2047}, {"gradient": 1.0}, {"epsilon": 2.0}, {"minimum": 59}, {"delta": 0.1}]
)
def test_another_plan_is_refused(second, plan):
    made, [(client, choice), _] = second
    board = json.loads(made.billboard())
    with pytest.raises(BadBillboard, match="on its terms"):
        client.answer(choice, changed(made.billboard(), plan=board["plan"] | plan))


def test_no_more_rounds_than_it_agreed_to(second):
    made, [(client, choice), _] = second
    board = made.billboard()
    for number in (2, 3):
        client.answer(choice, changed(board, round=number, batch=number))
    for number in (4, 5, 100):
        with pytest.raises(BadBillboard, match="a round of its batch"):
            client.answer(choice, changed(board, round=number, batch=number))
    assert sum(isinstance(number, int) and number >= 0 for number in choice._kept) == 4


def test_a_choice_has_to_be_reported_first_and_by_the_same_device(second):
    made, [(client, choice), _] = second
    fresh = client.choose([[0.5, 0.1]])
    with pytest.raises(ValueError, match="has reported"):
        client.answer(fresh, made.billboard())
    with pytest.raises(ValueError, match="what choose returned"):
        client.answer("choice", made.billboard())
    with pytest.raises(BadBillboard, match="opens a batch"):
        Client(made.billboard())
    stranger = Client(server(radius=2.0).billboard())
    with pytest.raises(ValueError, match="has reported"):
        stranger.answer(choice, made.billboard())


# what a device works out


def test_a_device_works_out_what_all_rounds_cost():
    board = json.loads(server().billboard())

    def made(budget=None, top=None, **plan):
        return Client(json.dumps(board | (top or {}) | {"plan": board["plan"] | plan}).encode(), budget=budget)

    made(BUDGET)
    made(Budget(1.5, 0.02))
    for weaker in (
        {"trials": board["plan"]["trials"] // 2},
        {"minimum": 50},
        {"malicious": 9},
        {"gradient": 1.2 * board["plan"]["gradient"]},
        {"information": 1.2 * board["plan"]["information"]},
        {"epsilon": 0.95},
        {"delta": 0.008},
    ):
        with pytest.raises(BadBillboard, match="in all rounds"):
            made(**weaker)
    with pytest.raises(BadBillboard, match="in all rounds"):
        made(top={"gradients": 4})
    for own in (Budget(0.9, 1e-2), Budget(1.0, 1e-3), Budget(2.0, 1e-3)):
        with pytest.raises(BadBillboard, match="for all rounds"):
            made(own)
    for silent in ({"trials": 0}, {"epsilon": None}, {"malicious": 60}):
        with pytest.raises(BadBillboard, match="people's data"):
            made(**silent)
    with pytest.raises(ValueError, match="a Budget"):
        made(budget=1.0)


def test_a_shuffler_works_it_out_too():
    board = json.loads(server().billboard())

    def made(budget=BUDGET, minimum=None, **plan):
        return Shuffler(json.dumps(board | {"plan": board["plan"] | plan}).encode(), budget=budget, minimum=minimum)

    assert made().minimum == 60
    for weaker in ({"trials": 1024}, {"malicious": 9}, {"minimum": 50}, {"gradient": 1.2 * board["plan"]["gradient"]}):
        with pytest.raises(BadBillboard, match="epsilon at most 1"):
            made(**weaker)
        made(None, **weaker)
    for own, fewest in ((Budget(0.9, 1e-2), None), (BUDGET, 50)):
        with pytest.raises(BadBillboard, match="epsilon at most"):
            made(own, fewest)


def test_dropout_and_malicious_users_are_planned_for():
    made = server(dropout=0.2, malicious=0.1)
    board = json.loads(made.billboard())
    assert (board["plan"]["minimum"], board["plan"]["malicious"]) == (48, 6)
    members, shuffler = enrolled(made, 47, default_rng(8))
    with pytest.raises(BatchTooSmall):
        shuffler.close()
    client, choice = members[0]
    for _ in range(5):
        fresh = client.choose([[0.3, 0.2]])
        shuffler.add(client.randomize(fresh, None))
    made.observe(shuffler.close())
    assert made.users == 52 and made.privacy.private
    spent = [made.privacy.spent]
    with pytest.raises(BatchTooSmall):
        answered(made, members).close()  # 47 of them are too few for round 1
    fewer = Shuffler(made.billboard(), minimum=0)
    for each, kept in members:
        fewer.add(each.answer(kept, made.billboard()))
    with pytest.raises(BatchTooSmall):
        made.observe(fewer.close())
    assert [made.privacy.spent] == spent and choice is members[0][1]


def test_the_charge_grows_with_each_round_and_falls_with_more_reports():
    made = server()
    plan = made._plans[0]
    costs = [made._cost(plan, [60] * rounds) for rounds in (1, 2, 3, 4)]
    assert costs == sorted(costs) and 0.99 < costs[-1] <= 1 + 1e-6 < made._cost(plan, [60, 60, 60, 50])
    assert made._cost(plan, [90] * 4) == costs[-1]  # surplus reports count for nothing


def test_messages_of_other_rounds_are_refused(second):
    made, members = second
    late, [(client, choice), _] = members[0][1]._report[0], members
    shuffler = Shuffler(made.billboard())
    with pytest.raises(LateReport):
        shuffler.add(late)
    with pytest.raises(WrongBatch):
        shuffler.add(client.answer(choice, changed(made.billboard(), round=2, batch=2)))
    first, _ = enrolled(server(), 60, default_rng(9))[1], None
    version = made.version
    with pytest.raises(LateReport):
        made.observe(first.close())
    assert made.version == version


# nothing that a server asks makes data behave differently


@pytest.mark.parametrize("theta", [[0.0, 0.0], [1e12, -1e12], [1e-12, 0.0], [-3.0, 1e6]])
def test_later_rounds_treat_all_data_alike(theta, monkeypatch):
    board = server().billboard()
    client, stream = Client(board), Stream(1)
    monkeypatch.setattr(entropy, "octets", stream)
    question, shown = changed(board, round=1, batch=1, theta=theta), set()
    for arms, reward in people(2, (0.0, 1.0)):
        choice = client.choose(arms)
        client.randomize(choice, reward)
        stream.rewind()
        with np.errstate(all="raise"):
            report = client.answer(choice, question)
        shown.add((len(report), stream.drawn))
    assert len(shown) == 1
    assert len({behaviour(client, *datum, stream) for datum in people(2, (0.0, 1.0))}) == 1


@pytest.mark.parametrize("closed", [False, True])
def test_no_billboard_moves_a_contribution_beyond_what_is_calibrated(closed):
    """Random users and hostile estimates: the vectors of all rounds are no farther apart than limits.together has it,
    and come near it."""
    rng, most = default_rng(11), 0.0
    board = json.loads(server().billboard())
    if closed:
        board |= {"thetas": [[1.0, -2.0]], "inverses": [[0.01, 0.0], [0.0, 0.02]], "largest": 0.25}
    for _ in range(400):
        x, y = (v / np.linalg.norm(v) * rng.choice([1.0, 1.0, 0.5]) for v in rng.standard_normal((2, 2)))
        thetas = [rng.choice([1.0, 1e6]) * rng.choice([x - y, y - x, x, rng.standard_normal(2)]) for _ in range(3)]
        questions = [board] + [board | {"round": k + 1, "batch": k + 1, "theta": list(t)} for k, t in enumerate(thetas)]
        parsed = [boards.rounds(json.dumps(each).encode())[1] for each in questions]
        client = Client(json.dumps(board).encode(), noise=Seeded(default_rng(0)))
        users = [(x, float(rng.integers(2))), (y, float(rng.integers(2)))]
        moved = [client.contribution(*users[0], each) - client.contribution(*users[1], each) for each in parsed]
        parts = limits.together(parsed[0], 60)
        cells = [parsed[0]["grids"][k > 0] * np.linalg.norm(v) for k, v in enumerate(moved)]
        together = cells[0] ** 2 + sum(c**2 for c in cells[1:])
        bound = max(a**2 + parts[1].times * b**2 for a, b in zip(parts[0].widths, parts[1].widths, strict=True))
        most = max(most, together / bound)
        for vector, each in zip(moved, parsed, strict=True):
            assert np.linalg.norm(vector) <= 2 * each["plan"]["norm"] and each["plan"]["reach"] == reach(
                each["plan"]["grid"], each["plan"]["norm"]
            )
    assert (0.5 if closed else 0.9) < most <= 1 + 1e-9
