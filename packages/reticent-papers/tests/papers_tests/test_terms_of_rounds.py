"""The terms of ShuffleGLM's rounds: what devices, shufflers and servers refuse, and what all rounds cost."""

import json
import pickle

import pytest
from numpy.random import default_rng

from lab_tests.raising import raised
from papers_tests.test_rounds_of_devices import BUDGET, answered, changed, enrolled, server
from reticent import Budget
from reticent.errors import BadBillboard, BatchTooSmall, LateReport, TooManyReports, WrongBatch
from reticent_devices import Shuffler
from reticent_devices.roles.device import REPORT
from reticent_papers.shuffle.rounds import RoundsClient


@pytest.fixture(scope="module")
def second():
    """A server in round 1 of its first batch, and two of its devices."""
    made = server()
    members, shuffler = enrolled(made, 60, default_rng(7))
    made.observe(shuffler.close())
    return made, members[:2]


def test_a_round_is_answered_once_and_a_retry_is_the_same_bytes(second):
    made, [(client, choice), (other, another)] = second
    board = made.billboard()
    sent = client.answer(choice, board)
    assert client.answer(choice, board) == sent != other.answer(another, board)
    kept, copy = pickle.loads(pickle.dumps((client, choice)))  # a device that was restarted
    assert kept.answer(copy, board) == sent
    theta = json.loads(board)["theta"]
    for question in ([0.1, 0.0], [1e6, -1e6], theta[::-1] if any(theta) else [1, 1]):
        raised(BadBillboard, client.answer, choice, changed(board, theta=question)).match("answered in round 1")
    assert client.randomize(choice, 0.0) == choice.made[REPORT]  # nor can the first be asked again


OTHERS = [{"gradients": 4}, {"gradients": 2}, {"batch": 2}, {"batch": 1, "round": 2}, {"round": 2}, {"radius": 2.0}]
OTHERS += [{"rewards": [0.0, 2.0]}, {"largest": 0.5}, {"bandit": "Another"}, {"link": "probit"}, {"first": 0.0}]


@pytest.mark.parametrize("terms", [*OTHERS, {"features": "0" * 64}], ids=str)
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
    client.answer(choice, board)
    for number in (2, 3):
        client.answer(choice, changed(board, round=number, batch=number))
    for number in (4, 5, 100):
        with pytest.raises(BadBillboard, match="a round of its batch"):
            client.answer(choice, changed(board, round=number, batch=number))
    assert sum(isinstance(number, int) and number >= 0 for number in choice.made) == 4


def test_a_choice_has_to_be_reported_first_and_by_the_same_device(second):
    made, [(client, choice), _] = second
    fresh = client.choose([[0.5, 0.1]])
    raised(ValueError, client.answer, fresh, made.billboard()).match("has reported")
    raised(ValueError, client.answer, "choice", made.billboard()).match("what choose returned")
    raised(BadBillboard, RoundsClient, made.billboard()).match("opens a batch")
    stranger = RoundsClient(server(radius=2.0).billboard())
    raised(ValueError, stranger.answer, choice, made.billboard()).match("has reported")


def test_a_device_works_out_what_all_rounds_cost():
    board = json.loads(server().billboard())

    def made(budget=None, top=None, **plan):
        return RoundsClient(json.dumps(board | (top or {}) | {"plan": board["plan"] | plan}).encode(), budget=budget)

    made(BUDGET)
    made(Budget(1.5, 0.02))
    half = {"trials": board["plan"]["trials"] // 2}
    longer = [{name: 1.2 * board["plan"][name]} for name in ("gradient", "information")]
    for weaker in (half, *longer, {"minimum": 50}, {"malicious": 9}, {"epsilon": 0.95}, {"delta": 0.008}):
        raised(BadBillboard, made, **weaker).match("coins that give the claimed epsilon")
    raised(BadBillboard, made, top={"gradients": 4}).match("coins that give the claimed epsilon")
    for own in (Budget(0.9, 1e-2), Budget(1.0, 1e-3), Budget(2.0, 1e-3)):
        raised(BadBillboard, made, own).match("epsilon at most")
    for silent in ({"trials": 0}, {"epsilon": None}, {"malicious": 60}):
        raised(BadBillboard, made, **silent).match("people's data")
    raised(ValueError, made, budget=1.0).match("a Budget")


def test_a_shuffler_works_it_out_too():
    board = json.loads(server().billboard())

    def made(budget=BUDGET, minimum=None, **plan):
        return Shuffler(json.dumps(board | {"plan": board["plan"] | plan}).encode(), budget=budget, minimum=minimum)

    assert made().minimum == 60
    for weaker in ({"trials": 1024}, {"malicious": 9}, {"minimum": 50}, {"gradient": 1.2 * board["plan"]["gradient"]}):
        raised(BadBillboard, made, **weaker).match("epsilon at most 1")
        made(None, **weaker)
    for own, fewest in ((Budget(0.9, 1e-2), None), (BUDGET, 50)):
        raised(BadBillboard, made, own, fewest).match("epsilon at most")


def test_dropout_and_malicious_users_are_planned_for():
    made = server(dropout=0.2, malicious=0.1)
    board = json.loads(made.billboard())
    assert (board["plan"]["minimum"], board["plan"]["malicious"]) == (48, 6)
    members, shuffler = enrolled(made, 47, default_rng(8))
    raised(BatchTooSmall, shuffler.close)
    for _ in range(5):
        late = RoundsClient(made.billboard())
        shuffler.add(late.randomize(late.choose([[0.3, 0.2]]), None))
    made.observe(shuffler.close())
    assert made.users == 52 and made.privacy.private
    spent = [made.privacy.spent]
    with pytest.raises(BatchTooSmall):
        answered(made, members).close()  # 47 of them are too few for round 1
    fewer = Shuffler(made.billboard(), minimum=0)
    for each, kept in members:
        fewer.add(each.answer(kept, made.billboard()))
    raised(BatchTooSmall, made.observe, fewer.close())
    assert [made.privacy.spent] == spent


def test_the_charge_grows_with_each_round_and_falls_with_more_reports():
    made = server()
    plan = made._plans[0]
    costs = [made._cost(plan, [60] * rounds) for rounds in (1, 2, 3, 4)]
    assert costs == sorted(costs) and 0.99 < costs[-1] <= 1 + 1e-6 < made._cost(plan, [60, 60, 60, 50])
    assert made._cost(plan, [90] * 4) == costs[-1]  # surplus reports count for nothing


def test_messages_of_other_rounds_are_refused(second):
    made, members = second
    late, [(client, choice), _] = members[0][1].made[REPORT], members
    shuffler = Shuffler(made.billboard())
    raised(LateReport, shuffler.add, late)
    raised(WrongBatch, shuffler.add, client.answer(choice, changed(made.billboard(), round=2, batch=2)))
    first, _ = enrolled(server(), 60, default_rng(9))[1], None
    version = made.version
    raised(LateReport, made.observe, first.close())
    assert made.version == version


def test_what_a_choice_has_made_is_neither_made_again_nor_taken_away(second):
    """An application that could clear it would get a second report of the same datum, with new noise."""
    _, [(client, choice), _] = second
    before = client.randomize(choice, 0.0)
    with pytest.raises(TypeError):
        del choice.made[REPORT]
    raised(TooManyReports, choice.keep, REPORT, before)
    assert client.randomize(choice, 1.0) == before
