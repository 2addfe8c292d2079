"""What devices believe: tasks and boards that both known aggregators have signed, and nothing older than they have
seen. What aggregators sign: one board of a version, and no task that promises what its noise does not keep."""

import dataclasses
import json
import math
import secrets
import time

import pytest
from numpy.random import default_rng

from lab_tests.raising import raised
from reticent import Budget
from reticent.errors import BadBillboard, BadReport, Retired
from reticent.privacy import gaussian
from reticent_devices.roles import hpke
from reticent_two.aggregators.messages import COUNTED, LATE, REFUSED
from reticent_two.roles import board as boards
from reticent_two.roles import identity, sealing, signed, wire
from reticent_two.roles.board import NOTHING
from reticent_two.roles.device import TwoServerClient
from reticent_two.roles.identity import Identities
from reticent_two.roles.task import HELPER, LEADER, Task, canonical

from .parties import ARMS, IDENTITIES, KEYS, SIGNERS, billboard, close, opened, places, reports, server, shut, verify


def trust(text, now=None, marks=None):
    return signed.trusted(text, IDENTITIES, time.time() if now is None else now, marks or {})


def test_a_device_never_goes_back_and_believes_nothing_stale(both):
    made, *_ = both
    now = int(time.time())
    then = {"made": now, "expires": now + 3600}
    first = trust(billboard(made, **then))
    other = trust(billboard(made, version=1), marks=first.marks)
    raised(BadBillboard, trust, billboard(made, **then), marks=other.marks).match("no older than the last one")
    with pytest.raises(BadBillboard, match="one board of a version"):
        trust(billboard(made, **then | {"expires": now + 1800}), marks=first.marks)
    assert trust(billboard(made, **then), marks=first.marks)  # the same again
    raised(BadBillboard, trust, billboard(made, **then), now=now + 3600).match("not expired")
    with pytest.raises(BadBillboard, match="sealing keys that have not expired"):
        trust(billboard(made, expires=now + 20 * 86400), now=now + 86401)
    older = sealing.drawn(now - 10, now + 500).shown(made.task.digest, HELPER, SIGNERS[HELPER])
    KEYS[made.task.digest][HELPER] = older
    raised(BadBillboard, trust, billboard(made, **then), marks=first.marks).match("keys that are no older")
    client = TwoServerClient(billboard(made), identities=IDENTITIES)
    assert client.marks.keys() == {made.task.digest.hex()} and client.cost == made.budget


def altered(text, rng):
    at = int(rng.integers(len(text)))
    return text[:at] + bytes([text[at] ^ 1 << int(rng.integers(7))]) + text[at + 1 :]


def test_what_was_altered_or_signed_by_others_is_refused(both):
    made, *_ = both
    text, rng = billboard(made), default_rng(secrets.randbits(32))
    lower = text.lower()  # in hexadecimal digits A is a
    for _ in range(300):
        wrong = altered(text, rng)
        if wrong.lower() != lower:
            raised(BadBillboard, trust, wrong)
    for known in (IDENTITIES[::-1], (IDENTITIES[0], IDENTITIES[0]), (IDENTITIES[0], bytes(32)), (b"", b"")):
        raised(BadBillboard, signed.trusted, text, Identities(*known), time.time(), {})
    lines = text.split(b"\n")
    for one, two in ((2, 4), (5, 6)):  # a task's signatures are none of a board, nor a leader's key a helper's
        swapped = lines.copy()
        swapped[one], swapped[two] = lines[two], lines[one]
        raised(BadBillboard, trust, b"\n".join(swapped))
    for wrong in (text + b"\n", b"\n".join(lines[:-1]), b"", text.replace(b", ", b",", 1), b"\xff" + text):
        raised(BadBillboard, trust, wrong)
    raised(BadBillboard, trust, text.decode()).match("bytes of a billboard")


NUMBERS = 0.0, -1.0, 1.0, 1e-9, 1e300, math.pi, 2**60, None, True, "1", [], {}


