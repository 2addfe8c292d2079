"""Which batches of a shuffler are closed, remembered outside of its database and its folder of keys. An older copy of
both, put back, would open a batch again and hand over a second sum of almost the same people: the difference of the two
may be one person's report."""

import json
import threading
from pathlib import Path

from reticent.core.file_witness import write
from reticent.errors import BadState, RolledBack
from reticent_serve.holders.seal import using


class WitnessRole:
    """A file of its own. `closed`: the last batch that was closed; -1 before the first."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock, self.closed = path, threading.Lock(), -1

    def open(self, new: bool) -> None:
        """RolledBack if there is none, unless the database is `new`."""
        with using():
            if self._path.exists():
                try:
                    self.closed = int(json.loads(self._path.read_text())["closed"])
                except (ValueError, TypeError, KeyError):
                    raise BadState(f"Expected {self._path.name} to be readable, got a damaged file.") from None
            elif new:
                write(self._path, {"closed": self.closed})
            else:
                raise RolledBack(
                    f"Expected {self._path.name}, which says which batches were closed, got none: without it nobody "
                    "can tell this database from an older copy. Give the shuffler a new file as database."
                )

    def record(self, number: int) -> None:
        """On disk when this returns."""
        with self._lock, using():
            if number > self.closed:
                write(self._path, {"closed": number})
                self.closed = number
