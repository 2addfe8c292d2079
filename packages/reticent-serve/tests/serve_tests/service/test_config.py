"""What a configuration may say, and what is refused with which words."""

import pytest

from reticent import Bandit
from reticent.errors import BadState
from reticent.features import Category, Number, Schema
from reticent_serve.service import config as configs
from reticent_serve.service import keys
from serve_tests.service.servers import FIELDS, GLM, LINEAR, application, stored

HASH = "0" * 64
X = {"name": "x", "role": "app", "hash": HASH}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"bandits": {}}, "Expected \\[bandits.NAME\\]"),
        ({"bandits": {"a": LINEAR | {"kind": "joint-glm-rare"}}}, "whose state is sums"),
        ({"bandits": {"a": LINEAR | {"kind": "local-irls"}}}, "whose state is sums.*joint-glm"),
        ({"bandits": {"a": LINEAR | {"kind": "glm"}}}, r"\[bandits.a\]: .*that can be served.*There are joint-glm"),
        ({"bandits": {"a": GLM | {"holdout": {"part": 0.1}}}}, "a setting of holdout of"),
        ({"bandits": {"a": GLM | {"budget": {"rounds": 2}}}}, "a setting of budget of"),
        ({"bandits": {"a": GLM | {"reward": {"hold": "1 day"}}}}, "unknown field `hold` in reward"),
        ({"bandits": {"a": GLM | {"reward": {"window": 60.0}}}}, r"^\[bandits.a\]: Expected .* got `float` in reward"),
        ({"bandits": {"a": LINEAR | {"epsilon": 1.0}}}, r"a setting of \[bandits.a\], got 'epsilon'"),
        ({"bandits": {"a": LINEAR | {"horizn": 1.0}}}, "Did you mean horizon"),
        (
            {"bandits": {"a": LINEAR | {"delay": "two days"}}},
            r"Expected a time .*or a time as .*another form",
        ),
        (
            {"bandits": {"a": LINEAR | {"delay": True}}},
            r"^\[bandits.a\]: Expected a time to be a number of seconds.*bool",
        ),
        ({"bandits": {"a": LINEAR}, "server": {"drain": "never"}}, r"^\[server\]: Expected a time .*another form"),
        ({"bandits": {"a": LINEAR}, "server": {"drain": 0}}, "drain"),
        ({"bandits": {"a": LINEAR, "b": LINEAR}}, "an SQLite file for each bandit, got one for a and b"),
        ({"bandits": {"a": LINEAR}, "server": {"prot": 1}}, r"a setting of \[server\], got 'prot'. Did you mean port"),
        ({"bandits": {"a": LINEAR | {"features": "3"}}}, r"^\[bandits.a\]: Expected `.*`, got `str` in features\.$"),
        ({"bandits": {"a": LINEAR | {"features": 0}}}, "Expected features"),
        ({"bandits": {"a": LINEAR | {"coordinates": ["one"]}}}, "Expected 3 coordinates"),
        ({"bandits": {"a": {key: LINEAR[key] for key in LINEAR if key != "features"}}}, "required field `features`"),
        ({"bandits": {"a": LINEAR | {"features": ["age"]}}}, "features"),
        ({"bandits": {"a": LINEAR | {"features": {"arms": "many"}}}}, "one of shared, disjoint"),
        ({"bandits": {"a": FIELDS | {"coordinates": ["one"] * 6}}}, "Expected no coordinates"),
        ({"bandits": {"a": FIELDS | {"profiles": {"p": {"arms": {"x": [1, 0, 0]}}}}}}, "profile p of a"),
        ({"bandits": {"a": FIELDS | {"profiles": {"p": {"context": {"old": 1}}}}}}, "profile p of a.*schema"),
        (
            {"bandits": {"a": FIELDS | {"profiles": {"p": {"context": {}, "actions": ["run"]}}}}},
            "one of walk, sleep, got",
        ),
        ({"bandits": {"a": LINEAR | {"profiles": {"p": {"context": {"age": 1}}}}}}, "profile p of a"),
        ({"bandits": {"a": LINEAR | {"profiles": {"p": {"arms": {"x": [1, 0]}}}}}}, "profile p of a"),
        ({"bandits": {"a": LINEAR | {"profiles": {"p": {"arms": {"x": [1, 1, 0]}}}}}}, "norm at most 1"),
        ({"bandits": {"a": LINEAR | {"profiles": {"p": {"arms": {}}}}}}, "at least one arm"),
        ({"bandits": {"a": LINEAR}, "server": {"host": "0.0.0.0"}}, "Expected \\[\\[keys\\]\\]"),
        ({"bandits": {"a": LINEAR}, "server": {"port": 99999}}, "Expected port to be 0 to 65535, got 99999"),
        ({"bandits": {"a": LINEAR}, "server": {"body": 10, "bodies": 9}}, "Expected bodies to be at least body"),
        ({"bandits": {"a": LINEAR}, "keys": [{"name": "x", "role": "root", "hash": HASH}]}, "role"),
        ({"bandits": {"a": LINEAR}, "keys": [{"name": "x", "role": "app", "hash": "plain"}]}, "64 hexadecimal"),
        ({"bandits": {"a": LINEAR}, "keys": [{"name": "x", "role": "app", "hash": HASH}] * 2}, "different hashes"),
        ({"bandits": {"a": LINEAR}, "keys": [X, X | {"role": "operator", "hash": "1" * 64}]}, "one role and rate"),
        ({"bandits": {"a": LINEAR}, "keys": [X, X | {"rate": 1.0, "hash": "1" * 64}]}, "one role and rate"),
        ({"bandits": {"a": LINEAR}, "keys": [X | {"hash": c * 64} for c in "012"]}, "an old and a new one"),
    ],
)
def test_what_is_refused(document, message):
    with pytest.raises(ValueError, match=message):
        configs.convert(document)


