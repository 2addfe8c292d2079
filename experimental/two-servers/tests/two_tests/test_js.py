"""The JavaScript device for two aggregators, in Node: with the same people and random bytes its reports are Python's to
the byte, the aggregators count them, and it refuses what Python's refuses. Every run has another seed, which a failure
names."""

import hashlib
import json
import math
import re
import secrets
import time
from pathlib import Path

import numpy as np
import pytest

from core_tests.reference import hpke
from devices_tests.js import node, vectors
from devices_tests.roles.boards import mutated, people
from reticent import Budget
from reticent.errors import BadBillboard, BadReport
from reticent.privacy import randomness
from reticent_devices.bandits.server import named
from reticent_devices.roles import hpke as core
from reticent_two import TwoServerClient, TwoServerGLM
from reticent_two.bandits.memory import BothAggregators
from reticent_two.roles import identity, sealing, signed, wire
from reticent_two.roles.task import HELPER, LEADER, canonical

SEED, REPLAY = secrets.randbits(32), Path(__file__).with_name("replay.js")


def run(task, file):
    return json.loads(node.run("node", REPLAY, task, file))


KINDS = {
    "logistic": {"features": 3},
    "identity": {"features": 4, "link": "identity", "range": (-1.0, 2.0), "helper_budget": Budget(4.0, 1e-5)},
    "probit": {"features": 2, "link": "probit"},
    "scores": {"features": 20, "curvature": "none"},
    "forget": {"features": 2, "forget": 500},
}
EACH = 12


def made(**options):
    return named(TwoServerGLM, **{"budget": Budget(1.0, 1e-6), "first": 8, "horizon": 1000} | options)


def resigned(server, task=None, board=None, keys=None):
    """A billboard with another task, board or keys, signed by both."""
    given = signed.split(server.billboard())
    return by_both(server._own, task or given.task, board or given.board, keys or given.keys)


def by_both(own, text, line, keys):
    both = [
        b"".join(identity.signed(one, kind, part) for one in own.signers)
        for kind, part in ((identity.TASK, text), (identity.BOARD, line))
    ]
    return signed.Billboard(text, both[0], line, both[1], keys).text


def keys_for(own, task):
    """Of both parties, for a task of that digest."""
    return tuple(own.keys[party].shown(task, party, own.signers[party]) for party in (LEADER, HELPER))


def learnt(server, rng):
    """Its billboard once it knows something: any numbers that a board may have."""
    board, dim = json.loads(signed.split(server.billboard()).board), server.dim
    root = rng.standard_normal((dim, dim)) / dim
    board |= {"random": False, "version": 1, "theta": rng.standard_normal(dim).tolist()}
    board |= {"at": rng.standard_normal(dim).tolist()}
    if board["axes"]:
        board |= {"inverse": (root @ root.T).tolist(), "axes": root.tolist(), "spread": rng.random(dim).tolist()}
    else:
        board |= {"spread": [0.5]}
    return resigned(server, board=canonical(board))


def refused(work):
    try:
        work()
    except BadBillboard:
        return True
    return False


@pytest.mark.parametrize("name", KINDS)
def test_reports_are_pythons_byte_for_byte_and_aggregators_count_them(tmp_path, name):
    rng, server = np.random.default_rng(SEED), made(**KINDS[name])
    pair, now = server._own.identities, int(time.time())
    boards = [server.billboard(), learnt(server, rng)]
    clients = [TwoServerClient(board, identities=pair) for board in boards]
    tape, cases, expected = vectors.Tape(rng.bytes(vectors.TAPE)), [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(randomness, "octets", tape)
        patch.setattr(core, "sealed", lambda key, about, share: hpke.sealed(tape(32), key, about, share))
        for number in range(EACH):
            rows = rng.standard_normal((int(rng.integers(1, 6)), server.dim))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True) * rng.uniform(1, 3, (len(rows), 1))
            low, high = server.rewards
            reward = [None, low, high, float(rng.uniform(low, high)), high + 1.0, math.nan][rng.integers(6)]
            floor, at = float(rng.choice([0.0, 0.3])), int(rng.integers(vectors.TAPE))
            case = {"at": at, "board": number % 2, "arms": rows.tolist(), "floor": floor}
            cases.append(case | {"reward": vectors.plain(reward)})
            tape.at = at
            choice = clients[number % 2].choose(rows, floor=floor)
            report = clients[number % 2].randomize(choice, reward)
            expected.append({"index": choice.index, "report": report.hex()})
    given = {"random": vectors.text(tape.data), "now": now, "identities": list(map(vectors.text, pair))}
    given |= {"boards": [{"board": vectors.text(board)} for board in boards], "cases": cases}
    told = run("two", vectors.save(given, tmp_path / "two.json"))
    assert told["cases"] == expected, SEED
    for one, client in zip(told["boards"], clients, strict=True):
        assert one["cost"] == {"epsilon": client.cost.epsilon, "delta": client.cost.delta}
        assert one["mu"] == pytest.approx(client.mu, rel=1e-7) and one["parties"] == list(client.parties)
    both = BothAggregators(server.task, server._own)
    for report in dict.fromkeys(one["report"] for one in told["cases"]):
        both.add(bytes.fromhex(report))
    with pytest.raises(BadReport, match="has been counted"):
        both.add(bytes.fromhex(told["cases"][0]["report"]))
    assert both.reports == EACH


