"""Configurations of `reticent serve aggregator`: strict, with reasons."""

import pytest

from lab_tests.raising import raised
from reticent_two.service import command, files, settings

GOOD = {
    "aggregator": {
        "role": "helper",
        "budget": {"epsilon": 1.0, "delta": 1e-6},
        "database": "helper.db",
        "counter": "apart/helper.counter",
        "identity": "helper.identity",
        "listen": "127.0.0.1:0",
    }
}
LEADER = {"role": "leader", "peer": "https://helper.example:8326"}
BANDIT = {"features": 2, "budget": {"epsilon": 1.0, "delta": 1e-6}}


def changed(**given):
    return {"aggregator": {name: value for name, value in (GOOD["aggregator"] | given).items() if value is not None}}


def leader(**given):
    return changed(**LEADER | {"listen": None} | given) | {"bandit": BANDIT}


def test_files_are_beside_the_configuration(tmp_path):
    found = settings.convert(GOOD, tmp_path).aggregator
    assert found.database == str(tmp_path / "helper.db") and found.counter_file == tmp_path / "apart/helper.counter"
    made = settings.convert(leader(counter="/elsewhere/a"), tmp_path)
    assert str(made.aggregator.counter_file) == "/elsewhere/a" and made.bandit.kind == "two-server-glm"


@pytest.mark.parametrize(("document", "what"), [
    ({}, "in the configuration"), (changed(role="third"), "leader"),
    (changed(budget={"epsilon": 1.0, "delta": 1e-6, "unit": {"rounds": 2}}), "budget for one round"),
    (changed(listen=None), "listen for a helper"), (changed(peer="https://a:1"), "peer for a leader"),
    (changed(listen="8326"), "HOST:PORT"), (leader(peer="http://helper.example:8326"), "https://HOST:PORT"),
    (leader(peer="https://helper.example"), "https://HOST:PORT"),
    (changed(peer_identity="00"), "64 hexadecimal"), (changed(key_life=10), "key_life"),
    (changed(board_life="40 days"), "board_life"), (changed(every=0), "every"),
    (changed(counter=None), "counter, a file"),
    (changed(counter="helper.counter"), "counter in another folder than database"),
    (changed(counter="apart/../helper.counter"), "counter in another folder than database"),
    (changed(dim=2), "a setting of"), (GOOD | {"bandit": BANDIT}, "leader alone"),
    (changed(**LEADER, listen=None), "leader alone"),
    (leader() | {"server": {"host": "0.0.0.0"}}, "tls_certificate"),
])  # fmt: skip
def test_what_is_wrong_is_named(document, what, tmp_path):
    raised(ValueError, settings.convert, document, tmp_path).match(f"Expected.*{what}")


def test_the_first_start_makes_keys_and_says_what_to_send(tmp_path):
    said = []
    with pytest.raises(ValueError, match="which the other operator sends"):
        command.application(settings.convert(GOOD, tmp_path), said.append)
    own = files.opened(tmp_path / "helper.identity")
    assert (
        own.public.hex() in said[0]
        and str(own.certificate) in said[1]
        and b"CERTIFICATE" in own.certificate.read_bytes()
    )
    for path in (tmp_path / "helper.identity", own.key):
        assert path.stat().st_mode & 0o077 == 0
    assert files.opened(tmp_path / "helper.identity") == own
    (tmp_path / "other").write_text("something")
    raised(Exception, files.opened, tmp_path / "other").match("Expected the identity of an aggregator")