def test_times_may_be_said_in_words():
    document = {"bandits": {"a": LINEAR | {"delay": "1.5 seconds"}}, "server": {"patience": "1 minute", "drain": 30}}
    found = configs.convert(document)
    assert found.bandits["a"].delay == 1.5 and (found.server.patience, found.server.drain) == (60.0, 30.0)


@pytest.mark.parametrize("given", [{"forget": 6000}, {"forget": "30 days", "per_day": 200}])
def test_rounds_or_days_to_forget_in(given):
    setting = configs.convert({"bandits": {"a": GLM | given}}).bandits["a"]
    assert configs.build(setting, "a").one_pass(exact=True).plan.forget == 6000.0


def test_public_rows_and_a_prior_to_start_from(tmp_path):
    """Files are beside the configuration, and the certificate names what they are."""
    (tmp_path / "rows.csv").write_text("x0,x1,x2,reward\n" + "0.9,0.1,0.0,1\n-0.9,0.1,0.0,0\n" * 50)
    text = "[bandits.a]\nkind = 'joint-glm'\nfeatures = 3\nbudget = {epsilon = 1.0, delta = 1e-6}\ndatabase = 'a.db'\n"
    text += "warm_start = {rows = 'rows.csv', theta = [0.1, 0.2, 0.0], precision = 2.0}\n"
    (tmp_path / "serve.toml").write_text(text)
    setting = configs.read(tmp_path / "serve.toml").bandits["a"]
    bandit = Bandit(configs.build(setting, "a"))
    told = " ".join(bandit.privacy.caveats)
    assert "from 100 rows that were given as public" in told and "from a prior that was given" in told
    assert bandit.theta[0] > 0.5
    (tmp_path / "rows.csv").write_text("x0,x1,x2\n0.9,0.1,0.0\n")
    with pytest.raises(ValueError, match=r"\[bandits.a\]: Expected a column reward"):
        configs.build(setting, "a")
    (tmp_path / "rows.csv").unlink()
    with pytest.raises(ValueError, match=r"\[bandits.a\]: Expected a Parquet or CSV file"):
        configs.build(setting, "a")


def test_public_rows_by_the_fields_of_a_schema(tmp_path):
    schema = Schema(context={"age": Number(0, 100), "sex": Category("F", "M")}, action={"long": Number(0, 1)})
    (tmp_path / "rows.csv").write_text("age,sex,long,reward\n31,F,0.5,1\n60,M,0.1,0\n")
    given = {"kind": "joint-glm", "features": schema.to_dict(), "budget": {"epsilon": 1.0, "delta": 1e-6}}
    document = {"bandits": {"a": given | {"database": "a.db", "warm_start": {"rows": str(tmp_path / "rows.csv")}}}}
    bandit = Bandit(configs.build(configs.convert(document).bandits["a"], "a"))
    assert "from 2 rows" in " ".join(bandit.privacy.caveats) and bandit.theta.any()


