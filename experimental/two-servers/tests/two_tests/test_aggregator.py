"""From devices to the board through two real stores; what is verified once; who may ask for what."""

import dataclasses
import math
import secrets

import numpy as np
import pytest

from lab_tests.raising import raised
from reticent import Budget, Secure
from reticent.errors import BadBillboard, BadReport, BadState, BatchTooSmall, HorizonReached, NotSecure, WrongBatch
from reticent.testing.canary import with_size
from reticent_two.aggregators import messages
from reticent_two.aggregators.aggregator import Aggregator
from reticent_two.aggregators.messages import COUNTED, LATER, REFUSED
from reticent_two.attacks import NoNoise
from reticent_two.roles import wire
from reticent_two.roles.task import HELPER, LEADER
from reticent_two.shares import SharedSteps, joined
from reticent_two.vdaf.field_kernel import P

from .parties import HALVES, SIGNERS, close, device, opened, places, reports, server, shut, verify
from .test_shares import Both


class Drawn:
    """Noise that was drawn, step by step."""

    def __init__(self, drawn):
        self.drawn = drawn


def noise_of(party, step):
    """What a party drew for a step: its leaf less what its shares of all steps give."""
    task, grid = party.task, party.task.grids[party.party]
    with party._database.transaction() as run:
        rows = run("SELECT share, leaf FROM steps WHERE step <= ? ORDER BY step", step)
    shares = [np.frombuffer(share, "<u8") for share, _ in rows]
    leaf = wire.decode_leaf(task, rows[step][1], party.party).numbers
    exact = [
        sum(int(m) * int(x[i]) for m, x in zip(grid.encoder_cells, reversed(shares), strict=False))
        for i in range(task.size)
    ]
    values = [(int(y) - e) % P for y, e in zip(leaf, exact, strict=True)]
    return np.array([[y if y <= P // 2 else y - P for y in values]], np.int64)


def test_three_hundred_choices_from_devices_to_the_board(folder):
    """Stores are opened again half-way. Leaves and estimates are the curator's with both noises, to the last bit."""
    rng = np.random.default_rng(secrets.randbits(32))
    made, where, leader, helper = opened(folder, features=3, first=20, curvature="released")
    task, grid = made.task, made.task.grids[HELPER]
    cells, counts, leaves, boards = [], [], [], []
    total, users = np.zeros(task.size, np.int64), 0
    for t in range(300):
        own, arms = device(made), rng.standard_normal((4, 3))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        choice, reward = own.choose(arms), float(rng.random() < 0.5)
        assert leader.receive(own.randomize(choice, reward)) == bytes([COUNTED])
        total += np.rint(own.contribution(choice.features, reward) / grid.cell).astype(np.int64)
        verify(leader, helper)
        users += 1
        if leader.missing == 0:
            leaf = close(leader, helper)
            made.observe(leaf)
            cells.append(total)
            counts.append(users)
            leaves.append(leaf)
            boards.append(made.theta)
            total, users = np.zeros(task.size, np.int64), 0
        if t == 150:
            shut(leader, helper)
            leader, helper = (place.open() for place in where)
    assert len(leaves) >= 10 and made.users == sum(counts) and len({theta.tobytes() for theta in boards}) == len(boards)
    noise = [Drawn([noise_of(one, step) for step in range(len(leaves))]) for one in (leader, helper)]
    for one, grid_of in zip(noise, task.grids, strict=True):  # each has the noise that the other's claim rests on
        assert 0.6 < np.sqrt(np.mean(np.square(np.array(one.drawn) / grid_of.cells))) < 1.5
    curator = Both(*noise)
    state = grid.init(curator)
    for step, sums in enumerate(cells):
        expected = grid.measure(state, sums, curator)
        grid.close(state, step, sums)
        parts = [wire.decode_leaf(task, part, party).numbers for party, part in halves(leaves[step])]
        assert np.array_equal(joined(grid, task.circuit, counts[: step + 1], parts), expected), step
    shut(leader, helper)


def halves(leaf):
    return enumerate((leaf[: len(leaf) // 2], leaf[len(leaf) // 2 :]))


def test_a_report_is_verified_once_and_answered_alike(both):
    made, leader, helper = both
    sent = reports(made, 2)
    length = len(sent) // 2
    assert leader.receive(sent) == leader.receive(sent) == bytes([COUNTED, COUNTED])
    jobs = leader.jobs()
    said = helper.verify(jobs)
    assert helper.verify(jobs) == said and [reply.verdict for reply in messages.replies(said)] == [COUNTED] * 2
    assert leader.jobs() == jobs  # until it has heard
    leader.decide(said)
    leader.decide(said)
    assert leader.missing == helper.missing == 1 and leader.jobs() == b""
    altered = bytearray(sent[:length])
    altered[-1] ^= 1  # the same nonce with another share
    assert leader.receive(bytes(altered)) == bytes([REFUSED])
    assert leader.receive(bytes(32) + sent[32:length] + reports(made, 1)) == bytes([REFUSED, COUNTED])  # alone
    raised(BadReport, leader.receive, sent[1:]).match("bytes each")
    raised(BadReport, helper.verify, jobs[1:]).match("bytes each")
    raised(BadReport, helper.verify, jobs * 251).match("at most 500")


@pytest.mark.parametrize("batches", [2, pytest.param(20, marks=pytest.mark.full)])
def test_a_helpers_share_meets_one_public_share(folder, batches):
    """500 jobs with a public share that the leader has changed: the share does not open, and is not looked at again."""
    rng = np.random.default_rng(secrets.randbits(32))
    made, _, leader, helper = opened(folder, first=500)
    for batch in range(batches):
        leader.receive(reports(made, leader.missing))
        jobs, wrong = list(messages.jobs(made.task, leader.jobs())), []
        for job in jobs:
            public = bytearray(job.public)
            public[int(rng.integers(32))] ^= 1 << int(rng.integers(8))  # the leader's part, which the helper takes
            wrong.append(job._replace(public=bytes(public)))
        first, second = (wrong, jobs) if batch % 2 else (jobs, wrong)
        for job in wrong:
            with pytest.raises(BadReport, match="sealed"):
                helper._opened(wire.Packed(job.nonce, bytes(8) + job.key, job.public, b"", job.helper))
        said, again = (helper.verify(b"".join(map(b"".join, each))) for each in (first, second))
        verdicts = [reply.verdict for reply in messages.replies(said)]
        assert verdicts == [REFUSED if batch % 2 else COUNTED] * len(jobs)
        assert all((reply.verdict, reply.message) == (REFUSED, bytes(32)) for reply in messages.replies(again))
        assert helper.verify(b"".join(map(b"".join, first))) == said
        leader.decide(said)
        if batch % 2 == 0:
            close(leader, helper)
    shut(leader, helper)


def test_the_helper_never_says_its_verifier_share(both):
    made, leader, helper = both
    leader.receive(reports(made, 1))
    (job,) = messages.jobs(made.task, jobs := leader.jobs())
    share = helper._opened(wire.Packed(job.nonce, bytes(8) + job.key, job.public, b"", job.helper))
    _, own = made.task.prio3.verifier_share(helper._key, HELPER, job.nonce, job.public, share)
    said = helper.verify(jobs)
    assert len(said) == 16 + 1 + 32 and own[:16] not in said and own[-32:] not in said


def test_a_step_closes_when_it_is_full_and_only_with_the_same_reports(both):
    made, leader, helper = both
    leader.receive(reports(made, 5))
    jobs = leader.jobs()
    assert len(list(messages.jobs(made.task, jobs))) == 3  # of the five: so many have room
    raised(BatchTooSmall, leader.certificate).match("3 more reports")
    leader.decide(helper.verify(jobs))
    assert leader.jobs() == b"" and leader.missing == 0
    extra = b"".join(messages.VerifyJob(bytes(16), *next(messages.jobs(made.task, jobs))[1:]))
    (later,) = messages.replies(helper.verify(extra))
    assert later.verdict == LATER
    said = leader.release(helper.certificate())
    assert leader.release(helper.certificate()) == said  # asked again: the same hash
    theirs = helper.certificate()  # the leader's is the same, but that its step is closed
    committed = helper.release(theirs)
    assert helper.release(theirs) == committed
    raised(WrongBatch, leader.leaf, said).match("other party's")
    leaf = leader.leaf(committed)
    assert leader.leaf(committed) == leaf
    with leader._database.transaction() as run:
        assert run("SELECT said FROM steps") == [(committed,)]  # which the helper cannot deny
    other = messages.LeafCommitment(HELPER, 0, bytes(32))
    with pytest.raises(WrongBatch, match="one commitment"):
        leader.leaf(messages.encode_commitment(made.task, other, SIGNERS[HELPER]))
    raised(BadBillboard, leader.leaf, messages.encode_commitment(made.task, other, SIGNERS[LEADER])).match("identity")
    assert leader.step == helper.step == 1 and len(leader.jobs()) == 2 * len(jobs) // 3


def test_one_that_leaves_out_its_noise_weakens_the_other_claim_alone(both):
    """What is left in a leaf is then the honest one's noise, in full: the claim against the dishonest one rests on
    that. 400 numbers: a scale of 2/3 or 3/2 would be found, and an honest test fails once in 10^8."""
    task = both[0].task
    for honest in (LEADER, HELPER):
        grid, parts = task.grids[honest], [SharedSteps(with_size(one, 400)) for one in task.grids]
        leaves = [each.release(Secure() if party == honest else NoNoise()) for party, each in enumerate(parts)]
        noise = joined(with_size(grid, 400), task.circuit, [0], leaves)
        assert 0.8 < np.std(noise) / grid.sigma < 1.2


def test_no_more_than_the_planned_steps(folder):
    made, _, leader, helper = opened(folder, horizon=4, first=3)
    leaves = made.task.steps.leaves
    for _ in range(leaves):
        leader.receive(reports(made, leader.missing))
        verify(leader, helper)
        close(leader, helper)
    leader.receive(reports(made, 1))
    assert leader.jobs() == b""
    raised(HorizonReached, leader.certificate)
    shut(leader, helper)


def test_who_may_do_what(folder, both):
    made, leader, helper = both
    for act in (lambda: helper.receive(b""), lambda: helper.jobs(), lambda: helper.decide(b"")):
        raised(ValueError, act).match("leader to do this")
    raised(ValueError, leader.verify, b"").match("helper to do this")
    place = places(folder, made.task)[LEADER]
    raised(BadState, place.open).match("in use")
    leader.close()
    other = server()
    raised(BadState, places(folder, other.task)[LEADER].open).match("this task")
    place.open().close()
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    strange = places(elsewhere, made.task)[LEADER]
    with pytest.raises(BadBillboard, match="committed"):
        Aggregator(made.task, LEADER, strange.database, strange.counter, HALVES[::-1], signer=SIGNERS[0])
    with pytest.raises(ValueError, match="halves"):
        Aggregator(made.task, LEADER, elsewhere / "a.db", elsewhere / "a.counter", signer=SIGNERS[0])
    task = dataclasses.replace(made.task, helper=Budget(math.inf, 1e-6))
    with pytest.raises(NotSecure, match="finite"):
        Aggregator(task, LEADER, elsewhere / "b.db", elsewhere / "b.counter", HALVES, signer=SIGNERS[0])


def test_what_is_kept_of_a_decided_report_is_its_nonce(folder, both):
    made, leader, helper = both
    sent = reports(made, 1)
    leader.receive(sent)
    with leader._database.transaction() as run:
        ((before,),) = run("SELECT kept FROM reports")
    verify(leader, helper)
    share = wire.unpacked(made.task, sent)
    with leader._database.transaction() as run:
        ((job, kept),) = run("SELECT job, kept FROM reports")
    assert job is None and kept is None
    with helper._database.transaction() as run:
        (row,) = run("SELECT digest, job, kept, reply FROM reports")
    assert all(share.helper not in (value or b"") for value in row)
    shut(leader, helper)
    for path in folder.glob("*.db*"):  # nor in what was freed
        assert all(part not in path.read_bytes() for part in (before, share.helper, share.leader)), path
