"""Reports sealed to a key of their batch, so that a relay can take a report's sender away and reads nothing itself, and
nobody opens a kept report once the batch is closed: the shuffler destroys the key with it.

A relay that sees an address and an open report breaks the claim of the shuffle model; a shuffler that sees addresses is
trusted with them. With sealed reports behind a relay each sees one of the two. The application pins the shuffler's
identity, which signs the key of each batch: one that came with a billboard would be the server's to choose. Sealed is
by HPKE (roles.hpke), signed by Ed25519 (roles.identity); js/src/sealed.js does the same by WebCrypto.

On the wire. A batch's key: its number (8 bytes), the digest of its billboard (16), the public key (32), the signature
(64). A sealed report: 3, the batch's number, the report by HPKE, bound to number and digest. The number is in the
clear, so that a report that comes too late is told so."""

import urllib.error
import urllib.request
from collections.abc import Callable
from typing import NamedTuple

from reticent.errors import BadReport
from reticent_devices.roles import hpke, identity
from reticent_devices.roles.wire import PLACE, Parameters

VERSION, NUMBER, DIGEST = 3, 8, 16
HEAD = 1 + NUMBER
LONGER = HEAD + hpke.LONGER  # bytes that sealing adds
ABOUT, SIGNED = b"reticent sealed report 3", b"reticent batch key 2"
SHOWN = NUMBER + DIGEST + hpke.PUBLIC + identity.SIGNATURE
GONE = 410


class BatchKey(NamedTuple):
    """The public key of one batch, as its shuffler shows it."""

    place: bytes  # the batch's number and the digest of its billboard
    public: bytes

    @property
    def number(self) -> int:
        return int.from_bytes(self.place[:NUMBER], "little")


# on devices


def sealing(pinned: bytes, fetch: Callable[[], bytes | None], send: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
    """A `send` for an Outbox: seals each report to its batch's key. pinned: the shuffler's identity, 32 bytes in the
    application. fetch: gets what the shuffler shows of the present batch (`get`), through the relay as `send` does;
    None after the last batch. False for a report whose batch is closed: nobody could open it any more."""
    if not isinstance(pinned, bytes) or len(pinned) != identity.PUBLIC:
        raise ValueError(f"Expected an identity of {identity.PUBLIC} bytes, got another.")

    def seal_and_send(report: bytes) -> bool:
        shown = fetch()
        if shown is None:
            return False
        try:
            key = checked(shown, pinned)
            hidden = sealed(report, key)
        except BadReport as error:
            raise ConnectionError(str(error)) from None  # of a relay, say: later again
        number = int.from_bytes(report[PLACE][:NUMBER], "little")
        if key.number < number:
            raise ConnectionError("Expected the key of a report's batch, got that of an earlier one.")
        return key.place == report[PLACE] and send(hidden)

    return seal_and_send


def get(url: str, *, seconds: float = 30.0) -> Callable[[], bytes | None]:
    """A `fetch` by HTTP."""

    def fetch() -> bytes | None:
        try:
            with urllib.request.urlopen(url, timeout=seconds) as answer:
                return bytes(answer.read(SHOWN + 1))
        except urllib.error.HTTPError as answer:
            if answer.code == GONE:
                return None
            raise

    return fetch


def checked(shown: bytes, pinned: bytes) -> BatchKey:
    """A batch's key that the shuffler of that identity has signed, or BadReport."""
    text, signature = shown[: -identity.SIGNATURE], shown[-identity.SIGNATURE :]
    if len(shown) != SHOWN or not identity.holds(pinned, SIGNED, text, signature):
        raise BadReport("Expected a batch's key that the pinned shuffler has signed, got another.")
    return BatchKey(text[: -hpke.PUBLIC], text[-hpke.PUBLIC :])


def sealed(report: bytes, key: BatchKey) -> bytes:
    """A report, for the shuffler that has the private key alone."""
    return bytes([VERSION]) + key.place[:NUMBER] + hpke.sealed(key.public, ABOUT + key.place, report)


# at the shuffler


def shown_key(signer: bytes, secret: bytes, of: Parameters) -> bytes:
    """What devices get of the batch's private key, signed by the shuffler's private identity."""
    text = of.batch.to_bytes(NUMBER, "little") + of.digest + hpke.public(secret)
    return text + identity.signed(signer, SIGNED, text)


def opened(text: bytes, secret: bytes, of: Parameters) -> bytes:
    """The report, by the private key of its batch; BadReport."""
    number_in(text)
    return hpke.opened(secret, ABOUT + text[1:HEAD] + of.digest, text[HEAD:])


def number_in(text: bytes) -> int:
    """Of the batch that a sealed report is for; BadReport if it is none."""
    if not isinstance(text, bytes) or len(text) < LONGER or text[0] != VERSION:
        raise BadReport("Expected a sealed report, got something else or a truncated one.")
    return int.from_bytes(text[1:HEAD], "little")