def test_errors_name_the_file_and_the_bandit(tmp_path):
    with pytest.raises(ValueError, match="missing.toml, got: No such file or directory"):
        configs.read(tmp_path / "missing.toml")
    (tmp_path / "serve.toml").write_text("[bandits.a]\nkind = 'joint-glm'\npriors = 1\n")
    with pytest.raises(ValueError, match=r"serve.toml: Expected a setting of \[bandits.a\], got 'priors'"):
        configs.read(tmp_path / "serve.toml")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "open"}, "Expected model"),
        ({"reward": {"link": "cubic"}}, "Expected link"),
        ({"budget": {"epsilon": -1.0, "delta": 1e-5}}, "Expected epsilon"),
        ({"budget": {"epsilon": 1.0, "delta": 1e-5, "unit": {"rounds": 2, "per": "7 days"}}}, "Expected per to be"),
        ({"warm_start": {"theta": [0.1]}}, "Expected theta and precision"),
        ({"warm_start": {}}, "Expected warm_start with"),
        ({"forget": "30 days"}, "Expected forget to be a number of rounds.*with per_day"),
        ({"forget": "a month", "per_day": 100}, "Expected forget to be a number of rounds"),
        ({"forget": -1}, "Expected forget"),
    ],
)
def test_what_an_algorithm_does_not_take_is_refused_before_it_is_served(change, message):
    with pytest.raises(ValueError, match=rf"^\[bandits.a\]: {message}"):
        configs.build(configs.convert({"bandits": {"a": GLM | change}}).bandits["a"], "a")


def test_a_window_is_needed_for_a_bandit_that_is_new(tmp_path):
    with pytest.raises(ValueError, match=r"^\[bandits.messages\]: Expected Reward\(window=...\), the time after which"):
        application(tmp_path, reward={"window": None})
    for wrong in ("0 seconds", "two days", "7"):
        with pytest.raises(ValueError, match=r"^\[bandits.messages\]: Expected window"):
            application(tmp_path, reward={"window": wrong})
    application(tmp_path, reward={"window": "7 seconds"}).close()
    assert stored(application(tmp_path, reward={"window": None})).window == 7.0


def test_keys_open_the_network():
    key = {"name": "shop", "role": "app", "hash": HASH}
    document = {"bandits": {"a": LINEAR}, "server": {"host": "0.0.0.0"}, "keys": [key]}
    assert configs.convert(document).server.host == "0.0.0.0"


@pytest.mark.parametrize(
    ("change", "setting"),
    [
        ({"budget": {"epsilon": 2.0, "delta": 1e-5}}, "epsilon"),
        ({"budget": {"unit": {"rounds": 3}}}, "rounds"),
        ({"features": 4}, "features"),
        ({"horizon": 6000, "features": 4}, "another features, horizon"),  # those of the configuration come first
    ],
)
def test_a_setting_that_the_noise_was_made_for_cannot_change(tmp_path, change, setting):
    application(tmp_path).close()
    with pytest.raises(BadState, match=f"got .*{setting}.*: the noise is made for them"):
        application(tmp_path, **change)
    application(tmp_path, pending=1000, delay=0.5).close()  # these may


def test_a_bucket_lets_in_its_rate_and_no_more():
    now = [0.0]
    bucket = keys.Bucket(10.0, lambda: now[0])
    assert sum(bucket.take(1) == 0 for _ in range(30)) == 10 and 0 < bucket.take(1) <= 0.1
    now[0] = 1.0
    assert bucket.take(25) == 0 and bucket.take(1) > 1  # a large batch, and then a long wait
    now[0] = 100.0
    assert sum(bucket.take(1) == 0 for _ in range(30)) == 10


def test_a_key_is_known_by_its_hash_alone():
    key, digest = keys.make()
    found = keys.AccessKeys([configs.KeySetting(name="a", role="auditor", hash=digest)], lambda: 0.0)
    asker = found.find(b"Bearer " + key.encode())
    assert asker is not None and asker.name == "a" and "choose" not in asker.may
    for other in (b"", b"Bearer", b"Basic " + key.encode(), b"Bearer " + digest.encode(), b"Bearer \xff"):
        assert found.find(other) is None
