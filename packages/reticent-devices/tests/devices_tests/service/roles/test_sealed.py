"""Sealed reports: a key for each batch, which the shuffler's pinned identity signs and which goes with the batch."""

import json
import shutil

import pytest

from devices_tests.service.roles import running
from devices_tests.service.roles.analyzer_stub import server
from devices_tests.service.roles.running import ask, reports, total, until
from reticent.errors import BadReport
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import hpke, identity, sealed
from reticent_devices.roles.outbox import post


def begin(start, stub, port=0):
    role = start("shuffler", running.shuffler(stub.port, 'sealed = "identity"'), port)
    return role, bytes.fromhex(json.loads(ask(role.port, "GET", "/status")[2])["identity"])


def key_of(role, pinned):
    return sealed.checked(ask(role.port, "GET", "/key")[2], pinned)


def send(role, body):
    return ask(role.port, "POST", "/reports", body)[::2]


def test_sealed_reports_are_opened_by_the_shuffler_alone(start, stub):
    role, pinned = begin(start, stub)
    running.billboard(role.port)
    of, _ = boards.shuffle(stub.billboard)
    key = key_of(role, pinned)
    assert key.place == of.batch.to_bytes(8, "little") + of.digest
    assert (role.folder / "identity").stat().st_mode & 0o077 == 0
    sent = reports(stub.billboard, 200)
    hidden, own = [sealed.sealed(report, key) for report in sent], identity.drawn()
    stranger = sealed.checked(sealed.shown_key(own, hpke.drawn(), of), identity.public(own))
    later = key._replace(place=(1).to_bytes(8, "little") + of.digest)
    for body in (sent[0], b"", sealed.sealed(sent[0], stranger), hidden[0][:-1]):
        status, said = send(role, body)
        assert status == 422 and b"sealed to" in said
    assert send(role, hidden[0]) == send(role, hidden[0]) == (200, b'{"taken":1}')
    other = sealed.sealed(sent[3][:2] + b"x" + sent[3][3:], key)
    body = [hidden[1], sealed.sealed(sent[2], stranger), hidden[2], other, hidden[0], sealed.sealed(sent[4], later)]
    assert send(role, b"".join(body)) == (
        200,
        b'{"taken":3,"refused":{"not sealed":[1],"version":[3],"wrong batch":[5]}}',
    )
    role.kill()
    role, again = begin(start, stub, role.port)
    assert again == pinned and key_of(role, pinned) == key  # a restart changes neither
    assert send(role, b"".join(hidden[3:]))[0] == 200 and set(until(lambda: stub.batches)) == {(0, total(sent, of))}
    assert not any(
        part in path.read_bytes() for path in role.folder.rglob("*.db*") if path.is_file() for part in hidden
    )


def test_nobody_opens_a_kept_report_after_its_batch_was_closed(start, stub):
    """Catches a key that outlives its batch. Whoever kept the sealed reports and then gets all files of the shuffler
    opens none of them; with the files as they were while the batch was open, all of them (so the attack can
    succeed)."""
    role, pinned = begin(start, stub)
    running.billboard(role.port)
    of, key = boards.shuffle(stub.billboard)[0], key_of(role, pinned)
    hidden = [sealed.sealed(report, key) for report in reports(stub.billboard, 200)]
    assert send(role, b"".join(hidden[:100]))[0] == 200
    shutil.copytree(role.folder, role.folder.with_name("then"))
    assert send(role, b"".join(hidden[100:]))[0] == 200
    until(lambda: stub.batches)

    def opened(folder):
        secrets = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        return sum(any(_opens(secret, one, of) for secret in secrets if len(secret) == 32) for one in hidden)

    assert opened(role.folder.with_name("then")) == 200 and opened(role.folder) == 0
    assert ask(role.port, "GET", "/key")[0] == 503


def _opens(secret, text, of):
    try:
        return bool(sealed.opened(text, secret, of))
    except BadReport:
        return False


def test_between_batches_sealed_reports_are_told_to_come_again_alone_and_together(start, stub):
    """Catches what was lost: two sealed reports in one body got 422 between batches, where one got 503."""
    role, pinned = begin(start, stub)
    running.billboard(role.port)
    of, _ = boards.shuffle(stub.billboard)
    key, sent = key_of(role, pinned), reports(stub.billboard, 202)
    hidden = [sealed.sealed(report, key) for report in sent]
    later = sealed.sealed(sent[0], key._replace(place=(1).to_bytes(8, "little") + of.digest))
    assert send(role, b"".join(hidden[:200]))[0] == 200
    until(lambda: stub.batches)
    for body in (later, later + later, later + hidden[200], hidden[200] + later):
        assert send(role, body)[0] == 503
    assert [send(role, body)[0] for body in (hidden[200], hidden[200] + hidden[201])] == [410, 410]
    role.kill()
    role, _ = begin(start, stub, role.port)  # which batch was the last is on disk
    assert [send(role, body)[0] for body in (later, later + later, hidden[200], hidden[200] + hidden[201])] == [
        *(503, 503, 410, 410),
    ]


def test_a_device_seals_to_the_key_of_its_reports_batch_and_to_no_other(start, stub):
    """Over HTTP, as through a relay: to the batch's key while it is open, never for a closed one, and later where the
    key is not one that the pinned identity has signed."""
    role, pinned = begin(start, stub)
    running.billboard(role.port)
    of, _ = boards.shuffle(stub.billboard)
    address, sent = f"http://127.0.0.1:{role.port}", reports(stub.billboard, 200)
    fetch, deliver = sealed.get(f"{address}/key"), post(f"{address}/reports")
    device = sealed.sealing(pinned, fetch, deliver)
    assert device(sent[0]) and device(sent[0])
    stranger = sealed.sealing(identity.public(identity.drawn()), fetch, deliver)
    with pytest.raises(OSError, match="the pinned shuffler has signed"):
        stranger(sent[1])
    shown = fetch()
    for damaged in (
        b"",
        shown[:-1],
        shown + b"0",
        *(shown[:i] + bytes([shown[i] ^ 1]) + shown[i + 1 :] for i in range(0, sealed.SHOWN, 9)),
    ):
        with pytest.raises(OSError, match="Expected a batch's key"):
            sealed.sealing(pinned, lambda damaged=damaged: damaged, deliver)(sent[1])
    following = sent[1][:4] + (1).to_bytes(8, "little") + sent[1][12:]
    with pytest.raises(OSError, match="an earlier one"):
        device(following)
    another = sent[1][:12] + bytes(16) + sent[1][28:]
    assert device(another) is False  # by another billboard of this batch
    assert all(map(device, sent[1:])) and set(until(lambda: stub.batches)) == {(0, total(sent, of))}
    with pytest.raises(OSError):  # between batches: later
        device(sent[2])
    first = server(200)
    first.observe(total(sent, of))
    stub.billboard = first.billboard()
    assert until(lambda: ask(role.port, "GET", "/key")[0] == 200)
    assert device(sent[2]) is False and sealed.sealing(pinned, lambda: None, deliver)(sent[2]) is False


def test_another_file_is_no_identity(start, stub, tmp_path):
    (tmp_path / "shuffler").mkdir()
    (tmp_path / "shuffler" / "identity").write_bytes(b"something else")
    with pytest.raises(AssertionError, match="Expected the identity of a shuffler in identity, got another file"):
        begin(start, stub)


def test_without_sealing_there_is_no_key(start, stub):
    role = start("shuffler", running.shuffler(stub.port))
    running.billboard(role.port)
    assert ask(role.port, "GET", "/key")[0] == 404
