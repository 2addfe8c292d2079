"""The JavaScript outbox: one report for every choice at a public time, kept and sent again byte for byte. In Node each
program is a process of its own, in Chromium a page that is loaded anew; what is kept outlives it."""

import contextlib
import http.server
import json
import re
import secrets
import socket
import threading
import time

import pytest
from numpy.random import default_rng

from devices_tests.js import node, vectors
from devices_tests.roles.boards import published
from devices_tests.roles.test_outbox import World
from reticent.errors import BadReport, LifetimeSpent
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import hpke, identity, sealed, wire
from reticent_devices.roles.account import Charge, Lifetime, certainty, composed

WEEK, ARMS = 7 * 86400e3, [[0.6, 0.123456], [0.123456, 0.9]]


@pytest.fixture
def program(package, run, tmp_path):
    """A function that runs a program with the outbox: what was sent, answered and is shown."""
    state = {"kept": None, "count": 0}

    def lose():
        state["kept"] = None
        if run is not node.task:
            run.page.evaluate("new Promise((done) => (indexedDB.deleteDatabase('reticent').onsuccess = done))")

    lose()

    def start(steps, *, board="irls-public", answers=(), random=b"", began=0, copied=False, **options):
        given = {"board": vectors.text(published(board)[1]), "steps": steps, "answers": list(answers)}
        given |= {"kept": state["kept"], "random": vectors.text(random), "options": options, "began": began}
        state["count"] += 1
        told = run(package, "outbox", vectors.save(given, tmp_path / f"{state['count']}.json"))
        state["kept"] = state["kept"] if copied else told["kept"]
        return told

    start.lose = lose
    return start


@pytest.mark.parametrize(("board", "reward"), [("irls-public", None), ("irls-public", 1.0), ("newton", 1.0)])
def test_every_choice_sends_one_report_whatever_came(program, board, reward):
    first = program([[0, "choose", ARMS]], board=board)
    ticket, due = first["told"][0], first["shown"][0]["due"]
    assert 1000 <= due < 1100 and first["sent"] == []
    rewarded = [] if reward is None else [[500, "reward", ticket["id"], reward]]
    assert program([*rewarded, [999, "flush"]], board=board)["sent"] == []
    told = program([[due + 1, "flush"], [due + 2, "flush"], [WEEK - 1, "flush"]], board=board)
    ((at, report),) = told["sent"]
    assert at == due + 1 and told["shown"][0]["report"] == report and told["shown"][0]["taken"] is True
    assert "0.123456" in first["text"] and "0.123456" not in told["text"]  # the raw datum is forgotten
    if board == "newton":
        parameters, _ = boards.shuffle(published(board)[1])
        wire.decode_report(bytes.fromhex(report), parameters)


@pytest.mark.parametrize("reward", [None, 1.0])
def test_a_report_leaves_in_the_first_visit_that_begins_after_its_time(program, reward):
    """Whoever clicks leaves the page: a report in the visit of its choice would tell who did not."""
    first = program([[0, "choose", ARMS], [5000, "flush"]], resident=False)
    ticket = first["told"][0]
    rewarded = [] if reward is None else [[600, "reward", ticket["id"], reward]]
    early = program([*rewarded, [5000, "flush"], [WEEK - 1, "flush"]], began=500, resident=False)
    assert first["sent"] == early["sent"] == []
    later = program([[6000, "flush"], [7000, "flush"]], began=1100, resident=False, answers=[None])
    again = program([[8000, "flush"], [8500, "flush"]], began=8000, resident=False)
    assert [at for at, _ in (*later["sent"], *again["sent"])] == [6000, 8000]  # once in a visit
    assert later["sent"][0][1] == again["sent"][0][1]


def test_a_lost_outbox_counts_nothing_twice(program):
    """The report had left unacknowledged when the browser's data were deleted: nothing of its choice leaves again, also
    if its reward comes. What was told is forgotten with it."""
    ticket = program([[0, "choose", ARMS]])["told"][0]
    before = program([[2000, "flush"]], answers=[None])
    program.lose()
    after = program([[2001, "reward", ticket["id"], 1.0], [3000, "flush"], [4000, "flush"]])
    assert len(before["sent"]) == 1 and after["sent"] == [] and after["account"]["reports"] == 0


