"""A leader that takes reports with tokens alone: as many as somebody who knows accounts has signed, blindly."""

import json

import pytest

from tacit.errors import BadReport
from tacit.roles.two import admission
from tacit.service.two.gate import Gate
from tests.service.roles import pair as pairs
from tests.service.roles.running import until


def test_a_body_is_parted_and_each_report_goes_by_its_own_token(tmp_path):
    issuer, reports, bodies = admission.Issuer(admission.new_issuer()), [bytes([i]) * 99 for i in range(3)], []
    (tmp_path / "issuer.pem").write_bytes(issuer.public)
    gate = Gate(str(tmp_path / "issuer.pem"))
    send = admission.admitting(issuer.public, issuer.signed, lambda body: bool(bodies.append(body)) or True)
    assert all(map(send, reports))
    mixed = bodies[0] + reports[1] + bodies[0][99:] + bodies[2]
    assert gate.parted(mixed, 99) == (reports, [True, False, True])
    assert Gate(None).parted(b"".join(reports), 99) == (reports, [True] * 3)
    for one, wrong in ((gate, reports[0]), (gate, b""), (gate, bodies[0][1:]), (Gate(None), bodies[0])):
        with pytest.raises(BadReport, match="whole reports of 99 bytes"):
            one.parted(wrong, 99)


@pytest.mark.full
def test_a_leader_takes_each_report_by_its_own_token(start, tmp_path, monkeypatch):
    issuer = admission.Issuer(admission.new_issuer())
    (tmp_path / "leader").mkdir()
    (tmp_path / "leader" / "issuer.pem").write_bytes(issuer.public)
    monkeypatch.setattr(pairs, "LEADER", pairs.LEADER.replace("every =", 'admission = "issuer.pem"\nevery ='))
    pair = pairs.Pair(start, tmp_path)
    reports, bodies = pair.reports(3), []
    send = admission.admitting(issuer.public, issuer.signed, lambda body: bool(bodies.append(body)) or True)
    assert all(map(send, reports))
    tokens = [body[len(reports[0]) :] for body in bodies]
    assert pair.send(reports[0])[0] == 422  # none
    status, _, said = pair.send(reports[0] + tokens[1])
    assert status == 422 and b"a token of the issuer" in said
    mixed = bodies[0] + reports[1] + tokens[0] + bodies[2]
    assert json.loads(pair.send(mixed)[2]) == {"taken": 2, "refused": {"not admitted": [1]}}
    assert json.loads(pair.send(bodies[0])[2]) == {"taken": 1}  # known: it counts once
    assert json.loads(pair.send(bodies[1])[2]) == {"taken": 1}
    until(lambda: pair.status(0)["step"] == 1 and pair.status(0)["users"] == 3)
