"""`make dist` packs the same bytes in any folder, at any time, with any umask; its bill of materials is complete."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import sbom

ROOT = Path(__file__).parents[2]
LOCK = sbom.locked((ROOT / "requirements.lock").read_text())


@pytest.mark.full
def test_the_same_bytes_twice(tmp_path):
    """Wheels, sdists, bill and npm's package, from a folder as it is cloned: it has no .cache."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    made = []
    for name, umask in (("one", 0o022), ("another, elsewhere", 0o077)):
        folder = tmp_path / name
        for file in listed.splitlines():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, folder / file)  # with the time of now
            if umask == 0o077:
                (folder / file).chmod(0o600)
            if file.endswith((".lock", "pyproject.toml")):
                os.utime(folder / file, (0, 0))  # older than the environment, which is this one
        (folder / ".venv").symlink_to(ROOT / ".venv")
        environment = os.environ | {
            "SOURCE_DATE_EPOCH": "1600000000",
            "PYTHONPATH": str(folder / "packages/reticent/src"),
        }
        subprocess.run(["make", "packed"], cwd=folder, env=environment, umask=umask, check=True)
        made.append({file.name: file.read_bytes() for file in (folder / "dist").iterdir()})
    assert sorted(Path(name).suffix for name in made[0]) == [*[".gz"] * 6, ".json", ".tgz", *[".whl"] * 6]
    assert made[0].keys() == made[1].keys() and [name for name in made[0] if made[0][name] != made[1][name]] == []


PARTS = sorted(
    path.parent for path in [*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("experimental/*/pyproject.toml")]
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_wheel_has_every_file_of_its_package(part, tmp_path):
    """What runs in a clean environment: `make dist`."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=part, check=True, capture_output=True)
    [found] = tmp_path.iterdir()
    with zipfile.ZipFile(found) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
    listed = subprocess.run(["git", "ls-files", "src"], cwd=part, capture_output=True, text=True, check=True).stdout
    assert names == {line.removeprefix("src/") for line in listed.splitlines()} and f"{names}".count("py.typed") == 1


def wheel(folder):
    """A wheel with the metadata that this project has, as hatchling wrote them."""
    [own] = list(metadata.distributions(name="reticent"))
    with zipfile.ZipFile(folder / "reticent.whl", "w") as file:
        file.writestr("reticent.dist-info/METADATA", own.read_text("METADATA"))
    return folder / "reticent.whl"


def installed(name, extras, found):
    """The distributions that a requirement leads to here, by their own metadata."""
    for line in metadata.requires(name) or []:
        required = Requirement(line)
        child = canonicalize_name(required.name)
        applies = required.marker is None or any(required.marker.evaluate({"extra": one}) for one in (*extras, ""))
        if applies and child not in found:
            found.add(child)
            installed(child, required.extras, found)
    return found


def test_the_bill_has_all_that_is_installed(tmp_path):
    document = sbom.bill(wheel(tmp_path), LOCK)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    components = {(one["name"], one["version"]): one["scope"] for one in document["components"]}
    core, whole = installed("reticent", (), set()), installed("reticent", ("logs", "composition"), set())
    assert {"numba", "llvmlite"} <= core and {"polars", "dp-accounting"} <= whole - core
    for name in whole:
        assert components[name, metadata.version(name)] == ("required" if name in core else "optional"), name
    assert not {"pytest", "ruff", "pandas"} & {name for name, _ in components}
    references = {one["bom-ref"] for one in document["components"]} | {document["metadata"]["component"]["bom-ref"]}
    assert {one["ref"] for one in document["dependencies"]} == references
    assert all(set(one["dependsOn"]) <= references for one in document["dependencies"])
    assert all(len(each) > 0 for each in [one["externalReferences"][0]["hashes"] for one in document["components"]])


def test_the_bill_is_the_same_bytes_and_names_its_wheel(tmp_path, monkeypatch):
    path = wheel(tmp_path)
    first = json.dumps(sbom.bill(path, LOCK))
    assert first == json.dumps(sbom.bill(path, LOCK))
    path.write_bytes(path.read_bytes() + b"\0")
    other = sbom.bill(path, LOCK)
    assert json.loads(first)["serialNumber"] != other["serialNumber"]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    assert sbom.bill(path, LOCK)["metadata"]["timestamp"] == "2020-09-13T12:26:40Z"
