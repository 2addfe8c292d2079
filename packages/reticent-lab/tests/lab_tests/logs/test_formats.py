"""Logs of other programs."""

import numpy as np

from lab_tests.raising import raised
from reticent_lab.logs import vowpal
from serve_tests.bandits.test_learn_log import make


def test_vowpal_text_and_json_say_the_same():
    text = ["shared |u ada", "|v one:0.5", "0:-1:0.7 |v two", "", "shared |u bob", "0:0:0.3 |v one:0.5", "|v two", ""]
    lines = [
        '{"_label_cost": -1, "_label_probability": 0.7, "_labelIndex": 1, '
        '"c": {"u": {"ada": 1}, "_multi": [{"v": {"one": 0.5}}, {"v": {"two": true}}]}}',
        '{"_label_cost": 0, "_label_probability": 0.3, "_labelIndex": 0, '
        '"c": {"u": {"bob": 1}, "_multi": [{"v": {"one": 0.5}}, {"v": {"two": 1}}]}}',
    ]
    one, other = vowpal.text(text, dim=8), vowpal.dsjson(lines, dim=8)
    assert one["action"] == [1, 0] and one["reward"] == [1.0, 0.0] and one["propensity"] == [0.7, 0.3]
    assert np.array_equal(one["arms"], other["arms"])
    assert (np.linalg.norm(one["arms"], axis=2) <= 1 + 1e-12).all() and make(features=8).learn_log(one) == {}


def test_vowpal_text_of_numbered_actions():
    found = vowpal.text(["1:-0.5:0.4 | age:0.3 new", "3:2:0.2 tag|a x"], dim=4, scale=0.5)
    assert found["action"] == [0, 2] and found["reward"] == [0.5, -2.0]
    expected = vowpal.hashed({"constant": 1.0, "age": 0.3, "new": 1.0}, 4, 0.5)
    assert np.array_equal([found[f"x{i}"][0] for i in range(4)], expected)
    for bad in ("1:2 | a", "1:2:0.5 a", "1:2:0.5 | a:b"):
        raised(ValueError, vowpal.text, [bad], dim=4).match("line 1")
    raised(ValueError, vowpal.dsjson, ["[]"], dim=4).match("line 1")
