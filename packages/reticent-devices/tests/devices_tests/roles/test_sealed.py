"""Reports sealed to a key of their batch: opened by who has its secret, bound to their batch, refused when damaged."""

import pytest

from devices_tests.roles.boards import device, published
from reticent.errors import BadReport
from reticent_devices.roles import billboard as boards
from reticent_devices.roles import hpke, identity, sealed

BOARD = published("newton")[1]
OF, _ = boards.shuffle(BOARD)
SECRET, SIGNER = hpke.drawn(), identity.drawn()
PINNED = identity.public(SIGNER)
SHOWN = sealed.shown_key(SIGNER, SECRET, OF)


def report():
    client = device(BOARD)
    return client.randomize(client.choose([[0.6, 0.0], [0.0, 0.9]]), 1.0)


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_what_is_sealed_is_opened_by_its_batchs_secret_alone():
    key, one = sealed.checked(SHOWN, PINNED), report()
    text = sealed.sealed(one, key)
    assert sealed.opened(text, SECRET, OF) == one and one not in text and len(text) == len(one) + sealed.LONGER
    assert text != sealed.sealed(one, key)
    bad = [flipped(text, i) for i in (0, 1, 8, 9, 10, 40, 41, 57, len(text) - 1)]
    for each in (b"", text[:-1], text + b"0", text[: sealed.LONGER - 1], *bad, "text", None):
        with pytest.raises(BadReport, match="Expected"):
            sealed.opened(each, SECRET, OF)
    for secret, of in ((hpke.drawn(), OF), (SECRET, OF._replace(digest=bytes(16)))):
        with pytest.raises(BadReport, match="sealed to this key"):
            sealed.opened(text, secret, of)


def test_a_key_that_the_pinned_identity_has_not_signed_is_refused():
    assert sealed.checked(SHOWN, PINNED).number == OF.batch and len(SHOWN) == sealed.SHOWN
    for shown in (b"", SHOWN[:-1], SHOWN + b"0", *(flipped(SHOWN, i) for i in range(sealed.SHOWN))):
        with pytest.raises(BadReport, match="the pinned shuffler has signed"):
            sealed.checked(shown, PINNED)
    with pytest.raises(BadReport, match="the pinned shuffler has signed"):
        sealed.checked(SHOWN, identity.public(identity.drawn()))
    for wrong in (b"", PINNED[:-1], PINNED + b"0", None):
        with pytest.raises(ValueError, match="Expected an identity"):
            sealed.sealing(wrong, lambda: SHOWN, bool)


def test_a_signed_key_that_nothing_can_be_sealed_to_is_for_later():
    """A point of low order: whatever is sealed to it anybody opens."""
    text = SHOWN[: -hpke.PUBLIC - identity.SIGNATURE] + bytes(hpke.PUBLIC)
    shown = text + identity.signed(SIGNER, sealed.SIGNED, text)
    with pytest.raises(OSError, match="something can be sealed to"):
        sealed.sealing(PINNED, lambda: shown, bool)(report())
