"""docs/tutorial.md as a newcomer follows it: its own files and commands, a real server, application and HTTP."""

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

from serve_tests.service.servers import Running
from tests.examples.messages import EXAMPLE, Page

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text()
FILES = {"serve.toml": "toml", "sample.jsonl": "json", "app.py": "python"}
BIN = Path(sys.executable).parent


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_its_files_are_those_of_the_example():
    for name, language in FILES.items():
        assert blocks(language) == [(EXAMPLE / name).read_text()], name
    actions = tomllib.loads(blocks("toml")[0])["bandits"]["messages"]["features"]["actions"]
    assert re.findall(r'^    "(\w+)": "', blocks("python")[0], re.MULTILINE) == actions and len(PAGE.split()) < 2000


def test_it_runs(tmp_path):
    """From the files of the page to a release, with fewer visitors and a shorter deadline than it has."""
    for name, language in FILES.items():
        (tmp_path / name).write_text(blocks(language)[0])
    (tmp_path / "visitors.py").write_text((EXAMPLE / "visitors.py").read_text())
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert " ".join(line.split()[0] for line in commands) == "reticent reticent sed reticent uvicorn python curl curl"
    plan, check, sed, serve, app, visitors, status, certificate = commands

    path = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}

    def run(command):
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "ε = 1*" in run(plan) and "Nothing is wrong." in run(check)
    run(sed.replace("5 seconds", "1 second"))
    assert serve == "reticent serve try.toml" and app == "uvicorn app:app --no-access-log"
    server = Running(tmp_path, (tmp_path / "try.toml").read_text())
    page = Page(tmp_path, server.address)
    try:
        assert visitors == "python visitors.py 4000"
        page.visitors(120)
        until = time.monotonic() + 60
        while (found := json.loads(run(status.replace("http://127.0.0.1:8321", server.address))))["version"] < 1:
            assert time.monotonic() < until and found["choices"] == 120
            time.sleep(0.2)
        told = json.loads(run(certificate.replace("http://127.0.0.1:8321", server.address)))
        assert told["private"] and told["epsilon"] <= 1.000001 and "enforced: every choice has" in told["unit"]
        assert "What it would offer now" in server.ask("GET", "/dashboard/messages")[2]
        assert server.stop() == 0  # the page is there without it, too
        page.visitors(1)
    finally:
        page.stop()
        server.stop()
