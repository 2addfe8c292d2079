"""Reports that come through a relay, sealed to the shuffler's key: what is refused is refused alone."""

import os
from pathlib import Path

from tacit.errors import BadReport
from tacit.roles import sealed


class Sealing:
    """The private key in a file that only its owner may read; a new one if there is none."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(sealed.new_key())
        private = path.read_bytes()
        self.public, self._open = sealed.public_key(private), sealed.opener(private)

    def opened(self, body: bytes, length: int | None) -> list[bytes | None]:
        """The reports in a body of sealed ones: many where each has `length` bytes when it is open, else one. None for
        what cannot be opened."""
        step = len(body) if length is None or len(body) % (length + sealed.LONGER) else length + sealed.LONGER
        return [self._one(body[at : at + step]) for at in range(0, max(1, len(body)), max(1, step))]

    def _one(self, piece: bytes) -> bytes | None:
        try:
            return self._open(piece)
        except BadReport:
            return None
