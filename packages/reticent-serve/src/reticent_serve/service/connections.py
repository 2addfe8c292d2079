"""Clients that send the head of a request slowly, without end, or nothing: their connection ends, since it keeps others
out or fills the memory."""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST = 65536  # bytes of a head, beyond those that came with its first one


def within(patience: float) -> type[HttpToolsProtocol]:
    """The protocol of connections that have so many seconds for the whole head of each request, from the connection or
    from its first byte on. How long a body may take is its reader's business, and how long an idle connection stays
    after a reply uvicorn's."""

    class Patient(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        _head = 0  # bytes of a head that is not whole

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._start()

        def data_received(self, data: bytes) -> None:
            self._head += len(data) if self._timer is not None else 0
            super().data_received(data)
            if self._timer is not None and self._head > LONGEST:
                self.transport.abort()
            if self._timer is None and (self.cycle is None or self.cycle.response_complete):
                self._start()

        def on_headers_complete(self) -> None:
            self._stop()
            super().on_headers_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def _start(self) -> None:
            if not self.transport.is_closing():
                self._timer = self.loop.call_later(patience, self.transport.close)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer, self._head = None, 0

    return Patient
