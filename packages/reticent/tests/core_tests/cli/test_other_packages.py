"""A package of somebody else adds a bandit to the command line, by the same entry point as reticent's own."""

import json
import os
import subprocess
import sys

BANDIT = '''
from dataclasses import dataclass
from reticent.references.uniform import Uniform

JOINT = {"TheirBandit": "theirs"}


@dataclass(kw_only=True, eq=False)
class TheirBandit(Uniform):
    """A bandit of another package."""
'''


def simulate(name, folder, env="ball"):
    options = ("--horizon", "20", "--runs", "1", "--json")
    command = [sys.executable, "-m", "reticent", "simulate", name, "--env", env, *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path[1:]])}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def installed(folder, text):
    """As an installer leaves it: a module, and a folder that says what it brings."""
    (folder / "theirs.py").write_text(text)
    about = folder / "theirs-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[reticent]\ntheirs = theirs\n")


def test_a_bandit_of_another_package_is_found_by_its_name(tmp_path):
    refused = simulate("their-bandit", tmp_path)
    assert refused.returncode == 1 and "Expected a bandit, got 'their-bandit'" in refused.stderr
    installed(tmp_path, BANDIT)
    done = simulate("their-bandit", tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["bandit"] for row in json.loads(done.stdout)["rows"]] == ["their-bandit"]


def test_a_name_that_is_taken_is_refused(tmp_path):
    installed(tmp_path, BANDIT.replace("TheirBandit", "JointGLM"))
    refused = simulate("joint-glm", tmp_path)
    assert refused.returncode == 1 and "Expected new names in theirs.JOINT, got JointGLM again." in refused.stderr
