"""deploy/: what can be known without Docker, nginx and Grafana. `outside.py` has what needs programs of the machine."""

import dataclasses
import json
import re
import tomllib
from pathlib import Path

import pytest

from reticent import Bandit, Reward
from reticent_serve.service import config as configs
from reticent_serve.service import metrics
from reticent_serve.service.command import new_key
from serve_tests.service.servers import application

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE, NGINX = (DEPLOY / "compose.yaml").read_text(), (DEPLOY / "nginx.conf").read_text()
UNIT = (DEPLOY / "reticent@.service").read_text()


def served():
    """As docs/operator.md says: the file, and keys from `reticent key`."""
    return configs.convert(tomllib.loads((DEPLOY / "serve.toml").read_text() + new_key("shop", "app")[1]))


def check(setting):
    """The promise is for a person's rounds, and silence counts after two days."""
    algorithm = configs.build(setting, "messages")
    assert (algorithm.reward.window, algorithm.reward.default, algorithm.budget.rounds) == ("2 days", 0.0, 5)
    assert Bandit(dataclasses.replace(algorithm, reward=Reward())).privacy.private


def test_the_configuration_is_taken_with_keys_and_refused_without():
    found = served().bandits["messages"]
    assert found.database.startswith("postgresql://")
    check(found)
    with pytest.raises(ValueError, match="Expected \\[\\[keys\\]\\]"):
        configs.convert(tomllib.loads((DEPLOY / "serve.toml").read_text()))


def test_the_configuration_on_sqlite_keeps_keys_apart_from_the_database():
    found = configs.convert(tomllib.loads((DEPLOY / "serve-sqlite.toml").read_text())).bandits["messages"]
    (folders,) = re.findall(r"^StateDirectory=(.*)$", UNIT, re.MULTILINE)
    assert [str(Path(found.database).parent), found.keys] == [f"/var/lib/{name}" for name in folders.split()]
    check(found)


def test_compose_mounts_what_there_is():
    mounted = dict(re.findall(r"- \./([\w.]+):(/[\w./]+):ro", COMPOSE))
    there = {name for name in mounted if (DEPLOY / name).exists()}
    assert set(mounted) - there == {"tls", "operator.key"}  # which docs/operator.md has the operator make
    assert mounted["serve.toml"] in (DEPLOY / "Dockerfile").read_text()
    volumes = set(re.findall(r"^  (\w+): \{\}", COMPOSE, re.MULTILINE))
    assert volumes == set(re.findall(r'(?:- |\[")(\w+):/', COMPOSE)) == {"database", "compiled", "keys"}
    assert f"keys:{served().bandits['messages'].keys}\n" in COMPOSE and "tls:/etc/nginx/tls" in COMPOSE
    workers = re.findall(r"^  (reticent-\d): \*worker", COMPOSE, re.MULTILINE)
    assert re.findall(r"server (reticent-\d):8321", NGINX) == workers == ["reticent-1", "reticent-2"]
    assert re.findall(r'"(reticent-\d):8321"', (DEPLOY / "prometheus.yml").read_text()) == workers


def test_those_at_work_have_time_to_end():
    drain = served().server.drain
    assert int(re.search(r"stop_grace_period: (\d+)s", COMPOSE)[1]) > drain
    assert int(re.search(r"TimeoutStopSec=(\d+)", UNIT)[1]) > drain


def test_nginx_counts_no_rewards_and_keeps_no_bodies():
    assert NGINX.count("access_log") == NGINX.count("access_log off;") == 1
    assert re.findall(r"error_log .*;", NGINX) == ["error_log stderr crit;"]
    assert NGINX.count("{") == NGINX.count("}") == 3  # one server, one location: nothing overrides them
    size = served().server.body
    assert re.findall(r"client_(?:max_body|body_buffer)_size (\d+)m;", NGINX) == [str(round(size / 1e6))] * 2
    assert "\n        proxy_next_upstream error timeout;\n" in NGINX
    assert "\n        proxy_set_header X-Forwarded-Proto $scheme;\n" in NGINX  # else cookies are not Secure


def test_the_unit_starts_a_command_that_there_is(monkeypatch):
    (command,) = re.findall(r"^ExecStart=\S+/reticent (.*)$", UNIT, re.MULTILINE)
    assert command == "serve /etc/reticent/serve.toml --port %i"
    assert not re.search("^MemoryDenyWriteExecute", UNIT, re.MULTILINE)  # kernels are compiled at run time
    for line in ("LimitCORE=0", "UMask=0077", "ProtectSystem=strict", "StateDirectoryMode=0700", "Restart=on-failure"):
        assert f"\n{line}\n" in UNIT


def test_each_role_has_a_user_and_folders_of_its_own():
    text = (DEPLOY / "role.conf").read_text()
    assert re.findall(r"^ExecStart=(\S.*)$", text, re.MULTILINE) == [
        "/opt/reticent/bin/reticent serve %i /etc/reticent/%i.toml"
    ]
    for name in re.findall(r"^(\w+)=\n", text, re.MULTILINE):  # what the unit says is taken back before
        assert f"\n{name}=" in UNIT
    for name in (
        "User=reticent-%i",
        "StateDirectory=reticent-%i reticent-%i-keys reticent-%i-witness",
        "CacheDirectory=reticent-%i",
    ):
        assert f"\n{name}\n" in text


def test_grafana_asks_for_what_metrics_print_and_no_more(tmp_path):
    app = application(tmp_path)
    try:
        printed = metrics.text(app.served.values()).decode()
    finally:
        app.close()
    names = set(re.findall(r"^(\w+)\{", printed, re.MULTILINE))
    labels = set(re.findall(r'(\w+)="', printed)) | {"instance"}  # which Prometheus adds
    dashboard = json.loads((DEPLOY / "grafana.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    asked += [one["query"]["query"] for one in dashboard["templating"]["list"] if isinstance(one["query"], dict)]
    assert len(asked) >= 8
    for text in asked:
        used = re.findall(r"\breticent_\w+", text)
        assert used and set(used) <= names, text
        grouped = [name.strip() for found in re.findall(r"by \(([^)]*)\)", text) for name in found.split(",")]
        assert set(grouped) | set(re.findall(r"(\w+)=~?\"", text)) <= labels, text
    assert {panel["id"] for panel in dashboard["panels"]} == set(range(1, len(dashboard["panels"]) + 1))
