"""Configurations of roles: what is wrong is said in one line, before anything is opened."""

import subprocess
import sys

import pytest

from devices_tests.service.roles import running
from reticent_devices.servers import settings

ANALYZER, SHUFFLER = running.analyzer(), running.shuffler(8322)
SHARE = "Expected malicious, the share of a batch's reports that may come from the analyzer"
WRONG = [
    ("analyzer", "", "Expected [analyzer] in the configuration, got none."),
    ("analyzer", SHUFFLER, "Expected [analyzer] in the configuration, got none."),
    ("analyzer", ANALYZER + "horizn = 3", "horizn"),
    ("analyzer", ANALYZER.replace("shuffle-newton", "shuffle-newtn"), "shuffle-newton"),
    ("analyzer", ANALYZER.replace("shuffle-newton", "local-irls"), "a kind that can be served"),
    ("analyzer", ANALYZER.replace("first", "frist"), "an option of shuffle-newton"),
    ("analyzer", ANALYZER.replace("first = 200", 'calibration = "central"'), "got some without a claim"),
    ("analyzer", ANALYZER.replace(", malicious = 0", ""), SHARE),
    ("analyzer", ANALYZER.replace("malicious = 0", "malicious = 1"), "Expected malicious in [0, 1), got 1.0."),
    ("analyzer", ANALYZER.replace("first = 200", "first = 200, largest = 199"), "Expected largest to be at least"),
    ("analyzer", ANALYZER.replace("features = 2", "features = 0"), "Expected features"),
    ("analyzer", ANALYZER.replace("radius = 3.0", 'window = "1 hour"'), "unknown field `window` in reward"),
    ("analyzer", ANALYZER.replace("1e-6", "1e-6, unit = {rounds = 2}"), "Expected a budget for one round with Shuffle"),
    ("analyzer", ANALYZER + '[server]\nhost = "0.0.0.0"', "Expected [[keys]] for an analyzer beyond this machine"),
    (
        "shuffler",
        SHUFFLER + '[server]\nhost = "0.0.0.0"',
        "Expected tls_certificate for a shuffler beyond this machine",
    ),
    ("shuffler", SHUFFLER.replace("http://127.0.0.1", "127.0.0.1"), "Expected analyzer to be http://HOST:PORT"),
    ("shuffler", SHUFFLER.replace("127.0.0.1", "example.org") + 'key = "k"', "the key would show"),
    ("shuffler", SHUFFLER.replace("malicious = 0", ""), SHARE),
    ("shuffler", SHUFFLER.replace("malicious = 0", "malicious = -1"), "Expected malicious in [0, 1), got -1.0."),
    ("shuffler", SHUFFLER.replace("1e-6", "1e-6, unit = {rounds = 2}"), "Expected a budget for one round with a shuff"),
    ("shuffler", SHUFFLER + "minimum = 0", "Expected minimum to be a whole number of at least 1, got 0."),
    ("shuffler", SHUFFLER + "close_after = -1", "Expected close_after to be a positive number"),
    ("shuffler", SHUFFLER + "[server]\nbody = 0", "Expected body to be a whole number"),
    ("local", running.LOCAL + "[server]\nwaitng = 1", "waiting"),
]


def read(role, path):
    settings.build(role, getattr(settings.read(role, path), role))


@pytest.mark.parametrize(("role", "text", "said"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said(tmp_path, role, text, said):
    path = tmp_path / "role.toml"
    path.write_text(text)
    with pytest.raises(ValueError) as error:
        read(role, path)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_files_lie_beside_their_configuration(tmp_path):
    path = tmp_path / "role.toml"
    path.write_text(SHUFFLER + 'key = "key"\nkeys = "/elsewhere"')
    found = settings.read("shuffler", path).shuffler
    assert (found.database, found.keys, found.key) == (
        str(tmp_path / "shuffler.db"),
        "/elsewhere",
        str(tmp_path / "key"),
    )
    assert settings.read("shuffler", path).server.port == 8323


def test_a_key_file_that_is_missing_is_named(tmp_path):
    path = tmp_path / "role.toml"
    path.write_text(SHUFFLER + 'key = "missing.key"')
    command = [sys.executable, "-m", "reticent", "serve", "shuffler", str(path), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode and done.stderr.endswith(
        f"Expected the key in {tmp_path / 'missing.key'}, got: No such file or directory.\n"
    )


@pytest.mark.parametrize("words", [["analyzer"], ["analyzr", "role.toml"], ["shuffler", "missing.toml"]])
def test_the_command_says_in_one_line_what_it_expected(tmp_path, words):
    command = [sys.executable, "-m", "reticent", "serve", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode and done.stderr.count("\n") == 1 and "Expected" in done.stderr