@pytest.mark.parametrize("run", ["node"], indirect=True)
def test_copies_of_what_is_kept_are_one_report(program):
    """Each copy draws noise of its own, and all have one id: in Node, where what is kept is a file."""
    program([[0, "choose", ARMS]], board="irls")
    reports = {program([[2000, "flush"]], board="irls", copied=True)["sent"][0][1] for _ in range(3)}
    assert len(reports) == 3 and len({report[2:18] for report in reports}) == 1


def test_the_limit_is_asked_before_anything_of_the_person_is_read(program):
    told = program([[0, "choose", "no arms"], [1, "choose", ARMS]], lifetime={"epsilon": 0.5})
    assert told["told"] == ["LifetimeSpent"] * 2 and told["account"]["reports"] == 0


def test_the_reward_is_in_the_report(program):
    """With the same random bytes."""

    def report(reward):
        ticket = program([[0, "choose", ARMS]], board="irls")["told"][0]
        steps = [[2000, "flush"]] if reward is None else [[5, "reward", ticket["id"], reward], [2000, "flush"]]
        return program(steps, board="irls", random=bytes(range(256)) * 99)["sent"][0][1]

    assert report(None) != report(1.0)


def test_reports_are_sent_again_byte_for_byte_until_they_are_taken(program):
    program([[0, "choose", ARMS], [1, "choose", ARMS]])
    away = program([[2000, "flush"], [3000, "flush"]], answers=[None, None, None, None])
    assert len(away["sent"]) == 4 and len({report for _, report in away["sent"]}) == 2
    back = program([[4000, "flush"], [5000, "flush"]], answers=[True, None])
    assert {report for _, report in back["sent"]} == {report for _, report in away["sent"]}
    assert len(back["sent"]) == 3  # the first was taken, the second is sent again
    assert program([[6000, "flush"]])["sent"] == []


def test_a_report_that_is_refused_for_good_is_not_sent_again(program):
    program([[0, "choose", ARMS]])
    told = program([[2000, "flush"], [3000, "flush"]], answers=[False])
    assert len(told["sent"]) == 1 and told["shown"][0]["taken"] is False


def test_later_rewards_are_dropped(program):
    """Nobody is told: what the program sees is the same, and what is kept does not change."""
    ticket = program([[0, "choose", ARMS]])["told"][0]
    in_time = program([[999, "reward", ticket["id"], 1.0]])
    assert '"reward":1' in in_time["text"]
    late = program([[1000, "reward", ticket["id"], 0.25]])
    assert late["text"] == in_time["text"] and late["told"] == in_time["told"] == [None]


def test_a_device_has_a_budget_of_its_own(program):
    told = program([[i, "choose", ARMS] for i in range(4)])["told"]
    assert told[3] == "TooManyReports" and all(isinstance(one, dict) for one in told[:3])
    after = program([[5000, "flush"], [WEEK, "choose", ARMS], [WEEK + 1, "choose", ARMS]])
    assert after["told"][1] != "TooManyReports" and after["told"][2] != "TooManyReports" and len(after["sent"]) == 3


def test_a_batch_is_answered_once_also_after_weeks(program):
    """Of a person's choices in one shuffled batch the first is reported, whatever comes of it."""
    told = program([[i, "choose", ARMS] for i in range(5)], board="newton")["told"]
    assert [one["reported"] for one in told] == [True, False, False, False, False]
    steps = [[10, "reward", told[1]["id"], 1.0], [2000, "flush"], [3 * WEEK, "choose", ARMS], [4 * WEEK, "flush"]]
    later = program(steps, board="newton")
    assert len(later["sent"]) == 1 and later["told"][2]["reported"] is False


