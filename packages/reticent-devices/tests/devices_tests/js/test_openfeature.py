"""The OpenFeature SDK of Node with its provider, as docs/openfeature.md uses it: with a real server."""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile

import pytest

from devices_tests.js import node
from serve_tests.service.servers import KEYS, Running
from serve_tests.service.test_openfeature import TOML, blocks, choices, written

LISTED, CACHE = node.HERE / "openfeature", node.ROOT / ".cache" / "openfeature"


@pytest.fixture(scope="module")
def modules(package):
    """A folder with our package and OpenFeature's, in the versions of package-lock.json, which are kept in .cache."""
    kept = CACHE / hashlib.sha256((LISTED / "package-lock.json").read_bytes()).hexdigest()[:16]
    if not kept.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = tempfile.mkdtemp(dir=CACHE)
        shutil.copytree(LISTED, fresh, dirs_exist_ok=True)
        node.run("npm", "ci", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", cwd=fresh)
        with contextlib.suppress(OSError):  # another test process was faster
            os.rename(fresh, kept)
        shutil.rmtree(fresh, ignore_errors=True)
    folder = package.parents[2] / "with-openfeature"
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "@openfeature").symlink_to(kept / "node_modules" / "@openfeature")
    (folder / "node_modules" / "reticent-device").symlink_to(package.parent)
    return folder


@pytest.fixture
def server(tmp_path):
    running = Running(tmp_path, TOML)
    yield running
    running.stop()


def test_the_page_in_node_runs(server, modules, tmp_path):
    code = blocks("js")[0].replace("http://127.0.0.1:8321", server.address)
    more = """
    const wrong = async (flag, context) => (await client.getStringDetails(flag, "rest", context)).errorCode;
    const { targetingKey, ...nobody } = ada;
    const codes = [await wrong("nobody", ada), await wrong("health", nobody)];
    codes.push(await wrong("health", { ...ada, age: "old" }));
    client.track("purchase", ada, { value: 3 });
    client.track("health", ada, { value: 1 }); // whose?
    console.log(JSON.stringify(codes));
    """
    (modules / "program.mjs").write_text(code + more)
    printed = node.run("node", modules / "program.mjs", env={"RETICENT_KEY": KEYS["app"]}).splitlines()
    name, propensity = printed[0].split()
    assert name in ("walk", "sleep") and 0 < float(propensity) <= 1
    assert json.loads(printed[1]) == ["FLAG_NOT_FOUND", "TARGETING_KEY_MISSING", "INVALID_CONTEXT"]
    assert choices(server) == 1 and written(server, tmp_path) == [1]
