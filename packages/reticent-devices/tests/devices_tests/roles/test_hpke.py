"""HPKE: the reference that JavaScript is compared with has the RFC's known answer, and what it seals is opened."""

import secrets

import pytest

from core_tests.reference import hpke as reference
from reticent.errors import BadReport
from reticent_devices.roles import hpke


def test_the_reference_has_the_known_answer_of_the_rfc():
    """RFC 9180, A.1.1, sequence number 0; that suite differs from ours in the length of the AES key alone."""
    ephemeral, public, info, enc, text, about, expected = map(
        bytes.fromhex,
        (
            "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
            "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
            "4f6465206f6e2061204772656369616e2055726e",
            "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
            "4265617574792069732074727574682c20747275746820626561757479",
            "436f756e742d30",
            "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
        ),
    )
    assert reference.sealed(ephemeral, public, info, text, reference.AES_128, about) == enc + expected


def test_what_the_reference_seals_is_opened_by_its_key_alone():
    private = hpke.drawn()
    text = reference.sealed(secrets.token_bytes(32), hpke.public(private), b"about", b"a report")
    assert hpke.opened(private, b"about", text) == b"a report" and len(text) == 8 + hpke.LONGER
    assert hpke.opened(private, b"", hpke.sealed(hpke.public(private), b"", b"")) == b""
    for wrong in (hpke.drawn(), b"about", text), (private, b"abou", text), (private, b"about", text[:-1]):
        with pytest.raises(BadReport, match="sealed to this key"):
            hpke.opened(*wrong)
