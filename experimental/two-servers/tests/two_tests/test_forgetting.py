"""The helper's timer goes on, whatever its disk says."""

from reticent_devices.servers.role import Events
from reticent_two.service import role
from reticent_two.service.role import HelperRole


class Full:
    asked = 0

    def key(self):
        self.asked += 1
        raise OSError("Expected room on the disk, got none.")


def test_a_full_disk_does_not_end_the_forgetting(monkeypatch):
    timers = []

    class Timer:
        def __init__(self, seconds, work):
            timers.append(work)

        def start(self):
            pass

    monkeypatch.setattr(role.threading, "Timer", Timer)
    helper = HelperRole(None, Events())
    helper._store = store = Full()
    helper._forget()
    timers[-1]()
    assert store.asked == len(timers) == 2
