"""The analyzer with ShuffleGLM: each round is a batch of its own, also after a restart between rounds."""

import json

from numpy.random import default_rng

from tacit import Budget, ShuffleGLM, Shuffler
from tacit.roles.rounds import Client
from tacit.service.roles.analyzer import AnalyzerRole

BUDGET = Budget(1.0, 1e-2)


def made():
    return ShuffleGLM(dim=2, radius=3.0, horizon=120, first=60, iterations=2, budget=BUDGET)


def test_rounds_are_taken_one_by_one_and_a_restart_goes_on(tmp_path):
    members, rng, path = [], default_rng(0), str(tmp_path / "analyzer.db")
    for number in range(6):
        role = AnalyzerRole(made(), path)  # a new process each time
        role.open()
        board = role.board().content
        shuffler = Shuffler(board, budget=BUDGET)
        assert (json.loads(board)["batch"], json.loads(board)["round"]) == (number, number % 3)
        if number % 3 == 0:
            devices = [Client(board, budget=BUDGET) for _ in range(60)]
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
        last = json.loads(role.board().content)
        role.close()
    assert status["spent"] <= 1 + 1e-6 and len(last["thetas"]) == 2
