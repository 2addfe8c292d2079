"""Tokens of the JavaScript device: what the issuer gets is Python's to the byte, and the leader's check takes them."""

import secrets

import pytest
from cryptography.hazmat.primitives import serialization

from tacit.roles.two import admission
from tacit.roles.two.admission import Issuer, IssuerKey, message
from tests.js import vectors


def test_tokens_are_pythons_byte_for_byte(package, run, tmp_path):
    issuer = Issuer(admission.new_issuer())
    known, tape = IssuerKey(issuer.public), vectors.Tape(secrets.token_bytes(4096))
    reports, answers, asked = [secrets.token_bytes(300) for _ in range(3)], [], []
    for report in (*reports[:2], reports[1]):  # the third time the issuer answers for another report
        salt, undo = tape(48), 0
        while not 1 <= undo < known.n:
            undo = int.from_bytes(tape(256), "big")
        blinding = known.blinded(message(report), salt=salt, inverse=undo)
        asked.append(blinding.blinded.hex())
        answers.append(issuer.signed(blinding.blinded))
    key = serialization.load_pem_public_key(issuer.public)
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    given = {"random": vectors.text(tape.data), "issuer": vectors.text(der)}
    given |= {"answers": list(map(vectors.text, answers))}
    order = [reports[0], reports[0], reports[1], reports[2]]
    told = run(
        package, "admitted", vectors.save(given | {"reports": list(map(vectors.text, order))}, tmp_path / "a.json")
    )
    assert told["asked"][:2] == asked[:2] and told["told"] == [
        "Failed to fetch",
        True,
        True,
        "Expected an issuer's answer that makes a token, got another.",
    ]
    sent = [bytes.fromhex(body) for body in told["sent"]]
    assert sent[0] == sent[1] and len(sent) == 3
    for body, report in zip(sent[1:], reports[:2], strict=True):
        assert body[:-256] == report
        known.check(message(report), body[-256:])
    with pytest.raises(Exception, match="a token of the issuer"):
        known.check(message(reports[2]), sent[1][-256:])
