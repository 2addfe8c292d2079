"""Reports that come through a relay, sealed to a key of their batch: what is refused is refused alone."""

import os
from pathlib import Path

from reticent.errors import BadReport, BadState
from reticent_devices.roles import identity, sealed
from reticent_devices.roles.wire import Parameters


class Identity:
    """What signs the keys of batches and opens nothing, in a file that only its owner may read; a new one if there is
    none."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(identity.drawn())
        self._private = path.read_bytes()
        if len(self._private) != identity.PRIVATE:
            raise BadState(f"Expected the identity of a shuffler in {path.name}, got another file.")
        self.public = identity.public(self._private)

    def batch(self, of: Parameters, secret: bytes) -> "Opening":
        return Opening(of, sealed.shown_key(self._private, secret, of), secret)


class Opening:
    """Of the sealed reports of one batch. shown: its public key, for devices."""

    def __init__(self, of: Parameters, shown: bytes, secret: bytes) -> None:
        self.shown, self._of, self._secret = shown, of, secret

    def opened(self, body: bytes) -> list[bytes | str]:
        """The reports in a body of sealed ones, or why one is refused."""
        return [self._one(piece) for piece in pieces(body, self._of.length + sealed.LONGER)]

    def _one(self, piece: bytes) -> bytes | str:
        try:
            number = sealed.number_in(piece)
            if number != self._of.batch:
                return "late" if number < self._of.batch else "wrong batch"
            return sealed.opened(piece, self._secret, self._of)
        except BadReport:
            return "not sealed"


def pieces(body: bytes, length: int) -> list[bytes]:
    """The reports in a body of many of that length; one piece where it is no multiple."""
    step = length if length and body and len(body) % length == 0 else max(1, len(body))
    return [body[at : at + step] for at in range(0, max(1, len(body)), step)]
