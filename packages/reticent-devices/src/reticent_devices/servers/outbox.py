"""The shuffler's errands at the analyzer: it hands over closed batches, at least once and always by the same bytes, and
asks for the next billboard."""

import http.client
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.errors import BadReport, HorizonReached, ReticentError
from reticent_devices.roles import billboard as boards
from reticent_devices.servers.journal import HANDED, REFUSED
from reticent_devices.servers.role import OVER, Board
from reticent_devices.servers.settings import Between
from reticent_serve.service.app import log_unexpected

if TYPE_CHECKING:
    from reticent_devices.servers.shuffler import ShufflerRole

PAUSE, SLOWEST = 0.05, 2.0  # seconds between tries; twice as long after each that failed
CALM = 1.0  # seconds between looks while a batch is open
TIMEOUT = 10.0
EARLY, GONE = 425, 410
FOR_GOOD = (409, 410, 413, 422)  # the same bytes will never be taken


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to the analyzer's address and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


class BatchOutbox:
    """A thread of its own. `problem`: what keeps it from its work. `over`: the analyzer has no further batch."""

    def __init__(self, role: "ShufflerRole", setting: Between) -> None:
        self._role, self._address = role, setting.analyzer.rstrip("/")
        self._key_file, self._part = setting.key, setting.part
        self._awake, self._ended = threading.Event(), False
        self._thread = threading.Thread(target=self._run, daemon=True, name="reticent outbox")
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect())
        self.problem: str | None = None
        self.over = False

    def start(self) -> None:
        self._headers = {"content-type": "application/octet-stream"} | self._authorization()
        self._thread.start()

    def _authorization(self) -> dict[str, str]:
        if self._key_file is None:
            return {}
        try:
            return {"authorization": f"Bearer {Path(self._key_file).read_text().strip()}"}
        except OSError as error:
            raise ValueError(f"Expected the key in {self._key_file}, got: {error.strerror}.") from None

    def wake(self) -> None:
        self._awake.set()

    def end(self) -> None:
        self._ended = True
        self.wake()
        if self._thread.is_alive():
            self._thread.join(TIMEOUT)

    def _run(self) -> None:
        pause = PAUSE
        while not self._ended:
            self._awake.clear()
            try:
                self._role.tick()
                busy = self._errand()
                self.problem = None
                pause = PAUSE if busy else min(SLOWEST, 2 * pause)
            except (OSError, http.client.HTTPException) as error:  # urllib's errors too
                status = error.code if isinstance(error, urllib.error.HTTPError) else None
                cause = type(error).__name__ if status is None else f"status {status}"
                self._say(f"The analyzer cannot be asked: {cause}.")
                pause = min(SLOWEST, 2 * pause)
            except Exception as error:
                if self._ended:
                    return
                if not isinstance(error, ReticentError):
                    log_unexpected(error)
                self._say(str(error) if isinstance(error, ReticentError) else f"An unexpected {type(error).__name__}.")
                pause = min(SLOWEST, 2 * pause)
            self._awake.wait(CALM if isinstance(self._role.board(), Board) else pause)

    def _say(self, problem: str) -> None:
        self.problem = problem
        self._role.events.add(problem)

    def _errand(self) -> bool:
        """Whether a batch was opened."""
        waiting = self._role.journal.waiting()
        in_order = waiting is None or self._hand_over(*waiting)
        if in_order and isinstance(self._role.board(), Board):
            if self._role.unconfirmed():
                self._confirm()
            return False
        billboard = self._billboard()
        number = self._role.begin(billboard)
        if number is None:
            self._role.events.add("A new batch is open.")
        elif self._part is None and not self._role.journal.again(number):
            raise BadReport("Expected the next batch's billboard, got that of a batch that is closed: waiting.")
        return number is None

    def _confirm(self) -> None:
        try:
            wanted = boards.batch(self._billboard())[0].batch
        except HorizonReached:
            self._role.confirm(None)
            raise
        self._role.confirm(wanted)

    def _billboard(self) -> bytes:
        try:
            with self._opener.open(f"{self._address}/billboard", timeout=TIMEOUT) as reply:
                self.over = False
                return bytes(reply.read(boards.LONGEST + 1))
        except urllib.error.HTTPError as error:
            self.over = error.code == GONE
            if self.over:
                raise HorizonReached(OVER) from None
            raise

    def _hand_over(self, number: int, message: bytes) -> bool:
        """False if the analyzer has to have an earlier one first, as after a restore."""
        path = f"batches/{number}" if self._part is None else f"parts/{number}/{self._part}"
        request = urllib.request.Request(f"{self._address}/{path}", message, self._headers)
        try:
            with self._opener.open(request, timeout=TIMEOUT):
                pass
        except urllib.error.HTTPError as error:
            if error.code == EARLY:
                return False
            if error.code not in FOR_GOOD:
                raise
            self._role.journal.handed(number, REFUSED)
            self._role.events.add(f"The analyzer refused batch {number} with status {error.code}.")
            return True
        self._role.journal.handed(number, HANDED)
        self._role.events.add(f"Batch {number} was handed over.")
        return True