def hostile(document, rng):
    """Another task or board: one number, name or text changed, somewhere."""
    made = json.loads(json.dumps(document))
    spot = made
    while True:
        names = list(spot) if isinstance(spot, dict) else list(range(len(spot)))
        name = names[int(rng.integers(len(names)))]
        if not isinstance(spot[name], dict | list) or not spot[name] or rng.random() < 0.1:
            break
        spot = spot[name]
    value = spot[name]
    near = [value * 1.01, value * 0.5, value + 1, -value] if type(value) in (int, float) else ["0" * 64, "ff" * 32]
    choices = [*near, *NUMBERS]
    spot[name] = choices[int(rng.integers(len(choices)))]
    if rng.random() < 0.05 and isinstance(spot, dict):
        del spot[name]
    return made


def hostile_documents(made, party, count, seed):
    """Signed by both: yet nobody acts by a task whose numbers do not follow from its claims."""
    rng, refused, board = default_rng(seed), 0, json.loads(signed.split(billboard(made)).board)
    for number in range(count):
        if number % 2:
            document = hostile(board, rng)
            text = canonical(document)
            try:
                read = boards.read(made.task, text)
                assert read.task.numbers == made.task.numbers  # whatever it is: the noise is the task's
            except BadReport:
                refused += 1
                continue
            if text != canonical(board):
                raised(BadBillboard, party.sign, text)
            continue
        document = hostile(made.task.document, rng)
        if number % 4 == 0:  # one that is consistent
            claims = [Budget(10 ** rng.uniform(-3, 3), 10 ** rng.uniform(-12, -1)) for _ in range(2)]
            steps = made.task.steps._replace(leaves=int(rng.integers(1, 3000)), discount=float(rng.uniform(0.9, 1.0)))
            document = dataclasses.replace(made.task, operator=claims[0], helper=claims[1], steps=steps).document
        try:
            task = Task.read(document)
            task.check()
        except ValueError:  # BadBillboard, NotSecure
            refused += 1
            continue
        for grid, claim in zip(task.grids, (task.helper, task.operator), strict=True):
            mu = grid.sensitivity(task.sensitivity) * grid.column_norm / grid.sigma
            assert gaussian.epsilon(mu, claim.delta) <= claim.epsilon * (1 + 1e-6)
        for name in ("dim", "report", "operator", "helper", "numbers", "protocol"):
            assert number % 4 == 0 or document[name] == made.task.document[name]
    return refused


@pytest.mark.parametrize(("count", "least"), [(300, 100), pytest.param(10_000, 4000, marks=pytest.mark.full)])
def test_hostile_tasks_and_boards_promise_no_more_than_their_noise_keeps(both, count, least):
    made, leader, _ = both
    leader.sign(signed.split(billboard(made)).board)
    assert hostile_documents(made, leader, count, secrets.randbits(32)) > least


def test_a_board_of_an_equal_task_with_another_text_is_refused(both):
    """Also where the board was read before."""
    made, *_ = both
    board, document = signed.split(billboard(made)).board, json.loads(made.task.text)
    document["numbers"]["norm"] *= 1 + 1e-12
    other = Task.read(document)
    assert boards.read(made.task, board) and other == made.task and other.digest != made.task.digest
    raised(BadBillboard, boards.read, other, board).match("a board of its task")


