"""docs/operator.md: its configuration is served, and its commands run as they stand there."""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from reticent import cli
from reticent_serve.service import config as configs
from reticent_serve.service import demo
from serve_tests.service.servers import Running

PAGE = (Path(__file__).parents[5] / "docs" / "operator.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs(tmp_path, monkeypatch):
    served = "\n".join(block for block in blocks("toml") if block.startswith("[bandits."))
    server, replies = Running(tmp_path, served), []
    for block in blocks("sh"):
        for command in re.split(r"\n(?=curl)", block.strip()):
            found = next((json.loads(text)["id"] for text in replies), "")
            here = command.replace("http://127.0.0.1:8321", server.address).replace('"ID"', f'"{found}"')
            replies.append(subprocess.run(["bash", "-c", here], capture_output=True, text=True, check=True).stdout)
    chosen, rewarded, batch, *shown, erased = replies
    certificate, status, estimate, history, segments, metrics, health, ready = shown
    assert "cannot be undone" in json.loads(erased)["remains"] and json.loads(segments)["segments"] is None
    assert json.loads(chosen)["name"] in ("hello", "welcome") and json.loads(rewarded) == {"acknowledged": True}
    assert [json.loads(line)["name"] for line in batch.splitlines()] == [None, None]
    assert json.loads(certificate)["private"] and json.loads(status)["choices"] == 3
    assert [one["name"] for one in json.loads(history)["features"]] == ["short", "friendly", "with a picture"]
    assert len(json.loads(estimate)["theta"]) == 3
    assert 'reticent_choices{bandit="messages"} 3.0' in metrics and (health, ready) == ("alive\n", "ready\n")
    for request in blocks("http"):
        first, body = request.split("\n", 1)
        status, _, text = server.ask(*first.split(), body)
        assert status == 200 and json.loads(text)["name"] in ("walk", "sleep")
    (code,) = blocks("py")
    exec(code.replace("http://127.0.0.1:8321", server.address), {})
    assert server.stop() == 0


def test_a_new_key_is_for_the_configuration(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["reticent", "key", "shop", "--role", "operator"])
    with pytest.raises(SystemExit):
        cli.main()
    printed, said = capsys.readouterr()
    document = tomllib.loads(printed) | {"bandits": tomllib.loads(blocks("toml")[0])["bandits"]}
    assert configs.convert(document).keys[0].name == "shop"
    (key,) = re.findall(r"reticent_\S{43}", said)
    assert (
        "reticent_" not in printed
        and hashlib.sha256(key.encode()).hexdigest() == configs.convert(document).keys[0].hash
    )


@pytest.mark.parametrize("arguments", [[], ["serve.toml", "--demo"], ["missing.toml"]])
def test_what_to_serve_has_to_be_said(arguments, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["reticent", "serve", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1 and not list(tmp_path.iterdir())


def test_every_setting_and_route_is_on_the_page(tmp_path):
    for kind in (configs.BanditSetting, configs.ProfileSetting, configs.ServerSetting):
        assert [name for name in kind.__struct_fields__ if f"`{name}`" not in PAGE] == []
    assert demo.config(tmp_path).bandits["messages"].database == str(tmp_path / "reticent-demo-trial.db")
