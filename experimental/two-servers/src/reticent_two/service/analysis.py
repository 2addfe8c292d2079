"""What the analyzer does, in the leader's process: it follows what both servers have released, and writes boards.

All of it is public: FILE.public has the leaves of every step and every board, the board before anybody has signed it,
so that after a crash the same one is signed and no second one of its version. The estimate is made from the leaves at
each start."""

from pathlib import Path
from typing import Any, NamedTuple

from reticent.errors import BadState
from reticent_serve.holders.sqlite import SQLite
from reticent_two.bandits.glm import TwoServerGLM
from reticent_two.roles import board as boards
from reticent_two.roles import wire
from reticent_two.roles.board import NOTHING
from reticent_two.roles.task import Task

TABLES = (
    "CREATE TABLE IF NOT EXISTS released (step INTEGER PRIMARY KEY, leaves BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS board (version INTEGER PRIMARY KEY, text BLOB NOT NULL, signatures BLOB)",
)


class StoredBoard(NamedTuple):
    """signatures: None until both have signed it."""

    version: int
    text: bytes
    signatures: bytes | None


class Analysis:
    """server: new, with the task's settings."""

    def __init__(self, server: TwoServerGLM, task: Task, path: Path, life: float) -> None:
        if server.task.text != task.text:
            raise BadState(
                "Expected the settings that this era was agreed on with, got others: a new era needs a new database "
                "and counter file."
            )
        self.server, self._life = server, int(life)
        self._database = SQLite(path)
        with self._database.transaction() as run:
            for table in TABLES:
                run(table)
            for (leaves,) in run("SELECT leaves FROM released ORDER BY step"):
                server.observe(leaves)
            self._last = self._read(run)

    def _read(self, run: Any) -> StoredBoard | None:
        found = run("SELECT version, text, signatures FROM board ORDER BY version DESC LIMIT 1")
        return StoredBoard(*found[0]) if found else None

    def close(self) -> None:
        self._database.close()

    @property
    def step(self) -> int:
        """Steps that it has followed."""
        return self.server.version

    def take(self, leaves: bytes) -> None:
        """Both leaves of the next step."""
        self.server.leaves(leaves)  # others are refused, and not kept
        with self._database.transaction() as run:
            run("INSERT INTO released (step, leaves) VALUES (?, ?)", self.server.version, leaves)
        self.server.observe(leaves)

    # boards

    def board(self, now: float, leaves: tuple[str, str]) -> StoredBoard:
        """The last one, or the next where there is something new, or the last is half over. leaves: hashes of what both
        have released of the last step."""
        last, step = self._last, self.server.version
        read = None if last is None else boards.read(self.server.task, last.text)
        if last is not None and read is not None:
            valid = read.step == step and now < read.made + self._life / 2
            if valid or last.signatures is None:
                return last
        version, previous = (0, NOTHING) if last is None else (last.version + 1, boards.hashed(last.text))
        until = int(now) + self._life
        if read is not None and read.step == step:
            text = boards.written(boards.renewed(read, previous=previous, made=int(now), expires=until))
        else:
            given: Any = {"version": version, "previous": previous, "made": int(now), "expires": until}
            text = self.server.board(leaves=leaves, **given)
        new = StoredBoard(version, text, None)
        with self._database.transaction() as run:
            run("INSERT INTO board (version, text) VALUES (?, ?)", new.version, new.text)
        self._last = new  # now that it is on disk: nobody signs another one of its version
        return new

    def signed(self, board: StoredBoard, signatures: bytes) -> StoredBoard:
        with self._database.transaction() as run:
            run("UPDATE board SET signatures = ? WHERE version = ?", signatures, board.version)
        self._last = board._replace(signatures=signatures)
        return self._last

    def shown(self) -> StoredBoard | None:
        """The last one that both have signed."""
        if self._last is None or self._last.signatures is not None:
            return self._last
        with self._database.transaction() as run:
            found = run(
                "SELECT version, text, signatures FROM board WHERE signatures IS NOT NULL ORDER BY version DESC LIMIT 1"
            )
        return StoredBoard(*found[0]) if found else None

    @property
    def length(self) -> int:
        """Of a report."""
        return wire.length(self.server.task)
