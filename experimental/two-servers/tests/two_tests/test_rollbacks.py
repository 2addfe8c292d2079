"""Random schedules of reports, steps, snapshots and rollbacks, with an honest and with a hostile peer: a party that was
rolled back answers nothing more; so no step has a second leaf, and no report a second reply."""

import secrets

import pytest
from numpy.random import default_rng

from reticent.errors import BatchTooSmall, ReticentError, Retired
from reticent_two.aggregators import messages
from reticent_two.roles.task import HELPER, LEADER

from .parties import places, reports, server


class Watched:
    """Both parties, and all that either has ever said: each question has one answer."""

    def __init__(self, folder, rng):
        self.made, self.rng, self.said, self.asked = server(first=2), rng, {}, []
        self.where = places(folder, self.made.task)
        self.parties = [place.open() for place in self.where]

    def ask(self, party, what, body):
        """Keep question and answer. Replies and leaves are told by what they are about."""
        self.asked.append((party, what, body))
        answer = getattr(self.parties[party], what)(body)
        if what == "verify":
            for reply in messages.replies(answer):
                if reply.verdict != messages.LATER:
                    self._once((party, reply.nonce), (reply.verdict, reply.message))
        elif what in ("release", "leaf"):
            step = messages.decode_certificate(self.made.task, body).step if what == "release" else None
            at = step if step is not None else messages.decode_commitment(self.made.task, body, 1 - party).step
            self._once((party, what, at), answer)
        return answer

    def _once(self, question, answer):
        assert self.said.setdefault(question, answer) == answer, question

    def go_on(self):
        """A report, or as much of the rest as can be done."""
        leader, helper = self.parties
        if leader.missing and self.rng.random() < 0.7:
            self.ask(LEADER, "receive", reports(self.made, 1))
            return
        if jobs := leader.jobs():
            leader.decide(self.ask(HELPER, "verify", jobs))
        if not leader.missing and not helper.missing:
            own, theirs = leader.certificate(), helper.certificate()
            said = self.ask(LEADER, "release", theirs), self.ask(HELPER, "release", own)
            self.ask(LEADER, "leaf", said[1])
            self.ask(HELPER, "leaf", said[0])

    def state(self, party):
        with self.parties[party]._acting() as (_, state, _):
            return state.link

    def close(self):
        for party in self.parties:
            party.close()


def rolled_back(folder, seed, hostile):
    """Whether the schedule had a rollback: the party's database as it was, while the party runs or after a restart."""
    rng = default_rng(seed)
    watched = Watched(folder, rng)
    for _ in range(int(rng.integers(1, 8))):
        watched.go_on()
    victim, running = int(rng.integers(2)), bool(rng.integers(2))
    party, where, before = watched.parties[victim], watched.where[victim], watched.state(victim)
    party._database.backup(folder / "older")
    for _ in range(int(rng.integers(1, 8))):
        watched.go_on()
    changed = watched.state(victim) != before
    if running:
        older = party._database._apsw.Connection(str(folder / "older"))
        with party._database._connection.backup("main", older, "main") as work:
            work.step(-1)
        older.close()
    else:
        party.close()
        where.restore({where.database: (folder / "older").read_bytes()})
    retired = not running and changed
    if not running:
        try:
            watched.parties[victim] = where.open()
        except Retired:
            assert changed
    questions = [watched.asked[i] for i in rng.permutation(len(watched.asked))] if hostile else []
    for asked, what, body in () if retired else questions:  # whatever was ever asked, in any order
        if asked == victim:
            try:
                watched.ask(asked, what, body)
                assert not changed, what
            except ReticentError as error:
                retired = retired or isinstance(error, Retired)
    for _ in range(0 if retired else 6):
        try:
            watched.go_on()
        except Retired:
            retired = True
            break
        except BatchTooSmall:
            pass
    touched = changed and not retired
    if touched:  # nothing asked it yet
        with pytest.raises(Retired):
            watched.parties[victim].key()
    assert changed or not retired
    if changed:
        assert not list(folder.glob(f"{where.counter.name}.keys"))
    watched.close()
    return changed


@pytest.mark.parametrize(("count", "least"), [(12, 4), pytest.param(280, 200, marks=pytest.mark.full)])
@pytest.mark.parametrize("hostile", [False, True])
def test_a_party_that_was_rolled_back_is_retired(folder, hostile, count, least):
    found = 0
    for number in range(count):
        own = folder / str(number)
        own.mkdir()
        found += rolled_back(own, secrets.randbits(32), hostile)
    assert found >= least
