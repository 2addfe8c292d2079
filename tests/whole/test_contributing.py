"""What CONTRIBUTING.md promises: its examples run, are typed as the package is, and one registration is enough."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from mypy import api

from core_tests.cli.test_other_packages import installed, simulate
from tools import links as translated

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = {
    title: re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for title, text in zip(*[iter(re.split(r"^### (.*)$", TEXT, flags=re.MULTILINE)[1:])] * 2, strict=True)
}
LINKS = "packages/reticent/src/reticent/model/links.py"
BLOCKS = [block for blocks in SECTIONS.values() for block in blocks]


def place(block):
    """The file that a block is for, by its first line; "" if it is for none."""
    return "".join(re.findall(r"\A# (packages/[\w/-]+)\.py\n", block))


def test_there_is_something_to_try():
    wanted = {"A model", "An algorithm", "A link", "A world", "A mechanism", "An attack", "A reproduction"}
    assert wanted <= set(SECTIONS)
    assert [place(block).split("/")[2] for block in BLOCKS if place(block)] == ["src", "tests"] * 3


def test_what_has_to_be_read_before_a_model_is_short():
    listed = re.findall(r"^\| `(packages/reticent/src/reticent/[\w/]+\.py)` \| (\d+) \|", TEXT, re.MULTILINE)
    lines = [len((ROOT / file).read_text().splitlines()) for file, _ in listed]
    assert len(listed) >= 5 and sum(lines) <= 900
    for (file, said), counted in zip(listed, lines, strict=True):
        assert abs(int(said) - counted) <= 20, file


@pytest.mark.parametrize("title", SECTIONS)
def test_examples_run(title, tmp_path, monkeypatch):
    """What is for a file of the package is that module to the test after it, whose functions are run."""
    monkeypatch.chdir(tmp_path)
    for block in SECTIONS[title]:
        name = re.sub(r"^packages/[\w-]+/(src|tests)/", "", place(block)).replace("/", ".") or "docs"
        monkeypatch.setitem(sys.modules, name, module := type(sys)(name))
        exec(compile(block, name, "exec", dont_inherit=True), module.__dict__)
        for test in [value for key, value in vars(module).items() if key.startswith("test_")]:
            test()


def test_examples_are_typed_and_tidy_as_they_are_pasted(tmp_path, monkeypatch):
    """By the settings of the package. Tests have no types."""
    monkeypatch.setenv("MYPYPATH", str(ROOT / "packages/reticent/src"))
    files = [tmp_path / f"{place(block).replace('/', '_')}_{i}.py" for i, block in enumerate(BLOCKS)]
    for file, block in zip(files, BLOCKS, strict=True):
        file.write_text(block)
    config, cache = str(ROOT / "pyproject.toml"), str(ROOT / ".cache" / "mypy-of-examples")
    typed = [str(file) for file in files if "_tests_" not in file.name]
    out, problems, status = api.run(["--config-file", config, "--cache-dir", cache, *typed])
    assert status == 0 and not problems, out + problems
    ours = 'lint.isort.known-first-party = ["reticent*", "*_tests"]'  # also modules that are not there
    for command in (["check", "--config", ours], ["format", "--diff"]):
        ruff = [str(Path(sys.executable).parent / "ruff"), *command, "--config", config]
        done = subprocess.run([*ruff, *map(str, files)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_one_row_registers_an_algorithm_and_one_a_world(tmp_path):
    (algorithm, _), (world, _) = SECTIONS["An algorithm"], SECTIONS["A world"]
    tables = '\nREFERENCES = {"Greedy": "theirs"}\nENVIRONMENTS = {"corners": ("theirs", "corners")}\n'
    installed(tmp_path, algorithm + world + tables)
    done = simulate("greedy", tmp_path, env="corners")
    assert done.returncode == 0, done.stderr


def test_a_link_is_one_file(tmp_path):
    """The patch of links.py applies, and the link is what it should be, in Python and for JavaScript."""
    (patch,) = re.findall(r"```diff\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / LINKS
    path.parent.mkdir(parents=True)
    shutil.copy(ROOT / LINKS, path)
    git = ["git", "apply", "-p0", "--unsafe-paths", f"--directory={tmp_path}"]
    subprocess.run(git, input=patch, text=True, check=True, cwd=tmp_path)
    spec = importlib.util.spec_from_file_location("patched_links", path)
    links = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = links
    spec.loader.exec_module(links)
    link, z, step = links.named("laplace"), np.linspace(-5, 5, 101), 1e-6
    assert np.allclose(link.mean(z), np.where(z < 0, np.exp(-np.abs(z)), 2 - np.exp(-np.abs(z))) / 2)
    assert np.allclose((link.mean(z + step) - link.mean(z - step)) / (2 * step), link.slope(z), atol=1e-5)
    rise = [links.integral(link.code, v + step) - links.integral(link.code, v - step) for v in z]
    assert np.allclose(np.array(rise) / (2 * step), link.mean(z), atol=1e-5)
    assert "e = 0.5 * decay(Math.abs(z))" in translated.function(links.mean, link)
