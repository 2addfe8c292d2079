"""The leader's errands: it asks the helper about reports, closes steps with it, and has boards signed.

Everything is asked again after a crash, and the same is answered: reports by their nonces, the close of a step by its
number, boards by their versions. Reports are asked about, steps close and leaves leave at a timer, not when a report
comes."""

import contextlib
import http.client
import secrets
import threading
import time
from pathlib import Path

from reticent.errors import ReticentError, Retired
from reticent_devices.servers import settings
from reticent_devices.servers.role import Board, Events
from reticent_serve.service.app import log_unexpected
from reticent_two.aggregators import messages
from reticent_two.aggregators.aggregator import MOST, Aggregator
from reticent_two.aggregators.agreement import Agreement
from reticent_two.bandits.glm import TwoServerGLM
from reticent_two.roles.signed import Billboard
from reticent_two.roles.task import HELPER, LEADER, Task
from reticent_two.service.analysis import Analysis
from reticent_two.service.peer import LARGEST, TIMEOUT, Helper, PeerGone, PeerRefused
from reticent_two.service.settings import AggregatorSetting, TwoBandit

PAUSE, SLOWEST = 0.05, 2.0  # seconds between tries; twice as long after each that failed
RENEW = 30.0  # seconds between looks at sealing keys


class Leader:
    """A thread of its own. party: None until the era has begun. problem: what keeps it from its work. over: nothing
    more is taken, for good."""

    def __init__(self, setting: AggregatorSetting, bandit: TwoBandit, agreement: Agreement, helper: Helper) -> None:
        self.setting, self._bandit, self._agreement, self._helper = setting, bandit, agreement, helper
        self.events = Events()
        self.party: Aggregator | None = None
        self.analysis: Analysis | None = None
        self.shown: Board | None = None
        self.problem: str | None = None
        self.over: str | None = None
        self._keys: tuple[bytes, bytes] = b"", b""
        self._renewing = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="reticent leader")

    def start(self) -> None:
        self.party = self._agreement.again()
        if self.party is not None:
            self._follow(self.party)
        self._thread.start()

    @property
    def _ended(self) -> bool:
        return self._stop.is_set()

    def end(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(TIMEOUT)
        self._helper.close()
        for each in (self.party, self.analysis):
            if each is not None:
                each.close()

    def _run(self) -> None:
        pause = PAUSE
        while not self._ended and self.over is None:
            try:
                self._errand()
                self.problem, pause = None, PAUSE
                wait = float(self.setting.every)
            except (PeerGone, Retired) as error:
                self.over = str(error)
                self._say(str(error))
                self._retire()
            except Exception as error:
                asked = isinstance(error, OSError | http.client.HTTPException)
                told = isinstance(error, ReticentError | PeerRefused)
                if not asked and not told:
                    log_unexpected(error)
                kind = type(error).__name__
                self._say(
                    f"The helper cannot be asked: {kind}." if asked else str(error) if told else f"Unexpected: {kind}."
                )
                wait = pause = min(SLOWEST, 2 * pause)
            if self.over is None:
                self._stop.wait(wait)

    def _retire(self) -> None:
        """Nobody answers for this era any more: its sealing keys end now."""
        if self.party is not None:
            with contextlib.suppress(ReticentError):
                self.party.retire()

    def _say(self, problem: str) -> None:
        self.problem = problem
        self.events.add(problem)

    # the era

    def _errand(self) -> None:
        """All that is to be done now. The helper sees when reports came as exactly as the timer says."""
        if self.party is None:
            self.party = self._begin()
            self.events.add("The era has begun: both have signed its task.")
            self._follow(self.party)
        self._ask(self.party)
        while self._close(self.party):
            self._show(self.party)
        self._show(self.party)

    def _begin(self) -> Aggregator:
        found = self._agreement.found()
        task = found[0] if found is not None else self._server(None).task
        return self._agreement.concluded(task, self._helper.ask("task", self._agreement.proposal(task)))

    def _follow(self, party: Aggregator) -> None:
        public = Path(self.setting.database + ".public")
        self.analysis = Analysis(self._server(party.task), party.task, public, self.setting.board_life)

    def _server(self, task: Task | None) -> TwoServerGLM:
        """With what both have agreed on, or are to agree on."""
        known = self._agreement.identities
        theirs = self._bandit.helper_budget or self._bandit.budget
        commitments = task.commitments if task is not None else self._commitments()
        made = settings.of(
            TwoServerGLM,
            "bandit",
            self._bandit,
            era=secrets.token_hex(32) if task is None else task.era,
            identities=(known.leader.hex(), known.helper.hex()),
            commitments=commitments,
            helper_budget=theirs,
        )
        assert isinstance(made, TwoServerGLM)
        return made

    def _commitments(self) -> tuple[str, str]:
        return self._agreement.commitment(), self._helper.ask("offer").hex()

    # reports and steps

    def _ask(self, party: Aggregator) -> None:
        """About all reports that wait and have room in the open step. Those that the helper has no room for wait on: it
        has not closed the last step yet."""
        most, last = min(MOST, LARGEST // messages.job_length(party.task)), b""
        while not self._ended and (jobs := party.jobs(most)) and jobs != last:
            party.decide(self._helper.ask("verify", jobs))
            last = jobs

    def _close(self, party: Aggregator) -> bool:
        """The step that the analyzer waits for, if it is full or was closed before: whether it was closed."""
        assert self.analysis is not None
        step = self.analysis.step
        if party.step == step and (party.missing or self.analysis.server.over):
            return False
        number = step.to_bytes(4, "little")
        own = party.certificate(step)
        theirs = self._helper.ask("certificate", number)
        commitments = party.release(theirs), self._helper.ask("release", own)
        leaves = party.leaf(commitments[HELPER]), self._helper.ask("leaf", commitments[LEADER])
        self.analysis.take(leaves[LEADER] + leaves[HELPER])
        self._ask(party)
        return True

    # what devices get

    def _show(self, party: Aggregator) -> None:
        assert self.analysis is not None
        now = time.time()
        board = self.analysis.board(now, party.leaves(self.analysis.step))
        fresh = time.monotonic() >= self._renewing
        if board.signatures is None:
            board = self.analysis.signed(board, party.sign(board.text) + self._helper.ask("sign", board.text))
        elif self.shown is not None and not fresh:
            return
        if fresh:
            self._keys = party.key(), self._helper.ask("key")
            self._renewing = time.monotonic() + min(RENEW, self.setting.key_life / 10)
        assert board.signatures is not None
        found = self._agreement.found()
        assert found is not None
        text = Billboard(party.task.text, found[1], board.text, board.signatures, self._keys).text
        self.shown = Board.of(text, "text/plain")