@pytest.mark.parametrize(("board", "at"), [("irls-public", 1), ("newton", 28)])
def test_a_report_has_the_id_that_was_drawn_with_its_choice(program, board, at):
    """So that one which a copy of the device makes anew is counted once, as in Python. It is not the ticket's, which
    the application may write anywhere."""
    first = program([[0, "choose", ARMS]], board=board)
    ((_, report),) = program([[2000, "flush"]], board=board)["sent"]
    drawn = report[2 * at : 2 * at + 16]
    assert drawn in first["text"] and drawn != first["told"][0]["id"]


def test_a_server_that_answers_nobody_stops_no_device(program):
    """503 for ever: reports are sent again for a week, and then given up; meanwhile the limit is of choices in a week.
    A device that waits for every answer makes no choice ever again."""
    away = [[day * WEEK / 7, "flush"] for day in range(1, 8)]
    told = program([*([i, "choose", ARMS] for i in range(3)), *away], answers=[None] * 99)
    assert len(told["sent"]) == 21 and len({report for _, report in told["sent"]}) == 3
    after = program([[WEEK + 5, "choose", ARMS], [2 * WEEK + 1, "flush"]], answers=[None] * 9)
    assert after["told"][0] != "TooManyReports" and len(after["sent"]) == len(after["shown"]) == 1
    last = program([[4 * WEEK, "flush"]])
    assert last["sent"] == last["shown"] == [] and last["spent"]["entries"][0]["count"] == 4


def test_what_was_never_made_costs_nothing_and_is_deleted(program):
    """A page that is not opened for weeks: its raw datum goes, unsent, and so does the cost of its report."""
    program([[0, "choose", ARMS]])
    late = program([[WEEK + 1100, "flush"]])
    assert late["sent"] == late["spent"]["entries"] == [] and "0.123456" not in late["text"]


def test_billboards_are_kept_once_and_go_with_the_last_choice_that_needs_them(program):
    board = published("irls-public")[1].decode()
    assert program([[i, "choose", ARMS] for i in range(3)])["text"].count(json.dumps(board)) == 1
    assert json.dumps(board) not in program([[2000, "flush"]])["text"]
    forgotten = program([[2001, "forget"]])
    assert forgotten["shown"] == [] and forgotten["spent"]["entries"][0]["count"] == 3


def test_the_ledger_is_that_of_python(program, tmp_path):
    """Reports of three billboards and arms that were displayed with a floor: the same entries and the same sums, after
    a restart too, and the same refusal at the limit."""
    names = ["irls-gaussian", "newton", "irls-gaussian", "newton-ucb"]
    arms = [ARMS, ARMS, ARMS, [[*row, 0.1] for row in ARMS[::-1]]]
    limit = {"epsilon": 9.0, "delta": 0.05}
    options = {"lifetime": limit, "floor": 0.25, "weekly": 9}
    world = World(tmp_path / "kept", weekly=9, floor=0.25, lifetime=Lifetime(**limit))
    told = []
    for number in range(2):  # restarts
        mine = [(published(name)[1], rows) for name, rows in list(zip(names, arms, strict=True))[2 * number :][:2]]
        done = program([[number, "choose", rows, vectors.text(board)] for board, rows in mine], **options)
        told += done["told"]
        for board, rows in mine:
            with contextlib.suppress(LifetimeSpent):
                world.outbox.choose(board, rows)
                told.append("taken")
    spent = world.outbox.spent()
    assert "LifetimeSpent" in told and told.count("taken") == sum(isinstance(one, dict) for one in told) >= 2
    mine = [
        vars(entry) | {"batch": entry.batch if entry.batch is None else str(entry.batch)} for entry in spent.entries
    ]
    assert [{**entry, "epsilon": 0} for entry in done["spent"]["entries"]] == [
        {**entry, "epsilon": 0} for entry in mine
    ]
    for name in ("epsilon", "delta"):
        assert done["spent"][name] == pytest.approx(getattr(spent, name), rel=1e-12)
    assert done["spent"]["epsilon"] <= 9
    account, shown = world.outbox.account(), done["account"]
    assert shown["certainty"] == pytest.approx(certainty(spent), rel=1e-9)
    assert shown["left"]["epsilon"] == pytest.approx(account.left.epsilon, rel=1e-9)
    assert (shown["reports"], shown["waiting"]) == (account.reports, account.waiting)
    assert [shown["lines"][at] for at in (0, -2, -1)] == [account.lines[at] for at in (0, -2, -1)]


