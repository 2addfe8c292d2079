"""An access key that is replaced under its name: for a while the old one and the new one are one asker."""

import hashlib
import json

import numpy as np

from serve_tests.service.servers import application, bearer, call, statuses

EYE = np.eye(3).tolist()


def setting(key, **options):
    return {"name": "shop", "role": "app", "hash": hashlib.sha256(key.encode()).hexdigest()} | options


def chosen(app, key):
    ((status, _, body),) = call(app, ("choose", {"arms": EYE, "request": "mine"}, bearer(key)))
    return status, json.loads(body).get("id")


def test_a_request_has_the_same_answer_by_the_old_key_and_the_new(tmp_path):
    """Before, with both, and after: the application changes its key when it likes."""
    answers = []
    for keys in (["old"], ["old", "new"], ["new"]):
        app = application(tmp_path, askers=[setting(key) for key in keys])
        answers += [chosen(app, key) for key in keys]
        assert chosen(app, "other")[0] == 401
        if keys == ["new"]:
            assert chosen(app, "old")[0] == 401
        app.close()
    assert {status for status, _ in answers} == {200} and len({one for _, one in answers}) == 1


def test_both_keys_share_a_rate(tmp_path):
    app = application(tmp_path, askers=[setting(key, rate=1e-6) for key in ("old", "new")])
    assert chosen(app, "old")[0] == 200 and chosen(app, "new")[0] == 429


def test_a_session_ends_with_the_key_that_began_it(tmp_path):
    """The new key's goes on when the old one is taken out."""
    cookies, both = {}, [setting(key, role="operator") for key in ("old", "new")]
    app = application(tmp_path, askers=both)
    for key in ("old", "new"):
        ((status, headers, _),) = call(app, ("/login", {"key": key}))
        assert status == 204
        cookies[key] = ((b"cookie", headers[b"set-cookie"].partition(b";")[0]),)
        assert statuses(app, ("status", None, cookies[key])) == [200]
    app.close()
    app = application(tmp_path, askers=both[1:])
    assert statuses(app, *(("status", None, cookies[key]) for key in ("old", "new"))) == [401, 200]
