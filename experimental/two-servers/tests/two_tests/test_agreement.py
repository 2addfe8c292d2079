"""How an era begins: one task, that both have checked and signed, and halves that both were committed to before."""

import dataclasses
import os
import stat

import pytest

from lab_tests.raising import raised
from reticent import Budget
from reticent.errors import BadBillboard, BadState, NotSecure
from reticent_two import TwoServerGLM
from reticent_two.aggregators.agreement import Agreement
from reticent_two.roles import identity, signed
from reticent_two.roles.task import HELPER, LEADER

from .parties import IDENTITIES, SIGNERS

LIMIT = Budget(1.0, 1e-6)


def agreement(folder, party, limit=LIMIT, **options):
    name = ("leader", "helper")[party]
    files = {"database": folder / f"{name}.db", "counter": folder / f"{name}.counter"}
    return Agreement(party, SIGNERS[party], IDENTITIES, limit, **files | options)


def task_of(leader, helper, **options):
    known = tuple(one.hex() for one in IDENTITIES)
    given = {"features": 2, "budget": LIMIT, "first": 3, "horizon": 1000, "curvature": "none"}
    return TwoServerGLM(
        **given | options, identities=known, commitments=(leader.commitment(), helper.commitment())
    ).task


def proposed(folder):
    leader, helper = (agreement(folder, party) for party in (LEADER, HELPER))
    task = task_of(leader, helper)
    return leader, helper, task, leader.proposal(task)


def test_an_era_begins_and_is_found_again(folder):
    leader, helper = (agreement(folder, party) for party in (LEADER, HELPER))
    task = task_of(leader, helper)
    assert leader.again() is None and helper.again() is None and leader.found() is None
    proposal = leader.proposal(task)
    answer, store = helper.answer(proposal, None)
    assert helper.answer(proposal, store)[0] == answer  # asked again
    own = leader.concluded(task, answer)
    assert own._key == store._key and own.halves == store.halves and own.key() != store.key()
    both = leader.found()[1]
    signed.check_signatures(IDENTITIES, identity.TASK, task.text, both)
    assert helper.found()[1] == both and not list(folder.glob("*.half"))
    other = dataclasses.replace(task, era="ab" * 32)
    for one in (leader, helper):
        raised(BadState, one.sign, other).match("a new era needs")
    for one in (own, store):
        one.close()
    with leader.again() as own, helper.again() as store:
        assert own.step == store.step == 0 and own._key == store._key


def test_the_task_and_the_half_are_on_disk_with_their_names(folder, monkeypatch):
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(stat.S_ISDIR(os.fstat(file).st_mode)), fsync(file)))
    agreement(folder, LEADER).commitment()
    assert synced == [False, True]


def test_a_store_that_was_deleted_cannot_be_made_again_for_its_task(folder):
    _, helper, _, proposal = proposed(folder)
    helper.answer(proposal, None)[1].close()
    for path in [*folder.glob("helper.db*"), folder / "helper.counter"]:
        path.unlink()
    raised(ValueError, helper.again).match("halves")
    raised((BadBillboard, BadState), helper.answer, proposal, None).match("Expected")


def test_after_a_crash_the_same_task_is_signed(folder):
    leader, helper, task, proposal = proposed(folder)
    leader = agreement(folder, LEADER)  # it had not heard of an answer
    assert leader.found()[0] == task and leader.found()[1] == b"" and leader.again() is None
    assert leader.proposal(leader.found()[0]) == proposal
    answer, store = helper.answer(proposal, None)
    store.close()
    (folder / "helper.counter.half").write_bytes(answer[-32:])  # killed before it was gone
    answered, store = agreement(folder, HELPER).answer(proposal, None)
    assert answered == answer
    store.close()
    leader.concluded(task, answer).close()


@pytest.mark.parametrize("party", [LEADER, HELPER])
def test_what_is_not_signed(party, folder):
    leader, helper = (agreement(folder, each) for each in (LEADER, HELPER))
    one, good = (leader, helper)[party], task_of(leader, helper)
    for wrong, what in (
        (dataclasses.replace(good, operator=Budget(1.5, 1e-6), helper=Budget(1.5, 1e-6)), "claim of at most epsilon 1"),
        (dataclasses.replace(good, operator=Budget(1.0, 1e-5), helper=Budget(1.0, 1e-5)), "delta 1e-06"),
        (dataclasses.replace(good, identities=good.identities[::-1]), "identities"),
        (dataclasses.replace(good, commitments=good.commitments[::-1]), "committed"),
        (dataclasses.replace(good, operator=Budget(float("inf"), 1e-6)), "finite epsilon"),
    ):
        raised((BadBillboard, NotSecure), one.sign, wrong).match(what)
    assert one.found() is None and one.sign(good)
    theirs = dataclasses.replace(good, **{("operator", "helper")[party]: Budget(9.0, 1e-6)})
    fresh = agreement(folder, party, counter=folder / "fresh.counter", database=folder / "fresh.db")
    commitments = list(good.commitments)
    commitments[party] = fresh.commitment()
    assert fresh.sign(dataclasses.replace(theirs, commitments=tuple(commitments)))  # the other one's noise is its own


def test_answers_of_others_are_refused(folder):
    leader, helper, task, proposal = proposed(folder)
    for wrong in (b"", bytes(64) + proposal[64:], proposal[:64] + bytes(32) + proposal[96:], proposal[:-1]):
        raised(BadBillboard, helper.answer, wrong, None)
    assert not (folder / "helper.db").exists()
    answer, store = helper.answer(proposal, None)
    for wrong in (b"", bytes(64) + answer[64:], answer[:64] + bytes(32), answer[:-1]):
        raised(BadBillboard, leader.concluded, task, wrong)
    store.close()
    with pytest.raises(ValueError, match="own identity"):
        Agreement(LEADER, SIGNERS[1], IDENTITIES, LIMIT, database=folder / "a", counter=folder / "b")
