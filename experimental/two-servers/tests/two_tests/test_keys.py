"""Sealing keys are gone once they are destroyed, whatever was interrupted before."""

import os
import time

from reticent_two.aggregators.keys import DAY, KeyRing


def test_an_interrupted_save_leaves_no_keys_behind(tmp_path):
    path, new = tmp_path / "a.keys", tmp_path / "a.keys.new"
    ring = KeyRing(path, lambda key: key.private, time.time, DAY)
    shown = ring.shown()
    new.write_bytes(path.read_bytes())
    held = os.open(new, os.O_RDONLY)  # the blocks themselves
    again = KeyRing(path, lambda key: key.private, time.time, DAY)
    assert not new.exists() and not any(os.pread(held, 1000, 0)) and again.shown() == shown
    os.close(held)
    new.write_bytes(path.read_bytes())
    again.destroy()
    assert not list(tmp_path.iterdir())