def test_one_estimate_of_a_step_and_its_renewals(folder):
    """300 boards of one step were signed in 4.8 s; by 20 of them the arms that one device chose told a feature to 3e-7.
    A renewal has the same estimate; the next step has its own; none goes back."""
    made, where, leader, helper = opened(folder)

    def proposed(before, **changed):
        document = json.loads(signed.split(billboard(made, leaves=leader.leaves(made.version))).board)
        version = json.loads(before)["version"] + 1
        return canonical(document | {"version": version, "previous": boards.hashed(before)} | changed)

    first = signed.split(billboard(made)).board
    last = first
    for one in (leader, helper):
        one.sign(first)
    for number in range(20):
        with pytest.raises(BadBillboard, match="one estimate of a step"):
            helper.sign(proposed(first, theta=[0.1 * number, 1.0], random=False))
    now = int(time.time())
    for later in (1, 2):
        last = proposed(last, made=now + later, expires=now + 1000 + later)
        for one in (leader, helper):
            one.sign(last)
    helper.close()
    helper = where[HELPER].open()
    with pytest.raises(BadBillboard, match="one estimate of a step"):  # the counter file knows
        helper.sign(proposed(last, theta=[0.1, 1.0]))
    leader.receive(reports(made, leader.missing))
    verify(leader, helper)
    made.observe(close(leader, helper))
    following = proposed(last)
    assert json.loads(following)["step"] == 1
    for one in (leader, helper):
        one.sign(following)
    back = json.loads(last) | {"version": json.loads(following)["version"] + 1, "previous": boards.hashed(following)}
    raised(BadBillboard, helper.sign, canonical(back)).match("one estimate of a step")
    shut(leader, helper)


def test_one_board_of_a_version_ever(folder):
    made, where, leader, helper = opened(folder)
    first = signed.split(billboard(made)).board
    other = signed.split(billboard(made, expires=int(time.time()) + 999)).board
    said = leader.sign(first)
    assert leader.sign(first) == said
    identity.check(IDENTITIES[LEADER], identity.BOARD, first, said)
    raised(BadBillboard, leader.sign, other).match("hash of the last board")
    leader.close()
    leader = where[LEADER].open()
    with pytest.raises(BadBillboard, match="hash of the last board"):  # the counter file knows
        leader.sign(other)
    assert leader.sign(first) == said
    following = {"version": 1, "previous": boards.hashed(first)}
    for wrong in (
        following | {"previous": boards.hashed(other)}, following | {"version": 2},
        following | {"leaves": ("00" * 32, "11" * 32)}, following | {"made": 0},
    ):  # fmt: skip
        raised(BadBillboard, leader.sign, signed.split(billboard(made, **wrong)).board)
    leader.sign(signed.split(billboard(made, **following)).board)
    shut(leader, helper)


def test_a_board_that_waited_for_days_is_signed_and_the_era_goes_on(both):
    made, leader, helper = both
    now = int(time.time())
    waited = signed.split(billboard(made, made=now - 3 * 86400)).board
    assert leader.sign(waited) and helper.sign(waited)
    following = {"version": 1, "previous": boards.hashed(waited)}
    ahead = {"made": now + 2 * 86400, "expires": now + 3 * 86400}
    raised(BadBillboard, helper.sign, signed.split(billboard(made, **following | ahead)).board).match("not ahead")
    assert helper.sign(signed.split(billboard(made, **following)).board)


def test_a_board_cites_what_both_have_released(both):
    made, leader, helper = both
    helper.sign(text := signed.split(billboard(made)).board)
    first = boards.hashed(text)
    leader.receive(reports(made, leader.missing))
    verify(leader, helper)
    made.observe(close(leader, helper))
    leaves = helper.leaves(1)
    raised(BadBillboard, helper.sign, signed.split(billboard(made, previous=first)).board).match("what was released")
    assert helper.sign(signed.split(billboard(made, previous=first, leaves=leaves)).board)