@pytest.mark.parametrize("run", ["node"], indirect=True)
def test_ledgers_add_up_as_in_python(run, tmp_path):
    rng = default_rng(secrets.randbits(32))

    def charge():
        cost = float(rng.uniform(0, 4)), float(rng.uniform(0, 1e-3))
        return Charge("one", "report", None, *cost, int(rng.integers(1, 9)))

    ledgers = [[charge() for _ in range(count)] for count in range(12)]
    file = vectors.save([[vars(one) for one in entries] for entries in ledgers], tmp_path / "ledgers.json")
    for told, entries in zip(run(node.JS / "src", "totals", file), ledgers, strict=True):
        spent = composed(entries)
        for name in ("epsilon", "delta"):
            assert told[name] == pytest.approx(getattr(spent, name), rel=1e-12)
        assert told["certainty"] == pytest.approx(certainty(spent), rel=1e-9)


def test_options_that_nobody_knows_are_refused(package):
    script = """import { Outbox } from "reticent-device/outbox";
const given = { wait: 1, jitter: 1, weekly: 1, lifetime: { epsilon: 1, delta: 0 }, storage: {} };
new Outbox(given);
for (const wrong of [{ flor: 0.1 }, { lifetime: undefined }, { lifetime: { epsilom: 1 } }, { weekly: NaN }])
  try {
    new Outbox({ ...given, ...wrong });
  } catch (error) {
    console.log(error.name);
  }"""
    assert node.run("node", "--input-type=module", "-e", script, cwd=package.parents[2]).split() == ["TypeError"] * 4


def test_a_billboard_that_is_refused_costs_nothing(program):
    told = program([[0, "choose", ARMS], [1, "choose", [[2.0, 0.0]]]], board="irls-rare-cap")
    assert told["told"] == ["BadBillboard", "BadBillboard"] and told["shown"] == []


@pytest.fixture
def address(run):
    """A function that serves bytes with a status: where. A page of the browser here has no address of its own, from
    which it could ask another: it is answered on the way."""
    files, allowed = {}, {"access-control-allow-origin": "*"}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, body = files[self.path]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    place = f"http://127.0.0.1:{server.server_port}"

    def answer(route):
        status, body = files[route.request.url.removeprefix(place)]
        route.fulfill(status=status, body=body, headers=allowed)

    def serve(body, status=200):
        files[name := f"/{len(files)}"] = status, body
        return f"{place}{name}"

    if run is not node.task:
        run.page.route(f"{place}/**", answer)
    yield serve
    if run is not node.task:
        run.page.unroute(f"{place}/**")
    server.shutdown()
    server.server_close()


def test_what_is_sealed_in_javascript_is_opened_in_python(package, run, tmp_path, address):
    """To the key of the report's batch alone, where the pinned identity has signed it."""
    private, secret = identity.drawn(), hpke.drawn()
    of, _ = boards.shuffle(published("newton")[1])
    shown = sealed.shown_key(private, secret, of)
    head = b"tR\4\1" + of.batch.to_bytes(8, "little") + of.digest
    reports = [head + secrets.token_bytes(size) for size in (0, 46, 5000)]
    unsigned = [shown[:-1], shown + b"0", *(_flipped(shown, i) for i in (0, 9, 30, 90, 119))]
    unsigned.append(sealed.shown_key(identity.drawn(), secret, of))
    later, other = of._replace(batch=of.batch + 1), of._replace(digest=bytes(16))
    closed = [sealed.shown_key(private, secret, each) for each in (later, other)]
    urls = [address(shown), *map(address, unsigned), *map(address, closed), address(b"", 410), address(b"", 503)]
    pinned = identity.public(private)
    given = {"identity": vectors.text(pinned), "urls": urls, "reports": list(map(vectors.text, reports))}
    told = run(package, "sealed", vectors.save(given, tmp_path / "sealed.json"))
    assert [answer for answer, _ in told[:3]] == [True] * 3
    sent = [bytes.fromhex(text) for _, text in told[:3]]
    assert [sealed.opened(one, secret, of) for one in sent] == reports
    assert [len(one) - sealed.LONGER for one in sent] == list(map(len, reports))
    assert {sealed.number_in(one) for one in sent} == {of.batch}
    with pytest.raises(BadReport, match="sealed to this key"):
        sealed.opened(sent[1], hpke.drawn(), of)
    refused = 3 * (1 + len(unsigned))
    assert all("the pinned shuffler has signed" in said for said, _ in told[3:refused])
    assert told[refused:-3] == [[False, None]] * 9 and all("none for now" in said for said, _ in told[-3:])
    assert all(text is None for _, text in told[3:])
    earlier = {"identity": vectors.text(pinned), "urls": [address(shown)]}
    following = b"tR\4\1" + later.batch.to_bytes(8, "little") + of.digest
    earlier["reports"] = [vectors.text(following)]
    ((said, text),) = run(package, "sealed", vectors.save(earlier, tmp_path / "earlier.json"))
    assert "an earlier one" in said and text is None


