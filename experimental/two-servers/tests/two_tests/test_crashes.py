"""kill -9 before every statement and every write of the counter file; databases that are rolled back at a start and
under a running process: never a second noise, never a second look at a report."""

import os
import signal

import pytest

from lab_tests.raising import raised
from reticent.errors import Retired
from reticent_serve.holders.sqlite import SQLite
from reticent_two.aggregators import counter, messages
from reticent_two.aggregators.messages import COUNTED
from reticent_two.roles.task import HELPER, LEADER

from .parties import SIGNERS, close, opened, places, reports, server, shut, verify


def dies_at(number, work):
    """In a process that is killed before that statement or write of a counter file: what it said, and if it was."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status, seen = 1, [0]

        def dying(of):
            def call(*arguments):
                if seen[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                seen[0] += 1
                return of(*arguments)

            return call

        try:
            SQLite._run, counter.write = dying(SQLite._run), dying(counter.write)
            work(lambda said: os.write(writer, len(said).to_bytes(4, "little") + said))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read()
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL)
    out = []
    while said:
        size = int.from_bytes(said[:4], "little")
        out.append(said[4 : 4 + size])
        said = said[4 + size :]
    return out, status == signal.SIGKILL


@pytest.mark.parametrize("party", [LEADER, HELPER])
def test_killed_at_every_statement_a_party_goes_on_and_has_one_noise(party, folder):
    """All that a party does in a step, from making its store on. What it had handed out when it was killed it hands out
    again, to the last bit: verdicts, the commitment to a leaf, and the leaf."""
    made, number, killed = server(first=2), 0, True
    where = places(folder, made.task)
    leader, helper = (place.open() for place in where)
    sent = reports(made, 2)
    leader.receive(sent)
    said = helper.verify(jobs := leader.jobs())
    certificate = helper.certificate()  # the leader's is the same
    peers = messages.encode_commitment(made.task, messages.LeafCommitment(1 - party, 0, bytes(32)), SIGNERS[1 - party])
    shut(leader, helper)
    while killed:
        again = folder / str(number)
        again.mkdir()
        place = places(again, made.task)[party]
        place.take_keys(where[party])

        def act(say, place=place):
            own = place.open()
            if party == LEADER:
                say(own.receive(sent))
                own.decide(said)
            else:
                say(own.verify(jobs))
            say(own.release(certificate))
            say(own.leaf(peers))
            own.close()

        before, killed = dies_at(number, act)
        after = []
        act(after.append)
        assert after[: len(before)] == before, number
        with place.open() as own, own._database.transaction() as run:
            assert run("SELECT count(*), min(leaf) FROM steps") == [(1, after[-1])]
            assert run("SELECT count(*) FROM reports WHERE verdict = 1 AND step = 0") == [(2,)]
        number += 1
    assert number > 25


def stepped(folder, steps, **options):
    made, where, leader, helper = opened(folder, **options)
    for _ in range(steps):
        step(made, leader, helper)
    return made, where, leader, helper


def step(made, leader, helper):
    leader.receive(reports(made, leader.missing))
    verify(leader, helper)
    return close(leader, helper)


def dead(place):
    """For good: whatever is asked, and after every start."""
    for _ in range(2):
        raised(Retired, place.open).match("the era is retired")


@pytest.mark.parametrize("party", [LEADER, HELPER])
@pytest.mark.parametrize("what", ["a step", "a report"])
def test_an_older_database_retires_the_era(party, what, folder):
    made, where, leader, helper = stepped(folder, 2)
    shut(leader, helper)
    older = where[party].files()
    leader, helper = (place.open() for place in where)
    if what == "a step":
        step(made, leader, helper)
    else:  # the same step, in which one report was verified
        leader.receive(reports(made, 1))
        verify(leader, helper)
    shut(leader, helper)
    newer = where[party].files()
    where[party].restore(older)
    dead(where[party])
    where[party].restore(newer)
    dead(where[party])
    where[1 - party].open().close()


@pytest.mark.parametrize("party", [LEADER, HELPER])
def test_a_fork_of_equal_height_retires_the_era(party, folder):
    """A copy closes the same step with another noise: it is as far as the counter file says, and of another chain."""
    made, where, leader, helper = stepped(folder, 1)
    leader.receive(reports(made, leader.missing))
    verify(leader, helper)
    shut(leader, helper)
    before, mark = where[party].files(), where[party].counter.read_bytes()
    own = where[party].open()
    certificate = own.certificate()
    first = own.release(certificate)
    own.close()
    last = where[party].counter.read_bytes()
    where[party].restore(before)
    where[party].counter.write_bytes(mark)  # rolled back together with the database: a copy of the whole machine
    own = where[party].open()
    assert own.release(certificate) != first  # this is what the counter file is for
    own.close()
    where[party].counter.write_bytes(last)
    dead(where[party])


def test_a_whole_machine_that_was_rolled_back_is_found_by_an_honest_peer(folder):
    """Counter file and all: the other one has closed a step that it does not know of."""
    made, where, leader, helper = stepped(folder, 1)
    helper.close()
    before, mark = where[HELPER].files(), where[HELPER].counter.read_bytes()
    helper = where[HELPER].open()
    step(made, leader, helper)
    helper.close()
    where[HELPER].restore(before)
    where[HELPER].counter.write_bytes(mark)
    with where[HELPER].open() as helper, pytest.raises(Retired):
        helper.certificate(leader.step)
    dead(where[HELPER])
    leader.close()


def test_a_database_that_is_rolled_back_under_a_running_process_retires_the_era(folder):
    made, where, leader, helper = stepped(folder, 1)
    helper._database.backup(folder / "older")
    leader.receive(reports(made, 1))
    jobs = leader.jobs()
    said, older = helper.verify(jobs), helper._database._apsw.Connection(str(folder / "older"))
    with helper._database._connection.backup("main", older, "main") as work:
        work.step(-1)
    for act in (lambda: helper.verify(jobs), helper.certificate, lambda: helper.step):
        raised(Retired, act)
    assert [reply.verdict for reply in messages.replies(said)] == [COUNTED]
    older.close()
    helper.close()
    dead(where[HELPER])
    leader.close()


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"task": 1}'])
def test_without_its_counter_file_nothing_is_answered(content, folder):
    made, where, leader, helper = stepped(folder, 1)
    leader.receive(reports(made, 1))
    jobs = leader.jobs()
    where[HELPER].counter.unlink()
    if content is not None:
        where[HELPER].counter.write_bytes(content)
    raised(Retired, helper.verify, jobs)
    helper.close()
    dead(where[HELPER])
    leader.close()
    where[LEADER].counter.unlink()
    dead(where[LEADER])


def test_a_new_database_beside_a_counter_file_that_has_counted_is_refused(folder):
    _, where, leader, helper = stepped(folder, 1)
    shut(leader, helper)
    where[LEADER].restore({})
    dead(where[LEADER])


@pytest.mark.parametrize("party", [LEADER, HELPER])
def test_a_copy_of_database_and_counter_file_is_refused(party, folder):
    made, where, leader, helper = stepped(folder, 1)
    shut(leader, helper)
    copy = folder / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    dead(places(copy, made.task)[party])
    where[party].open().close()  # the original goes on


def test_other_reports_on_the_other_side_retire_the_era(folder):
    """A leader that counts a report of its own choice: nothing closes, for good."""
    made, where, leader, helper = opened(folder)
    leader.receive(reports(made, 3))
    verify(leader, helper)
    own = messages.decode_certificate(made.task, leader.certificate())
    raised(Retired, helper.release, messages.encode_certificate(made.task, own._replace(nonces=bytes(32))))
    raised(Retired, helper.release, leader.certificate())
    helper.close()
    dead(where[HELPER])
    leader.close()
