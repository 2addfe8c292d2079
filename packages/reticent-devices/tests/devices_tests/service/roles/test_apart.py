"""Roles are kept apart: no user of one reads another's files, and nothing of a person is in any of them."""

import http.client
import json
import os
import shutil
import signal
import socket
import tempfile
from pathlib import Path

import numpy as np
import pytest

from core_tests.canaries import Canaries
from devices_tests.service.roles import running
from devices_tests.service.roles.running import ask, until
from reticent_devices.roles import local, shuffle, wire

USERS = {"analyzer": 61001, "shuffler": 61002, "local": 61003}
FIRST = 40
ADDRESS, FORWARDED = "127.93.141.57", "203.0.113.77"


@pytest.fixture
def folders():
    """A folder for each role, which its user owns, below one that everybody may enter."""
    if os.getuid() != 0:
        pytest.fail("Expected root, who can start roles as other users, got another user.", pytrace=False)
    above = Path(tempfile.mkdtemp(prefix="reticent-roles-"))
    above.chmod(0o755)
    for role, user in USERS.items():
        (above / role).mkdir(mode=0o755)
        os.chown(above / role, user, user)
    (above / "witness").mkdir(mode=0o700)
    os.chown(above / "witness", USERS["shuffler"], USERS["shuffler"])
    yield above
    shutil.rmtree(above)


def as_user(user, work):
    """What `work` returns in a process of that user."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
            os.write(writing, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return json.loads(found)


def readable(paths):
    """Those of `paths` that can be read."""
    out = []
    for path in paths:
        try:
            with open(path, "rb") as file:
                file.read(1)
        except PermissionError:
            continue
        except OSError:
            pass  # it was opened, which is enough
        out.append(str(path))
    return out


def secrets(process):
    """What is its own: its files but for its configuration, and what the system shows of its memory."""
    files = [path for path in process.folder.rglob("*") if path.is_file() and path.suffix not in (".toml", ".log")]
    return files, [Path(f"/proc/{process.number}/{name}") for name in ("mem", "environ", "maps")]


def test_a_roles_user_cannot_read_what_another_role_keeps(start, folders):
    def begin(role, text):
        text = text.replace("../{here}.witness", "../witness/closed")
        return start(role, f"{text}\n[server]\nuser = {USERS[role]}\n", folder=folders / role)

    analyzer = begin("analyzer", running.analyzer(FIRST))
    processes = {"analyzer": analyzer, "shuffler": begin("shuffler", running.shuffler(analyzer.port))}
    board, rng = running.billboard(processes["shuffler"].port), np.random.default_rng(0)
    for _ in range(FIRST // 2):  # the batch stays open: sums, ids and its key are there
        assert ask(processes["shuffler"].port, "POST", "/reports", running.report(board, rng))[0] == 200
    kept = {role: secrets(process) for role, process in processes.items()}
    names = [path.name for path in kept["shuffler"][0]]
    assert {"shuffler.db", "shuffler.db-wal", "shuffler.batch.0.key"} <= set(names)
    for role, (files, inside) in kept.items():
        assert all(path.stat().st_uid == USERS[role] for path in files)
        for user in [user for other, user in USERS.items() if other != role]:
            assert as_user(user, lambda files=files, inside=inside: readable([*files, *inside])) == []
        assert as_user(USERS[role], lambda files=files: readable(files)) == list(map(str, files))  # its own, yes


def send(port, body, **headers):
    """From an address of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20, source_address=(ADDRESS, 0))
    given = {"content-type": "application/octet-stream", "x-forwarded-for": FORWARDED, "user-agent": "canary-agent"}
    connection.request("POST", "/reports", body, given | headers)
    status = connection.getresponse().status
    connection.close()
    return status


def everything(*processes):
    """All files of these roles: databases, write-ahead logs, keys, logs."""
    paths = [path for process in processes for path in process.folder.rglob("*") if path.is_file()]
    return [(path.name, path.read_bytes()) for path in paths]


def traces(canaries, reports, files):
    """What of a person, of a report, or of who sent it is in the files."""
    found = canaries.found_in(files)
    forms = [(text, text.encode()) for text in [ADDRESS, FORWARDED, "canary-agent", "::ffff:" + ADDRESS]]
    forms += [(f"{text}, packed", socket.inet_aton(text)) for text in (ADDRESS, FORWARDED)]
    for report in reports:
        counts = np.frombuffer(report, f"<u{report[3]}", offset=wire.REPORT.size)
        forms += [("a report", report[-16:]), ("an id", report[wire.ID_AT : wire.ID_AT + 8])]
        forms += [("its numbers", counts.astype("<i8").tobytes())]
    return found + [(name, what) for name, content in files for what, form in forms if form in content]


def test_neither_person_nor_report_nor_address_is_in_files_and_logs_of_analyzer_and_shuffler(start):
    analyzer = start("analyzer", running.analyzer(FIRST))
    shuffler = start("shuffler", running.shuffler(analyzer.port))
    board, canaries, reports = running.billboard(shuffler.port), Canaries(1), []
    for i in range(FIRST):
        client, x = shuffle.ShuffleClient(board), np.array(canaries.numbers[:2])
        reports.append(client.randomize(client.choose({canaries.texts["arm"]: x}), canaries.reward))
        assert send(shuffler.port, reports[-1]) == 200
        if i == 3:
            assert send(shuffler.port, reports[-1][:-3], **{"x-canary": canaries.texts["field"]}) == 422
            assert send(shuffler.port, x.tobytes()) == 422
        if i == FIRST // 2:  # while the batch is open, and after a crash
            assert not traces(canaries, reports, everything(analyzer, shuffler))
            shuffler.kill()
            shuffler = start("shuffler", running.shuffler(analyzer.port), shuffler.port)
    until(lambda: b'"batch":1,"open":true' in ask(shuffler.port, "GET", "/status")[2])
    assert not traces(canaries, reports, everything(analyzer, shuffler))
    for process in (analyzer, shuffler):
        for route in ("status", "metrics", "dashboard", "health", "billboard"):
            assert not traces(canaries, reports, [(route, ask(process.port, "GET", f"/{route}")[2])])
        process.kill(signal.SIGTERM)
    assert not traces(canaries, reports, everything(analyzer, shuffler))
    assert traces(canaries, reports, [("a file", x.tobytes() + reports[0])])  # they would be found


def test_neither_person_nor_address_is_in_files_and_logs_of_a_local_server(start):
    role, canaries = start("local", running.LOCAL), Canaries(2)
    client = local.LocalClient(running.billboard(role.port), epsilon=4.0)
    x = np.array(canaries.numbers[:2])
    for _ in range(20):
        assert send(role.port, client.randomize(client.choose({canaries.texts["arm"]: x}), canaries.reward)) == 200
    assert send(role.port, x.tobytes()) == 422 and not traces(canaries, [], everything(role))
    role.kill(signal.SIGTERM)
    assert not traces(canaries, [], everything(role))
