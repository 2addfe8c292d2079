"""What needs no extra works without: names, `help`, every command's own. The packages themselves: tests/smoke.py."""

import subprocess
import sys

BARE = """
import sys
ABSENT = {"apsw", "psycopg", "cryptography", "Cryptodome", "starlette", "uvicorn", "httptools", "uvloop"}
ABSENT |= {"prometheus_client", "polars", "matplotlib", "sklearn", "dp_accounting", "ray"}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
import pydoc, reticent
from reticent import *
assert all(name in globals() for name in reticent.__all__)
assert "JointGLM" in pydoc.render_doc(reticent)
from reticent.cli import app
from typer.testing import CliRunner
for command in app.registered_commands:
    said = CliRunner().invoke(app, [command.name, "--help"])
    assert said.exit_code == 0, (command.name, said.exception)
"""


def test_names_and_help_need_no_extra():
    done = subprocess.run([sys.executable, "-c", BARE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
