"""What both databases are: transactions that happen whole or not at all, and an identity."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from reticent.errors import Unavailable

T = TypeVar("T")

TRIES = 3  # of a transaction whose end was not seen
QUICK = 1.0  # seconds: an error that came sooner is worth another try at once
Rows = list[tuple[Any, ...]]


class Run(Protocol):
    """Runs one statement within a transaction, and gives the rows that it returns."""

    def __call__(self, statement: str, /, *arguments: Any) -> Rows: ...


class Statement(NamedTuple):
    """One that is run later, with its arguments."""

    text: str
    arguments: tuple[Any, ...] = ()


def ran(run: Run, statements: Sequence[Statement]) -> list[Rows]:
    """One after the other, within a transaction."""
    return [run(one.text, *one.arguments) for one in statements]


def again(work: Callable[[], T]) -> T:
    """Once more after an error of the database, from what it holds then: what was committed is found there. Not after
    one that took long, as in a broken network: others wait."""
    began = time.monotonic()
    for _ in range(TRIES - 1):
        try:
            return work()
        except Unavailable:
            if time.monotonic() - began > QUICK:
                raise
    return work()


class DatabaseIdentity(NamedTuple):
    """Which database this is. system: random, since it was made, and copied with its file; on a server together with
    the server's own, which a copy in another server has not. timeline: another one where a server was taken back in
    time, or promoted."""

    system: str
    timeline: int


class Database(Protocol):
    """One connection. Errors of the database are Unavailable: after one, the connection is made anew, `generation`
    grows, and what was in memory has to be read again, since a transaction whose end was not seen may have happened."""

    locking: str  # what a SELECT ends with that keeps others from its rows until the transaction's end
    skipping: str  # the same, which finds none of the rows that another keeps
    skew: float  # seconds that clocks of workers may differ by, or that a commit may take
    alone: str  # a statement after which nobody else makes tables until the transaction's end
    finding: str  # a statement that has a row if there is a table of that name
    blob: str  # the type of bytes
    touching: tuple[str, ...]  # statements after which a transaction waits for the disk, whatever else it does
    hurried: str  # a statement after which the transaction does not wait for the disk: the next one that does, does
    generation: int
    several_hosts: bool

    @property
    def there(self) -> bool:
        """Whether there is one; else the first transaction makes it."""
        ...

    def transaction(self) -> contextlib.AbstractContextManager[Run]:
        """All of it or nothing; on disk when it ends without an error."""
        ...

    def trip(self, *transactions: Sequence[Statement]) -> list[list[Rows]]:
        """Transactions, one after the other, whose statements wait for no answer: what they return, once all of it has
        happened. One trip to a database that is elsewhere, and no lock is held while something is under way."""
        ...

    def identity(self) -> DatabaseIdentity: ...

    def another(self) -> "Database":
        """A connection for another thread; the same one where there may be one only."""
        ...

    def close(self) -> None: ...


class InTurn:
    """A lock for one after the other: who waits goes in next, so that a thread that comes again and again keeps nobody
    out."""

    def __init__(self) -> None:
        self._entry, self._inside = threading.Lock(), threading.Lock()

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        with self._entry:
            self._inside.acquire()
        try:
            yield
        finally:
            self._inside.release()