def _flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


NODE = """
import { LocalClient } from "reticent-device";
import { Outbox } from "reticent-device/outbox";
const wait = 1, jitter = 1, weekly = 9, [board, last] = process.argv.slice(-2), sent = [];
const open = (given) => new LocalClient(given, { publicArms: true });
const send = async (report) => Boolean(sent.push(report.length));
const lifetime = { epsilon: 9, delta: 0 };
const outbox = new Outbox({ open, send, wait, jitter, weekly, lifetime, storage });
if (last === "choose") await outbox.choose(Buffer.from(board, "base64"), [[0.6, 0], [0, 0.9]]);
else await outbox.flush();
console.log(JSON.stringify(sent));
"""


ROUTES = """
await new Promise((done) => setTimeout(done, 20));
await new Outbox({ open, send, wait, jitter, weekly, lifetime, storage }).flush();
if (sent.length) throw new Error("Expected no report in the visit of the choice, got one.");
"""


def test_in_node_a_report_is_kept_in_the_storage_of_the_page_or_its_lack_is_said(package, tmp_path):
    page = (node.ROOT / "docs" / "device.md").read_text()
    (storage,) = (code for code in re.findall(r"```js\n(.*?)```", page, re.DOTALL) if "node:fs" in code)
    folder, board = package.parents[2], vectors.text(published("irls-public")[1])
    (folder / "kept.mjs").write_text(storage + NODE)
    (folder / "nowhere.mjs").write_text("let storage;" + NODE)

    def told(program, what):
        (tmp_path / "kept").mkdir(exist_ok=True)
        return json.loads(node.run("node", folder / program, board, what, cwd=tmp_path / "kept"))

    (folder / "routes.mjs").write_text(storage + NODE + ROUTES)
    assert told("routes.mjs", "choose") == []  # another Outbox, in the visit of the choice
    time.sleep(0.01)
    assert len(told("kept.mjs", "flush")) == 1 and told("kept.mjs", "flush") == []
    with pytest.raises(AssertionError, match="Expected IndexedDB or storage with change, got neither"):
        told("nowhere.mjs", "choose")


SILENT = """
import { sealing } from "reticent-device/outbox";
const [url] = process.argv.slice(-1), given = AbortSignal.timeout;
AbortSignal.timeout = (patience) => given.call(AbortSignal, patience / 1000); // so that the test need not wait
const alive = setTimeout(() => process.exit(3), 60e3);
const said = await sealing(new Uint8Array(32), url, async () => true)(new Uint8Array(99)).catch((error) => error.name);
clearTimeout(alive);
console.log(JSON.stringify(said));
"""


def test_a_relay_that_never_answers_stops_no_device(package):
    """It takes the connection, and says nothing. Without a limit on the key's fetch, `flush` never ends, and no report
    to any batch leaves that page again."""
    folder = package.parents[2]
    (folder / "silent.mjs").write_text(SILENT)
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/key"
        assert json.loads(node.run("node", folder / "silent.mjs", url)) == "TimeoutError"
