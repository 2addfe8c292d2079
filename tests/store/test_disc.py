"""Little room on a disc is an event, once, while everything still works."""

import os

import numpy as np

from tacit.holders import disc
from tacit.holders.disc import HOUR, Disc
from tests.store.places import Clock, linear, play


def test_it_is_looked_at_once_an_hour_and_told_once(tmp_path, monkeypatch):
    monkeypatch.setattr(disc, "ROOM", 0)
    assert not Disc([tmp_path, tmp_path / "none"]).runs_low(0.0)
    monkeypatch.setattr(disc, "ROOM", 1 << 60)
    monkeypatch.setattr(disc, "SHARE", 1.0)  # all of it would have to be free
    low = Disc([tmp_path])
    assert [low.runs_low(HOUR * hour) for hour in (0.0, 0.5, 1.0, 9.0)] == [True, False, False, False]


def test_the_limit_is_drawn_anew(tmp_path, monkeypatch):
    """Near it nobody can tell by how much. False alarm: 2 ** -99."""
    found = os.statvfs(tmp_path)
    monkeypatch.setattr(disc, "ROOM", int(found.f_bavail * found.f_frsize / 1.5))
    monkeypatch.setattr(disc, "SHARE", 1.0)
    assert {Disc([tmp_path]).runs_low(0.0) for _ in range(100)} == {True, False}


def test_an_event_tells_and_choices_go_on(place, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(disc, "ROOM", 1 << 60)
    monkeypatch.setattr(disc, "SHARE", 1.0)
    for _ in range(2):  # a worker that starts again says it again, in the place of what was said
        with place.open(linear(), clock=clock) as stored:
            play(stored, np.random.default_rng(0), 12, prefix=f"{clock.now} ", together=12)
            clock.now += 2 * HOUR
            stored.tend()
            assert [what for _, what in stored.events] == [disc.EVENT] and stored.version > 0