def changed(server, path, value, line="task"):
    parts = signed.split(server.billboard())
    document = json.loads(getattr(parts, line))
    inside = document
    for part in path[:-1]:
        inside = inside[part]
    if value is None and path[-1] in inside:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value(inside[path[-1]]) if callable(value) else value
    text = canonical(document)
    if line == "board":
        return resigned(server, board=text)
    digest = hashlib.sha256(text)
    board = json.loads(parts.board) | {"task": digest.hexdigest()}
    return resigned(server, task=text, board=canonical(board), keys=keys_for(server._own, digest.digest()))


TASKS = [
    *((("numbers", name), lambda v: v + 1) for name in ("size", "bits", "proofs", "squares")),
    *((("numbers", name), lambda v: 2 * v) for name in ("cell", "norm", "sensitivity")),
    (("numbers", "norm"), lambda v: v * (1 + 1e-6)),
    (("operator", "epsilon"), lambda v: 0.0),
    (("operator", "delta"), lambda v: 0.0),
    (("helper", "delta"), lambda v: 1.0),
    (("protocol",), 1),
    (("era",), None),
    (("format",), "reticent task"),
    (("more",), 1),
    (("dim",), lambda v: v + 1),
    (("link",), "cauchit"),
    (("rewards",), [1.0, 0.0]),
    (("report",), {"name": "linear"}),
    (("report", "scale"), lambda v: 2 * v),
    (("steps", "discount"), 0.0),
    (("steps", "leaves"), 2**14 + 1),
    *((("steps", "longest"), value) for value in (0, 1.5, "8", None)),
    (("steps", "more"), 1),
    (("identities", "leader"), "00" * 32),
    (("identities",), lambda v: {"leader": v["helper"], "helper": v["leader"]}),
]  # fmt: skip
BOARDS = [
    (("expires",), lambda v: v + 32 * 86400), (("expires",), lambda v: 0), (("theta",), [0.0]),
    (("theta",), lambda v: [1e13] * len(v)), (("inverse",), []), (("spread",), lambda v: [-1.0] * len(v)),
    (("task",), "00" * 32), (("version",), -1), (("random",), 1),
]  # fmt: skip


def test_what_python_refuses_is_refused(tmp_path):
    """Signatures, keys, times, and tasks whose numbers do not follow from the rest, also where both have signed them.
    The encoder and sigma are the honest aggregator's to check: a device in JavaScript does not."""
    server, now = made(features=3), int(time.time())
    pair, board = server._own.identities, server.billboard()
    lines, cases = board.split(b"\n"), [(board, {})]
    cases += [(changed(server, *one), {}) for one in TASKS]
    cases += [(changed(server, *one, "board"), {}) for one in BOARDS]
    for at, line in enumerate(lines):
        flip = bytes([line[-1] ^ 1]) if at else b"2"
        cases += [(b"\n".join([*lines[:at], x, *lines[at + 1 :]]), {}) for x in (line[:-1] + flip, b"", line + b"0")]
    cases += [(b"\n".join(lines[:-1]), {}), (board + b"\n", {}), (b"", {}), (board.replace(b"\n", b" "), {})]
    cases += [(b"\n".join([*lines[:5], lines[6], lines[5]]), {})]  # the parties' keys exchanged
    foreign = made(features=3)
    cases += [(foreign.billboard(), {}), (b"\n".join([*lines[:5], *foreign.billboard().split(b"\n")[5:]]), {})]
    over = [one._replace(until=now) for one in server._own.keys]
    shown = tuple(one.shown(server.task.digest, at, server._own.signers[at]) for at, one in enumerate(over))
    cases += [(resigned(server, keys=(shown[0], signed.split(board).keys[1])), {})]
    head = sealing.HEAD.pack(server.task.digest, LEADER, now - 1, now + 9, bytes(32))  # a point of low order
    low = head + identity.signed(server._own.signers[LEADER], identity.KEY, head)
    cases += [(resigned(server, keys=(low, signed.split(board).keys[1])), {})]
    cases += [
        (board, {"epsilon": 0.9, "delta": 1e-6}),
        (board, {"epsilon": 1, "delta": 1e-7}),
        (board, {"rewards": [0, 2]}),
    ]
    given = {"random": "", "now": now, "identities": list(map(vectors.text, pair)), "cases": []}
    given["boards"] = [{"board": vectors.text(each), "options": options} for each, options in cases]
    told = run("two", vectors.save(given, tmp_path / "two.json"))["boards"]
    for one, (each, options) in zip(told, cases, strict=True):
        own = {"rewards": (0.0, 2.0)} if "rewards" in options else {}
        budget = Budget(options["epsilon"], options["delta"]) if "epsilon" in options else None
        python = refused(
            lambda each=each, own=own, budget=budget: TwoServerClient(
                each, identities=pair, budget=budget, clock=lambda: float(now), **own
            )
        )
        assert (one.get("error") == "BadBillboard") == python, (one, each[:300], options)
    assert sum("error" not in one for one in told) == 1


