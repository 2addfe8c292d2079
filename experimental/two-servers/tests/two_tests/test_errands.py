"""The leader's messages are no longer than the helper takes."""

from types import SimpleNamespace

from reticent_two.aggregators import messages
from reticent_two.service import leader as leaders
from serve_tests.store.conftest import folder as folder

from .conftest import both as both
from .parties import reports


def test_many_long_reports_are_asked_about_in_several_messages(both, monkeypatch):
    made, leader, helper = both
    length, asked = messages.job_length(made.task), []
    monkeypatch.setattr(leaders, "LARGEST", 2 * length + 1)

    def ask(what, body):
        asked.append(len(body))
        return helper.verify(body)

    leader.receive(reports(made, 3))
    leaders.Leader._ask(SimpleNamespace(_ended=False, _helper=SimpleNamespace(ask=ask)), leader)
    assert asked == [2 * length, length] and leader.missing == 0
