"""Tokens that admit reports: RFC 9474's blind signatures, by its published vector, and one token for one report."""

import json
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tacit import Budget, TwoServerGLM
from tacit.errors import BadReport
from tacit.roles.two import admission
from tacit.roles.two.admission import Issuer, IssuerKey, admitting, message

PRIVATE = admission.new_issuer()


def test_the_published_vector():
    """RSABSSA-SHA384-PSS-Deterministic, as the authors of RFC 9474 publish it: every byte."""
    told = json.loads((Path(__file__).parent / "rfc9474.json").read_text())
    p, q, e, d = (int(told[name], 16) for name in "pqed")
    numbers = rsa.RSAPublicNumbers(e, p * q)
    exponents = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
    key = rsa.RSAPrivateNumbers(p, q, d, *exponents, numbers).private_key()
    shape = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    issuer = Issuer(key.private_bytes(*shape))
    known, text = IssuerKey(issuer.public), bytes.fromhex(told["msg"])
    blinding = known.blinded(text, salt=bytes.fromhex(told["salt"]), inverse=int(told["inv"], 16))
    assert blinding.blinded.hex() == told["blinded_msg"]
    assert issuer.signed(blinding.blinded).hex() == told["blind_sig"]
    assert known.finished(text, bytes.fromhex(told["blind_sig"]), blinding).hex() == told["sig"]


def test_a_token_admits_its_report_and_no_other():
    issuer, server = Issuer(PRIVATE), TwoServerGLM(dim=2, budget=Budget(1.0, 1e-6))
    known = IssuerKey(issuer.public)
    device = server.device()
    one, other = (device.report(np.zeros(2), None) for _ in range(2))
    asked, sent, answers = [], [], [None, True, True]

    def ask(blinded):
        asked.append(blinded)
        return issuer.signed(blinded)

    def send(body):
        sent.append(body)
        if (answer := answers.pop(0)) is None:
            raise ConnectionError
        return answer

    admit = admitting(issuer.public, ask, send)
    with pytest.raises(ConnectionError):
        admit(one)
    assert admit(one) and admit(other)
    assert sent[0] == sent[1] and len(asked) == 2  # the same bytes again, by one token
    tokens = [body[-known.size :] for body in sent[1:]]
    for report, token in zip((one, other), tokens, strict=True):
        known.check(message(report), token)
    for report, token in ((other, tokens[0]), (one, tokens[0][:-1] + bytes([tokens[0][-1] ^ 1])), (one, b"")):
        with pytest.raises(BadReport, match="a token of the issuer"):
            known.check(message(report), token)
    assert one[:48] not in b"".join(asked) and tokens[0] not in b"".join(asked)  # the issuer sees neither


def test_an_issuer_that_signs_something_else_is_noticed_and_one_that_is_asked_nonsense_refuses():
    issuer, other = Issuer(PRIVATE), Issuer(admission.new_issuer())
    admit = admitting(issuer.public, other.signed, lambda body: pytest.fail("Expected nothing to be sent."))
    with pytest.raises((OSError, ValueError)):
        admit(bytes(4000))
    for wrong in (b"", bytes(256), b"\xff" * 256, bytes(255) + b"\1" + b"\1"):
        with pytest.raises(ValueError, match="a blinded message of 256 bytes"):
            issuer.signed(wrong)
    small = rsa.generate_private_key(65537, 1024).public_key()
    shape = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    with pytest.raises(ValueError, match="2048 bits"):
        IssuerKey(small.public_bytes(*shape))
