"""Whether reports may come in: with the issuer's public key in the configuration, each has a token behind it
(roles.two.admission). A token signs its report's nonce, and nonces count once: nothing is kept of tokens."""

from pathlib import Path

from tacit.errors import BadReport
from tacit.roles.two.admission import IssuerKey, message


class Gate:
    """issuer: the file with the issuer's public key, None if every report may come in."""

    def __init__(self, issuer: str | None) -> None:
        self._key = None if issuer is None else IssuerKey(Path(issuer).read_bytes())

    def parted(self, body: bytes, length: int) -> tuple[list[bytes], list[bool]]:
        """The reports in a body, each of that length, and which of them have their token; BadReport."""
        size = 0 if self._key is None else self._key.size
        if not body or len(body) % (length + size):
            behind = f" and a token of {size} bytes behind each" if size else ""
            raise BadReport(f"Expected whole reports of {length} bytes each{behind}, got another length.")
        whole = [body[at : at + length + size] for at in range(0, len(body), length + size)]
        return [each[:length] for each in whole], [self._admits(each[:length], each[length:]) for each in whole]

    def _admits(self, report: bytes, token: bytes) -> bool:
        if self._key is None:
            return True
        try:
            self._key.check(message(report), token)
        except BadReport:
            return False
        return True
