"""A shuffler whose files are put back in time never hands over a second sum of the same batch: the difference of the
two would be what differs between their people, down to one person's report."""

import shutil
import time

import numpy as np
import pytest

from devices_tests.service.roles import running
from devices_tests.service.roles.analyzer_stub import server
from devices_tests.service.roles.running import ask, until
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import wire
from reticent_devices.servers import settings

NOWHERE = "http://127.0.0.1:9/billboard"  # where the analyzer sends whoever asks for the billboard: no answer


def reports(count):
    board, rng = server(200).billboard(), np.random.default_rng(0)
    return [running.report(board, rng) for _ in range(count)]


def total(sent):
    of, _ = boards.shuffle(server(200).billboard())
    return wire.encode_batch(of, len(sent), sum(wire.decode_report(report, of)[1] for report in sent))


def half(start, stub, sent):
    """A shuffler that was killed in the middle of a batch, and a copy of its folder."""
    role = start("shuffler", running.shuffler(stub.port))
    running.billboard(role.port)
    assert ask(role.port, "POST", "/reports", b"".join(sent[:100]))[0] == 200
    role.kill()
    shutil.copytree(role.folder, role.folder.with_name("copy"))
    shutil.copy2(role.folder.with_name("shuffler.witness"), role.folder.with_name("copy.witness"))
    return role


def closed(start, stub, role, sent):
    role = start("shuffler", running.shuffler(stub.port), role.port)
    assert ask(role.port, "POST", "/reports", b"".join(sent[100:200]))[0] == 200
    assert set(until(lambda: stub.batches)) == {(0, total(sent[:200]))}
    role.kill()
    return role


def put_back(role, *, witness):
    shutil.rmtree(role.folder)
    shutil.copytree(role.folder.with_name("copy"), role.folder)
    if witness:
        shutil.copy2(role.folder.with_name("copy.witness"), role.folder.with_name("shuffler.witness"))


def events(role):
    return ask(role.port, "GET", "/status")[2].decode()


def test_a_database_put_back_with_its_keys_hands_over_no_second_sum(start, stub):
    """The analyzer lies: it still shows the billboard of the batch that it has. Catches a shuffler without a witness,
    whose second message differs from the first by one person's report."""
    sent = reports(201)
    role = closed(start, stub, half(start, stub, sent), sent)
    before = len(stub.batches)
    put_back(role, witness=False)
    role = start("shuffler", running.shuffler(stub.port), role.port)
    assert "Batch 0 was open in the database, but had been closed before" in events(role)
    others = sent[100:199] + sent[200:]
    assert [ask(role.port, "POST", "/reports", body)[0] for body in (b"".join(others), others[0])] == [410, 410]
    assert not list(role.folder.glob("shuffler.db.keys/*.key"))
    until(lambda: ask(role.port, "GET", "/health")[0] == 503)  # it has asked the analyzer, and waits for another batch
    assert len(stub.batches) == before


def test_all_files_put_back_hand_over_no_second_sum_to_an_analyzer_that_has_the_first(start, stub):
    """Nothing on the machine remembers: the analyzer's billboard does."""
    sent = reports(201)
    role = closed(start, stub, half(start, stub, sent), sent)
    before, following = len(stub.batches), server(200)
    following.observe(total(sent[:200]))
    stub.billboard = following.billboard()
    put_back(role, witness=True)
    stub.elsewhere = NOWHERE
    role = start("shuffler", running.shuffler(stub.port), role.port)
    assert ask(role.port, "POST", "/reports", b"".join(sent[100:199] + sent[200:]))[0] == 200
    stub.elsewhere = None
    until(lambda: running.billboard(role.port) == stub.billboard)
    assert "Batch 0 was open in the database, but had been closed before" in events(role)
    assert len(stub.batches) == before


def test_an_open_batch_is_closed_after_a_restart_once_the_analyzer_was_asked(start, stub):
    """Until then reports are taken and nothing is closed."""
    sent = reports(200)
    role = half(start, stub, sent)
    stub.elsewhere = NOWHERE
    role = start("shuffler", running.shuffler(stub.port), role.port)
    assert ask(role.port, "POST", "/reports", b"".join(sent[100:]))[0] == 200
    until(lambda: b"status 302" in ask(role.port, "GET", "/health")[2])
    time.sleep(0.2)
    assert not stub.batches
    stub.elsewhere = None
    assert set(until(lambda: stub.batches)) == {(0, total(sent))}


def test_without_its_witness_a_database_is_refused(start, stub):
    """As after a copy of the database and the keys alone."""
    role = half(start, stub, reports(100))
    role.folder.with_name("shuffler.witness").unlink()
    with pytest.raises(AssertionError, match=r"Expected shuffler.witness, which says which batches were closed, got"):
        start("shuffler", running.shuffler(stub.port), role.port)


def test_what_a_witness_says(start, stub, tmp_path):
    place, sent = tmp_path / "shuffler.witness", reports(201)
    role = start("shuffler", running.shuffler(stub.port))
    running.billboard(role.port)
    assert place.read_text() == '{"closed": -1}' and place.stat().st_mode & 0o077 == 0
    assert ask(role.port, "POST", "/reports", b"".join(sent[:200]))[0] == 200
    until(lambda: stub.batches)
    assert place.read_text() == '{"closed": 0}' and not list(role.folder.glob("*.witness"))


@pytest.mark.parametrize(
    ("witness", "said"),
    [
        ("", "Expected witness, a file in another folder than database and keys, got none."),
        ("shuffler.witness", "outside of the folder of database, got it inside"),
        ("below/shuffler.witness", "outside of the folder of database, got it inside"),
        ("../folder/shuffler.witness", "outside of the folder of database, got it inside"),
        ("../keys/shuffler.witness", "outside of the folder of keys, got it inside"),
        ("../disk/shuffler.witness", "outside of the folder of database, got it inside"),
    ],
)
def test_a_witness_that_is_restored_with_its_database_is_refused(tmp_path, witness, said):
    """Beside it, a folder that is put back hands over a second sum; an analyzer that lies about what it has takes it,
    and has one person's report exactly."""
    text = running.shuffler(8322, 'keys = "../keys"').replace("../{here}.witness", witness)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "shuffler.db").symlink_to(tmp_path / "disk" / "shuffler.db")
    (tmp_path / "folder" / "shuffler.toml").write_text(text)
    with pytest.raises(ValueError, match="Expected witness") as error:
        settings.read("shuffler", tmp_path / "folder" / "shuffler.toml")
    assert said in str(error.value)
