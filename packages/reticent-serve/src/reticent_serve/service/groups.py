"""Group commit: whoever waits is committed together, in one transaction, while the next gather. Those who are next are
known to the work before it ends, so that it can do something for them on the way."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Generic, TypeVar

A = TypeVar("A")
R = TypeVar("R")
LARGEST = 256  # rows of one transaction


class Full(Exception):
    """More wait than may: come again."""


class Group(Generic[A, R]):
    """`work` commits a group and returns one result for each, in order. Its errors are for all of that group. It may
    ask for the `following` one."""

    def __init__(self, work: Callable[[Sequence[A]], Sequence[R]], executor: Executor, most: int) -> None:
        self._work, self._executor, self._most = work, executor, most
        self._waiting: list[tuple[A, asyncio.Future[R]]] = []
        self._next: list[tuple[A, asyncio.Future[R]]] = []
        self._lock = threading.Lock()  # the work is another thread
        self._task: asyncio.Task[None] | None = None

    def submit(self, items: Sequence[A]) -> list[asyncio.Future[R]]:
        """The results to come; Full, and nothing happens, if too many wait. Where nobody waits a long batch may come:
        it never could otherwise."""
        waiting = len(self._waiting) + len(self._next)
        if waiting and waiting + len(items) > self._most:
            raise Full
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[R]] = [loop.create_future() for _ in items]
        with self._lock:
            self._waiting += zip(items, futures, strict=True)
        if self._task is None:
            self._task = loop.create_task(self._run())
        return futures

    def following(self) -> list[A]:
        """The next group: those who wait now, or waited when this was first asked."""
        with self._lock:
            if not self._next:
                self._next, self._waiting = self._waiting[:LARGEST], self._waiting[LARGEST:]
            return [item for item, _ in self._next]

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self.following():
            group, self._next = self._next, []
            try:
                done = await loop.run_in_executor(self._executor, self._work, [item for item, _ in group])
                for (_, future), result in zip(group, done, strict=True):
                    if not future.done():
                        future.set_result(result)
            except Exception as error:
                for _, future in group:
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # whoever went away asks no more
        self._task = None


T = TypeVar("T")
LARGE = 16_384  # bytes: what is shorter takes less time than handing it over


class Readers:
    """One at a time of each kind, in the order in which they came; how many bytes wait, a Room says."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._threads = {kind: ThreadPoolExecutor(1, thread_name_prefix=f"reticent reads {kind}") for kind in kinds}

    async def __call__(self, kind: str, size: int, work: Callable[[], T]) -> T:
        """What `work` makes of a body of so many bytes, or its error."""
        if size <= LARGE:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads[kind], work)

    def close(self) -> None:
        for thread in self._threads.values():
            thread.shutdown(wait=False)


class Room:
    """Bodies that come, wait or are at work, until they are answered."""

    def __init__(self, most: int) -> None:
        self._most, self._taken = most, 0

    @contextlib.contextmanager
    def held(self) -> Iterator[Callable[[int], None]]:
        """For one request: called with the size of each part that came, it raises Full where there is no room."""
        mine = 0

        def hold(size: int) -> None:
            nonlocal mine
            if self._taken + size > self._most:
                raise Full
            mine += size
            self._taken += size

        try:
            yield hold
        finally:
            self._taken -= mine
