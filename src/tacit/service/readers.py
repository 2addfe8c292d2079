"""Large bodies are read beside the loop, by one thread for each kind of request: while one is read others are answered,
and rewards, whose number is raw, hold up no choice."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
LARGE = 16_384  # bytes: what is shorter takes less time than handing it over


class Readers:
    """One at a time of each kind, in the order in which they came; how many bytes wait, a Room says."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._threads = {kind: ThreadPoolExecutor(1, thread_name_prefix=f"tacit reads {kind}") for kind in kinds}

    async def __call__(self, kind: str, size: int, work: Callable[[], T]) -> T:
        """What `work` makes of a body of so many bytes, or its error."""
        if size <= LARGE:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._threads[kind], work)

    def close(self) -> None:
        for thread in self._threads.values():
            thread.shutdown(wait=False)
