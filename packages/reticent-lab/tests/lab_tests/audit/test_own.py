"""`reticent audit FILE.py:CLASS`: a stranger's algorithm or model."""

import subprocess
import sys

SOUND = "from reticent import JointGLM\n\n\nclass Mine(JointGLM):\n    pass\n"
HALF = """
from reticent.models.glm import GLM


class Half:
    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        return getattr(self.model, name)

    @property
    def sums(self):
        return self.model.sums._replace(sensitivity=self.model.sums.sensitivity / 2)


def mine(settings):
    return Half(GLM.of(settings))
"""


def audit(folder, text, name):
    (folder / "own.py").write_text(text)
    command = [sys.executable, "-m", "reticent", "audit", f"{folder / 'own.py'}:{name}", "--runs", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, " ".join(done.stdout.split())


def test_a_sound_algorithm_stands_and_half_a_sensitivity_is_convicted(tmp_path):
    code, said = audit(tmp_path, SOUND, "Mine")
    assert code == 0 and "budget epsilon 4" in said and "Privacy certificate: Mine" in said
    assert said.count("the claim stands") == 2
    code, said = audit(tmp_path, HALF, "mine")
    assert code == 1 and "of what the ledger has: the claim is false" in said
