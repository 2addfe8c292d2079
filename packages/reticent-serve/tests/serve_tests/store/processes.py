"""Several at once, and processes that are killed."""

import itertools
import os
import signal
import threading
import traceback

from reticent_serve.holders.postgres import Postgres
from reticent_serve.holders.sqlite import SQLite

KILLED = -signal.SIGKILL


def at_once(*works):
    """Runs them in threads that start together; raises what one of them raised."""
    start, wrong = threading.Barrier(len(works)), []

    def run(work):
        start.wait()
        try:
            work()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]


def forked(work):
    """Does it in a process of its own; how that ended: 0, KILLED, or 1 if it raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at(number, place, work, begun=lambda: ()):
    """Does it in a process killed before that statement; whether it was. `begun` makes what it is given before."""

    def dies():
        given, seen = begun(), itertools.count()

        def dying(does):
            return lambda *given: die() if next(seen) == number else does(*given)

        SQLite._cursor, Postgres._cursor = dying(SQLite._cursor), dying(Postgres._cursor)
        Postgres.trip = dying(Postgres.trip)  # as one: it is one message
        work(*given)

    ended = forked(dies)
    assert ended in (0, KILLED)
    return ended == KILLED
