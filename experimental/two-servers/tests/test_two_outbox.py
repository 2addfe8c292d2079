"""Reports to two aggregators through the outbox: sealed to the newest keys, counted once, charged by mu."""

import json
import shutil
import time

import pytest

from tacit import Budget
from tacit.errors import BadBillboard, BadReport, LifetimeSpent, NotSecure
from tacit.privacy import gaussian
from tacit.roles.ledger import Lifetime
from tacit_two import TwoServerGLM
from tacit_two.bandits.memory import BothAggregators
from tacit_two.roles import identity, sealing, signed, wire
from tacit_two.roles.device import TwoServerClient
from tacit_two.roles.task import canonical
from tests.roles.test_outbox import JITTER, WAIT, World

ARMS = {"stay": [0.6, 0.123456], "go": [0.123456, 0.9]}
NOW = float(int(time.time()))


class Servers:
    """Both aggregators in this process, at boards and keys that the test chooses."""

    def __init__(self, budget=None, **options):
        self.made = TwoServerGLM(dim=2, budget=budget or Budget(1.0, 1e-6), first=8, horizon=1000, **options)
        self.own, self.both = self.made._own, BothAggregators(self.made.task, self.made._own)
        self.version, self.away = 0, False

    def renew(self):
        """A later board and new keys: the old ones are destroyed."""
        self.version += 1
        keys = tuple(sealing.drawn(one.since + 1, one.until) for one in self.own.keys)
        self.own = self.own._replace(keys=keys)
        self.both._opening = keys

    def billboard(self):
        if self.away:
            raise ConnectionError
        board = json.loads(signed.split(self.made.billboard()).board) | {"version": self.version}
        return self.own.signed(self.made.task, canonical(board))

    def open(self, billboard):
        return TwoServerClient(billboard, identities=self.own.identities, clock=lambda: NOW + 1)

    def send(self, report):
        self.both.add(report)
        return True


def world(path, servers, **options):
    given = {"open": servers.open, "billboard": servers.billboard, "lifetime": Lifetime(mu=5.0)}
    return World(path, now=NOW, **given | options)


@pytest.mark.parametrize("reward", [None, 1.0])
def test_a_report_is_sealed_to_the_keys_of_its_own_time(tmp_path, reward):
    """Those of the choice may be gone by then. If a server cannot be reached, or shows something old, it waits."""
    servers = Servers()
    first = world(tmp_path / "kept", servers, send=servers.send)
    servers.renew()
    ticket = first.outbox.choose(servers.billboard(), ARMS)
    assert "0.123456" in (tmp_path / "kept").read_text()
    if reward is not None:
        first.outbox.reward(ticket.id, reward)
    old, servers.away = servers.version, True
    first.at(NOW + WAIT + JITTER).flush()
    servers.away, servers.version = False, 0
    first.outbox.flush()
    assert servers.both.reports == 0 and first.outbox.shown()[0].report is None
    servers.version = old
    servers.renew()
    first.outbox.flush()
    assert servers.both.reports == 1 and first.outbox.shown()[0].taken
    assert "0.123456" not in (tmp_path / "kept").read_text()


def test_a_billboard_that_cannot_be_opened_for_any_reason_waits(tmp_path):
    servers = Servers()

    def closed(billboard):
        raise NotSecure("Expected features of this application, got others.")

    first = world(tmp_path / "kept", servers, send=servers.send)
    first.outbox.choose(servers.billboard(), ARMS)
    later = world(tmp_path / "kept", servers, send=servers.send, open=closed)
    later.at(NOW + WAIT + JITTER).flush()
    first.at(NOW + WAIT + JITTER).flush()
    assert servers.both.reports == 1


def test_copies_of_the_file_are_one_report(tmp_path):
    servers = Servers()
    world(tmp_path / "kept", servers).outbox.choose(servers.billboard(), ARMS)
    sent = []
    for number in range(5):
        shutil.copy(tmp_path / "kept", tmp_path / str(number))
        copy = world(tmp_path / str(number), servers)
        copy.at(NOW + WAIT + JITTER).flush()
        sent += copy.sent
    servers.both.add(sent[0])
    for report in sent[1:]:
        with pytest.raises(BadReport, match="has been counted"):
            servers.both.add(report)
    assert len(set(sent)) == 5 and len({wire.unpacked(servers.made.task, one).nonce for one in sent}) == 1
    again = copy.at(NOW + 2 * WAIT)
    again.choose(servers.billboard(), ARMS)
    copy.at(NOW + 4 * WAIT).flush()
    servers.both.add(copy.sent[-1])  # another choice has another nonce


def test_no_report_is_made_for_another_task(tmp_path):
    """The era was retired between the choice and its deadline: nothing leaves, and nothing is charged."""
    servers, others = Servers(), Servers()
    first = world(tmp_path / "kept", servers)
    first.outbox.choose(servers.billboard(), ARMS)
    later = world(tmp_path / "kept", servers, open=others.open, billboard=others.billboard)
    later.at(NOW + WAIT + JITTER).flush()
    assert not later.sent and later.outbox.spent().mu == 0 and later.outbox.shown()[0].taken is False


def test_older_boards_are_refused_for_choices_too(tmp_path):
    servers = Servers()
    old = servers.billboard()
    servers.renew()
    first = world(tmp_path / "kept", servers)
    first.outbox.choose(servers.billboard(), ARMS)
    with pytest.raises(BadBillboard, match="no older"):
        world(tmp_path / "kept", servers).outbox.choose(old, ARMS)
    with pytest.raises(ValueError, match="by which reports to two aggregators are made"):
        world(tmp_path / "kept", servers, billboard=None).outbox.choose(servers.billboard(), ARMS)


def test_the_ledger_has_the_larger_mu_of_both_for_each_task(tmp_path):
    """Three reports to one task and one to another: sqrt((3 mu)^2 + mu'^2). The cap is asked before the choice."""
    one, other = Servers(helper_budget=Budget(2.0, 1e-6)), Servers(budget=Budget(1.5, 1e-6))
    limit = Lifetime(mu=1.5)
    for servers, count in ((one, 3), (other, 1)):
        box = world(tmp_path / "kept", servers, weekly=9, lifetime=limit, name=f"to {count}").outbox
        for _ in range(count):
            box.choose(servers.billboard(), ARMS)
    mu = [gaussian.mu(Budget(epsilon, 1e-6)) for epsilon in (1.0, 2.0, 1.5)]
    account = box.account()
    assert account.spent.mu == pytest.approx(((3 * mu[1]) ** 2 + mu[2] ** 2) ** 0.5) and account.reports == 4
    assert [entry.mu for entry in account.spent.entries] == [mu[:2], [mu[2]] * 2]
    pair = [identity.public(each).hex() for each in one.own.signers]
    assert account.spent.entries[0].parties == pair and account.spent.epsilon == 0
    with pytest.raises(LifetimeSpent, match="mu at most 1.5"):
        box.choose(other.billboard(), "nothing of a person")
