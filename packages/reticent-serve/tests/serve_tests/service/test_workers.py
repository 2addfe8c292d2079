"""Several servers on one PostgreSQL: none is special."""

import itertools
import json

import numpy as np

from serve_tests.service.servers import application, call, stored
from serve_tests.store.places import contribution, linear, settle, total


def test_two_servers_give_one_answer_and_count_once(on_postgres, tmp_path):
    one, two = (application(tmp_path, database=on_postgres.where, keys=str(on_postgres.keys)) for _ in range(2))
    try:
        same = [("choose", {"arms": np.eye(3).tolist(), "request": "same"})] * 16
        turns = itertools.cycle((one, two))
        replies = call(lambda *given: next(turns)(*given), *same, *same)
        assert {status for status, _, _ in replies} == {200} and len({body for _, _, body in replies}) == 1
        found = json.loads(replies[0][2])
        reports = [("reward", {"id": found["id"], "reward": 1.0})] * 4
        for app in (one, two):
            assert {status for status, _, _ in call(app, *reports)} == {200}
        # Each of them may have taken a number before it saw the other's answer: one of these is of no choice.
        assert 1 <= stored(one).choices == stored(two).choices <= 2
        settle(stored(one))
        assert stored(two).entered >= 1
        assert np.array_equal(total(stored(two)), contribution(linear(horizon=5000), np.eye(3)[found["index"]], 1.0))
    finally:
        one.close()
        two.close()
