"""Reports sealed to a key of their batch: opened by who has its secret, bound to their batch, refused when damaged."""

import secrets

import pytest

from tacit.errors import BadReport
from tacit.roles import billboard as boards
from tacit.roles import sealed
from tests.roles.boards import device, published

BOARD = published("newton")[1]
OF, _ = boards.shuffle(BOARD)
SECRET = secrets.token_bytes(32)
IDENTITY = sealed.new_identity()
SHOWN = sealed.shown_key(IDENTITY, SECRET, OF)


def report():
    client = device(BOARD)
    return client.randomize(client.choose([[0.6, 0.0], [0.0, 0.9]]), 1.0)


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_what_is_sealed_is_opened_by_its_batchs_secret_alone():
    key, one, unseal = sealed.checked(SHOWN, sealed.public_identity(IDENTITY)), report(), sealed.opener(SECRET)
    text = sealed.sealed(one, key)
    assert unseal(text) == one and one not in text and len(text) == len(one) + sealed.LONGER
    assert text != sealed.sealed(one, key)
    bad = [flipped(text, i) for i in (0, 1, 8, 9, 10, 40, 73, 74, 90, len(text) - 1)]
    for each in (b"", text[:-1], text + b"0", text[: sealed.LONGER - 1], *bad, "text", None):
        with pytest.raises(BadReport, match="Expected a"):
            unseal(each)
    with pytest.raises(BadReport, match="its batch's key"):
        sealed.opener(secrets.token_bytes(32))(text)


def test_a_key_that_the_pinned_identity_has_not_signed_is_refused():
    identity = sealed.public_identity(IDENTITY)
    assert sealed.checked(SHOWN, identity).number == OF.batch and len(SHOWN) == sealed.SHOWN
    for shown in (b"", SHOWN[:-1], SHOWN + b"0", *(flipped(SHOWN, i) for i in range(sealed.SHOWN))):
        with pytest.raises(BadReport, match="the pinned shuffler has signed"):
            sealed.checked(shown, identity)
    with pytest.raises(BadReport, match="the pinned shuffler has signed"):
        sealed.checked(SHOWN, sealed.public_identity(sealed.new_identity()))
    for wrong in (b"", identity[:-1], bytes(65), b"\x04" + bytes(64), identity + b"0"):
        with pytest.raises(BadReport, match="Expected an identity"):
            sealed.sealing(wrong, lambda: SHOWN, bool)
