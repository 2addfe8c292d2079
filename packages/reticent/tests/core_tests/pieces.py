"""A log in pieces, as reticent.core.logs.LongLog has it, of one polars frame."""


class Pieces:
    def __init__(self, frame):
        self._frame = frame
        self.fields = frame.columns

    @property
    def count(self):
        return len(self._frame)

    def tables(self, start, count, at_once, names=None):
        rows = self._frame[start : start + count] if names is None else self._frame[start : start + count][names]
        return (rows[i : i + at_once] for i in range(0, len(rows), at_once))

    def sums(self, validator, actions, *, anywhere):
        """They are looked at one by one."""
