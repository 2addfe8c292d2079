"""Several shufflers for one batch: sums add up, one of them closes, and each report counts once whoever is killed."""

import hashlib

import numpy as np

from devices_tests.service.roles import running
from devices_tests.service.roles.running import ask, until
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire

KEYS = "".join(
    f'[[keys]]\nname = "{name}"\nrole = "shuffler"\nhash = "{hashlib.sha256(name.encode()).hexdigest()}"\n'
    for name in ("b", "c")
)


def message(of, sent):
    return wire.encode_batch(of, len(sent), sum(wire.decode_report(report, of)[1] for report in sent))


def member(start, tmp_path, head, name, port=0):
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / "key").write_text(name)
    return start("shuffler", running.shuffler(head, f'part = "{name}"\nshare = 0.3\nkey = "key"'), port, folder=folder)


def test_the_sum_of_all_parts_is_handed_over(start, stub, tmp_path):
    of, _ = boards.shuffle(stub.billboard)
    rng = np.random.default_rng(0)
    sent = [running.report(stub.billboard, rng) for _ in range(200)]
    shares = {"b": sent[:60], "c": sent[60:120]}
    head = start("shuffler", running.shuffler(stub.port, 'parts = ["b", "c"]') + KEYS)
    running.billboard(head.port)
    members = {name: member(start, tmp_path, head.port, name) for name in shares}
    for name, role in members.items():
        assert running.billboard(role.port) == stub.billboard
        assert ask(role.port, "POST", "/reports", b"".join(shares[name][:40]))[0] == 200
        role.kill()
        members[name] = member(start, tmp_path, head.port, name, role.port)
    for role in members.values():  # a batch that was found on disk closes once the head has been asked for it
        until(lambda role=role: b'"confirmed":true' in ask(role.port, "GET", "/status")[2])
    head.kill()
    for name, role in members.items():  # they are full, and nobody takes their parts
        assert ask(role.port, "POST", "/reports", b"".join(shares[name][20:]))[2] == b'{"taken":40}'
        assert ask(role.port, "POST", "/reports", shares[name][0])[0] == 410
        files = b"".join(path.read_bytes() for path in role.folder.rglob("*") if path.is_file())
        assert message(of, shares[name])[wire.BATCH.size :] not in files  # with its own noise alone: sealed
        role.kill()
        members[name] = member(start, tmp_path, head.port, name, role.port)
    head = start("shuffler", running.shuffler(stub.port, 'parts = ["b", "c"]') + KEYS, head.port)
    until(lambda: all(not list(role.folder.glob("shuffler.db.keys/*.key")) for role in members.values()))
    assert b'"reports":120,' in ask(head.port, "GET", "/status")[2] and not stub.batches
    head.kill()
    head = start("shuffler", running.shuffler(stub.port, 'parts = ["b", "c"]') + KEYS, head.port)

    def part(name, body, key=None):
        return ask(head.port, "POST", f"/parts/0/{name}", body, {"authorization": f"Bearer {key or name}"})[0]

    own = message(of, shares["b"])
    assert part("b", own) == 200  # again: nothing changes
    assert part("b", message(of, shares["b"][:59])) == 409
    assert (part("b", own, "c"), part("d", own, "b"), part("b", own, "x")) == (404, 404, 401)
    assert ask(head.port, "POST", "/parts/1/b", own, {"authorization": "Bearer b"})[0] == 503
    assert ask(head.port, "POST", "/reports", b"".join(sent[120:]))[0] == 200
    assert set(until(lambda: stub.batches)) == {(0, message(of, sent))} and part("b", own) == 410


def test_a_batch_waits_for_all_its_parts(start, stub, tmp_path):
    of, _ = boards.shuffle(stub.billboard)
    rng = np.random.default_rng(1)
    sent = [running.report(stub.billboard, rng) for _ in range(260)]
    head = start("shuffler", running.shuffler(stub.port, 'parts = ["b"]'))
    running.billboard(head.port)
    assert ask(head.port, "POST", "/reports", b"".join(sent[:200]))[0] == 200 and not stub.batches
    role = member(start, tmp_path, head.port, "b")
    running.billboard(role.port)
    assert ask(role.port, "POST", "/reports", b"".join(sent[200:]))[0] == 200
    assert set(until(lambda: stub.batches)) == {(0, message(of, sent))}
