"""The analyzer with ShuffleGLM: each round is a batch of its own, also after a restart between rounds."""

import json

from numpy.random import default_rng

from devices_tests.service.roles import running
from devices_tests.service.roles.running import ask, until
from devices_tests.service.roles.test_whole import GLM
from reticent import Budget, Reward
from reticent_devices import Shuffler
from reticent_devices.servers.analyzer import AnalyzerRole
from reticent_papers import ShuffleGLM
from reticent_papers.shuffle.rounds import RoundsClient

BUDGET = Budget(1.0, 1e-2)
ANALYZER = """
[analyzer]
kind = "shuffle-glm"
features = 2
reward = {radius = 3.0}
horizon = 60
budget = {epsilon = 1.0, delta = 1e-2}
database = "analyzer.db"
options = {first = 60, iterations = 1, malicious = 0}
"""


def made():
    return ShuffleGLM(2, BUDGET, Reward(radius=3.0), horizon=120, first=60, iterations=2)


def test_rounds_are_taken_one_by_one_and_a_restart_goes_on(tmp_path):
    members, rng, path = [], default_rng(0), str(tmp_path / "analyzer.db")
    for number in range(6):
        role = AnalyzerRole(made(), path)  # a new process each time
        role.open()
        board = role.board().content
        shuffler = Shuffler(board, budget=BUDGET)
        assert (json.loads(board)["batch"], json.loads(board)["round"]) == (number, number % 3)
        if number % 3 == 0:
            devices = [RoundsClient(board, budget=BUDGET) for _ in range(60)]
            members = [(client, client.choose(rng.uniform(-0.7, 0.7, (3, 2)))) for client in devices]
            for client, choice in members:
                shuffler.add(client.randomize(choice, 1.0))
        else:
            for client, choice in members:
                shuffler.add(client.answer(choice, board))
        role.take(number, shuffler.close())
        role.take(number, shuffler.close())  # the same again changes nothing
        status = role.status()
        assert (status["batch"], status["users"], status["wanted"]) == (number + 1, 60 * (1 + number // 3), 60)
        assert status["over"] == (number == 5)
        role.close()
    assert status["spent"] <= 1 + 1e-6 and len(json.loads(role._stored.board.content)["thetas"]) == 2


def test_after_the_last_batch_nobody_reports_for_nothing(start):
    analyzer = start("analyzer", ANALYZER)
    shuffler = start("shuffler", running.shuffler(analyzer.port, budget="{epsilon = 1.0, delta = 1e-2}"))
    members, rng = [], default_rng(1)
    for number in range(2):
        until(lambda n=number: f'"batch":{n},"open":true'.encode() in ask(shuffler.port, "GET", "/status")[2])
        board = running.billboard(shuffler.port)
        if number == 0:
            clients = [RoundsClient(board, budget=BUDGET) for _ in range(60)]
            members = [(client, client.choose(rng.uniform(-0.7, 0.7, (3, 2)))) for client in clients]
            body = b"".join(client.randomize(choice, 1.0) for client, choice in members)
        else:
            body = b"".join(client.answer(choice, board) for client, choice in members)
        assert ask(shuffler.port, "POST", "/reports", body)[2] == b'{"taken":60}'
    until(lambda: ask(shuffler.port, "GET", "/billboard")[0] == 410)  # the analyzer has said that it is over
    for role in (analyzer, shuffler):
        status, headers, said = ask(role.port, "GET", "/billboard")
        assert status == 410 and b"no further batch is opened" in said and headers["access-control-allow-origin"] == "*"
        assert b"no further batch is opened" in ask(role.port, "GET", "/health")[2]
        assert b"no further batch is opened" in ask(role.port, "GET", "/dashboard")[2]
    assert ask(shuffler.port, "POST", "/reports", body)[0] == 410  # late
    shuffler.kill()
    again = start("shuffler", running.shuffler(analyzer.port, budget="{epsilon = 1.0, delta = 1e-2}"), shuffler.port)
    until(lambda: ask(again.port, "GET", "/billboard")[0] == 410)


def test_devices_answer_the_rounds_of_a_batch(start):
    rng, here = default_rng(0), made()
    analyzer = start("analyzer", GLM)
    shuffler = start("shuffler", running.shuffler(analyzer.port, budget="{epsilon = 1.0, delta = 1e-2}"))
    members = []
    for number in range(3):
        board = until(lambda: here.billboard() == running.billboard(shuffler.port) and here.billboard())
        if number == 0:
            for _ in range(60):
                client = RoundsClient(board, budget=BUDGET, rewards=(0.0, 1.0))
                members.append((client, client.choose(rng.uniform(-0.7, 0.7, (5, 2)))))
            sent = [client.randomize(choice, float(rng.random() < 0.5)) for client, choice in members]
        else:
            sent = [client.answer(choice, board) for client, choice in members]
        both = Shuffler(board, budget=BUDGET)
        both.add_many(b"".join(sent))
        here.observe(both.close())
        assert ask(shuffler.port, "POST", "/reports", b"".join(sent))[2] == b'{"taken":60}'
    assert until(lambda: running.billboard(analyzer.port) == here.billboard())
    assert b'"users":60,' in ask(analyzer.port, "GET", "/status")[2]
    assert b"People in them" in ask(analyzer.port, "GET", "/dashboard")[2]