def test_a_share_opens_for_its_party_task_nonce_and_public_share_alone():
    key, task, nonce, public = sealing.drawn(0, 1000), bytes(32), bytes(16), bytes(64)
    shown = sealing.checked(key.shown(task, HELPER, SIGNERS[1]), task, HELPER, IDENTITIES[1])
    given = HELPER, task, nonce, public
    text = hpke.sealed(shown.public, sealing.about(*given), b"share")
    assert key.opened(sealing.about(*given), text) == b"share" and len(text) == 5 + hpke.LONGER
    for at, wrong in enumerate((LEADER, b"\1" + task[1:], b"\1" + nonce[1:], b"\1" + public[1:])):
        other = list(given)
        other[at] = wrong
        raised(BadReport, key.opened, sealing.about(*other), text).match("sealed")
    for wrong in (text[:-1], b"", text[:40], bytes([text[0] ^ 1]) + text[1:], text[:-1] + bytes([text[-1] ^ 1])):
        raised(BadReport, key.opened, sealing.about(*given), wrong).match("sealed")
    raised(BadReport, sealing.drawn(0, 1000).opened, sealing.about(*given), text).match("sealed")
    for wrong in (LEADER, IDENTITIES[1]), (HELPER, IDENTITIES[0]):
        raised(BadBillboard, sealing.checked, key.shown(task, HELPER, SIGNERS[1]), task, *wrong)
    with pytest.raises(BadBillboard, match="month"):
        sealing.checked(sealing.drawn(0, 32 * 86400).shown(task, 0, SIGNERS[0]), task, 0, IDENTITIES[0])


def test_keys_rotate_and_late_reports_are_refused(folder):
    """A key lives for a day; a new one comes after half of it; nothing opens what was sealed to the old one then."""
    made, now = server(), [time.time()]
    where = places(folder, made.task)
    leader, helper = (place.open(clock=lambda: now[0]) for place in where)
    sent = [reports(made, 1) for _ in range(3)]
    old = [json.loads(ring.read_text())["keys"][0]["private"] for ring in folder.glob("*.keys")]
    assert leader.receive(sent[0]) == bytes([COUNTED]) and leader.key() == KEYS[made.task.digest][LEADER]
    now[0] += 43_300
    assert leader.key() != KEYS[made.task.digest][LEADER] and helper.key() != KEYS[made.task.digest][HELPER]
    assert leader.receive(sent[1]) == bytes([COUNTED])
    verify(leader, helper)
    now[0] += 43_300
    assert leader.receive(sent[2]) == bytes([LATE])
    assert leader.receive(sent[0]) == bytes([COUNTED])  # it was taken in time
    assert leader.missing == helper.missing == 1 and helper.key()  # asked for now and then, whatever comes
    for path in folder.iterdir():
        assert all(one.encode() not in path.read_bytes() for one in old), path
        assert all(bytes.fromhex(one) not in path.read_bytes() for one in old), path
    shut(leader, helper)


def test_a_job_that_comes_after_its_key_is_refused(folder):
    made, now = server(), [time.time()]
    where = places(folder, made.task)
    leader, helper = where[LEADER].open(), where[HELPER].open(clock=lambda: now[0], lifetime=3600)
    leader.receive(reports(made, 1))
    now[0] += 3601
    verify(leader, helper)
    assert leader.jobs() == b"" and leader.missing == helper.missing == 3
    with leader._database.transaction() as run:
        assert run("SELECT verdict FROM reports") == [(REFUSED,)]
    shut(leader, helper)


def test_retirement_destroys_the_keys(folder):
    made, where, leader, helper = opened(folder)
    sent = reports(made, 1)
    where[LEADER].counter.unlink()
    raised(Retired, leader.receive, sent)
    raised(Retired, leader.key)
    assert not list(folder.glob("leader*.keys")) and list(folder.glob("helper*.keys"))
    shut(leader, helper)


def test_neither_the_leader_nor_the_helper_opens_the_others_share(both):
    made, leader, helper = both
    packed = wire.unpacked(made.task, reports(made, 1))
    for party in (leader, helper):
        for own in party._keys._keys:
            raised(BadReport, wire.share, made.task, 1 - party.party, packed, own).match("sealed")
            wire.share(made.task, party.party, packed, own)


def test_the_first_board_follows_nothing(both):
    made, leader, helper = both
    text = billboard(made, leader, helper)
    assert trust(text).board.previous == NOTHING and TwoServerClient(text, identities=IDENTITIES).choose(ARMS)