@pytest.mark.parametrize("count", [30, pytest.param(1500, marks=pytest.mark.full)])
def test_hostile_tasks_and_boards_are_refused_alike(tmp_path, count):
    """Signed by both: one value changed, taken away, added, or taken from another document. Where one is accepted, all
    people send reports of one length by as many random bytes, and nothing fails. An encoder or a sigma that does not
    follow from the rest is refused in Python alone: it is the honest aggregator's to refuse."""
    rng, now = np.random.default_rng(SEED), int(time.time())
    servers = [made(features=2), made(features=2, curvature="none", link="probit")]
    pair = servers[0]._own.identities
    servers[1]._own = servers[0]._own
    texts = [signed.split(learnt(server, rng)) for server in servers]
    tasks, boards = ([json.loads(getattr(each, name)) for each in texts] for name in ("task", "board"))
    cases, refusals = [], []
    for number in range(2 * count):
        of = number % 4 // 2
        documents = tasks if number % 2 else boards
        other = mutated(documents[of], documents[1 - of], rng)
        try:
            task, board = (other, boards[of]) if number % 2 else (canonical(tasks[of]), json.loads(other))
        except ValueError:
            continue  # no JSON at all
        cases.append(signed_anew(servers[0]._own, task, board, told=number % 2 == 1))
        refusals.append(refusal(lambda each=cases[-1]: TwoServerClient(each, identities=pair)))
    given = {"random": vectors.text(rng.bytes(vectors.TAPE)), "now": now, "identities": list(map(vectors.text, pair))}
    given |= {"boards": list(map(vectors.text, cases))}
    persons = [{"arms": arms.tolist(), "reward": vectors.plain(reward)} for arms, reward in people(2, (0.0, 1.0))]
    told = run("hostileTwo", vectors.save(given | {"people": persons}, tmp_path / "two.json"))
    accepted = 0
    for one, refused_for, case in zip(told, refusals, cases, strict=True):
        if refused_for is None:
            accepted += 1
            assert len({tuple(row) for row in one["told"]}) == 1, (SEED, one, case)
        elif "error" not in one:
            assert re.search("the (sigma|encoder) that follows|one form", refused_for), (SEED, refused_for, case)
        else:
            assert one["error"] == "BadBillboard", (SEED, one, case)
    assert 0 < accepted < len(cases) / 2


def signed_anew(own, task, board, *, told):
    """A task and a board, signed by both, with keys for that task; told: the board has the task's digest."""
    digest = hashlib.sha256(task).digest()
    line = canonical(board | {"task": digest.hex()} if told else board)
    return by_both(own, task, line, keys_for(own, digest))


def refusal(work):
    try:
        work()
    except BadBillboard as error:
        return str(error)
    return None


def test_a_device_never_goes_back(tmp_path):
    server, now = made(features=2), int(time.time())
    board = json.loads(signed.split(server.billboard()).board)

    def at(version, theta=0.0, since=0):
        keys = tuple(
            one._replace(since=one.since + since).shown(server.task.digest, party, server._own.signers[party])
            for party, one in enumerate(server._own.keys)
        )
        text = canonical(board | {"version": version, "theta": [theta, 0.0]})
        return resigned(server, board=text, keys=keys)

    boards = [at(3), at(3), at(3, 1.0), at(2), at(4), at(3), at(5, since=9), at(6), at(6, since=9)]
    given = {"now": now, "identities": list(map(vectors.text, server._own.identities))}
    given["boards"] = list(map(vectors.text, boards))
    told = run("followed", vectors.save(given, tmp_path / "boards.json"))
    marks, expected = {}, []
    for each in boards:
        try:
            marks = TwoServerClient(each, identities=server._own.identities).seen(marks)
            expected.append(None)
        except BadBillboard:
            expected.append("BadBillboard")
    assert told["told"] == expected and told["marks"] == marks
    assert [one is None for one in expected] == [True, True, False, False, True, False, True, False, True]


def test_the_length_of_a_report_is_that_of_its_task():
    server = made(features=3)
    assert len(server.device().report(np.zeros(3), None)) == wire.length(server.task)
