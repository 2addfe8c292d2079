"""Vowpal Wabbit's logs of contextual bandits, text and JSON, as columns for `learn_log` and `evaluate`.

    1:-0.5:0.4 | age:0.3 new           text (--cb): action from 1, cost, probability | features name[:value]
    shared | user=ada                  text (--cb_adf): one line for what actions share, one for each action, the one
    0:-1:0.7 | film1                   with a label was taken; a blank line ends the round
    | film2
    {"_label_cost": -1, "_label_probability": 0.7, "_labelIndex": 0, "c": {"user": "ada", "_multi": [{...}, {...}]}}

The reward is minus the cost. Features are hashed, with a sign, into `dim` numbers, divided by their norm where it
is more than 1: a function of each row alone. In rounds with actions of their own, shared features are crossed with the
action's. The hash is BLAKE2b, not VW's: a model of one does not fit the other. A line that is none is an error."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from reticent.data import Array

Features = dict[str, float]
CONSTANT = {"constant": 1.0}


class Round(NamedTuple):
    action: int
    cost: float
    probability: float
    shared: Features
    actions: list[Features]  # empty where actions are numbers


def text(lines: Iterable[str], *, dim: int, scale: float = 1.0) -> dict[str, Any]:
    """The columns of a text log: action, reward, propensity, and x0, x1, ... (--cb) or arms (--cb_adf)."""
    return _columns(_rounds(lines), dim, scale)


def dsjson(lines: Iterable[str], *, dim: int, scale: float = 1.0) -> dict[str, Any]:
    """The columns of a log with one JSON object a line (--json, --dsjson)."""
    return _columns([_document(number, line) for number, line in enumerate(lines, 1) if line.strip()], dim, scale)


def hashed(features: Features, dim: int, scale: float = 1.0) -> Array:
    """A vector of norm at most 1: each feature, times scale, at a place and with a sign given by its name."""
    out = np.zeros(dim)
    for name, value in features.items():
        digest = int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")
        out[(digest >> 1) % dim] += scale * value * (1 if digest & 1 else -1)
    norm = float(np.linalg.norm(out))
    return out / max(1.0, norm)


def _columns(rounds: Iterable[Round], dim: int, scale: float) -> dict[str, Any]:
    rounds = list(rounds)
    out: dict[str, Any] = {
        "action": [r.action for r in rounds],
        "reward": [-r.cost for r in rounds],
        "propensity": [r.probability for r in rounds],
    }
    if any(r.actions for r in rounds):
        return out | {"arms": [[hashed(_crossed(r.shared, a), dim, scale) for a in r.actions] for r in rounds]}
    x = np.array([hashed(r.shared, dim, scale) for r in rounds]).reshape(len(rounds), dim)
    return out | {f"x{i}": x[:, i] for i in range(dim)}


def _crossed(shared: Features, action: Features) -> Features:
    pairs = {f"{a}^{b}": u * v for a, u in shared.items() for b, v in action.items()}
    return action | pairs


def _rounds(lines: Iterable[str]) -> Iterator[Round]:
    shared: Features = {}
    actions: list[Features] = []
    taken: tuple[int, float, float] | None = None
    for number, line in enumerate([*lines, ""], 1):
        label, bar, rest = line.strip().partition("|")
        label, features = label.strip(), _features("|" + rest, number)
        if not bar and (label or not actions):
            if label:
                raise ValueError(f"Expected a label, a bar and features in line {number}, got no bar.")
            continue
        if not bar:
            if taken is None:
                raise ValueError(f"Expected one action with a label before line {number}, got none.")
            yield Round(*taken, shared, actions)
            shared, actions, taken = {}, [], None
        elif label == "shared":
            shared = features
        elif label and not label.startswith("0:") and not actions and not shared:
            action, cost, probability = _label(label, number)
            yield Round(action - 1, cost, probability, CONSTANT | features, [])
        else:
            if label:
                taken = (len(actions), *_label(label, number)[1:])
            actions.append(CONSTANT | features)


def _label(label: str, number: int) -> tuple[int, float, float]:
    try:
        action, cost, probability = label.split()[0].split(":")
        return int(action), float(cost), float(probability)
    except ValueError:
        raise ValueError(f"Expected action:cost:probability in line {number}, got another label.") from None


def _features(rest: str, number: int) -> Features:
    """`|ns a:2 b |other c` as {"ns^a": 2, "ns^b": 1, "other^c": 1}; features without a namespace have none."""
    out: Features = {}
    for part in rest.split("|")[1:]:
        space = "" if part[:1] in ("", " ") else part.split()[0].partition(":")[0] + "^"
        for word in part.split()[bool(space) :]:
            name, _, value = word.partition(":")
            try:
                out[space + name] = float(value) if value else 1.0
            except ValueError:
                raise ValueError(f"Expected name or name:number in line {number}, got another feature.") from None
    return out


def _document(number: int, line: str) -> Round:
    try:
        found = json.loads(line)
        cost, probability = float(found["_label_cost"]), float(found["_label_probability"])
        context = dict(found.get("c", found))
        many = [CONSTANT | _flat(each) for each in context.pop("_multi", [])]
        action = int(found["_labelIndex"]) if "_labelIndex" in found else int(found["_label_Action"]) - 1
        shared = _flat(context)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"Expected a JSON object with a cost, probability and action in line {number}.") from None
    return Round(action, cost, probability, shared if many else CONSTANT | shared, many)


def _flat(node: Any, name: str = "") -> Features:
    """Nested objects as names joined by ^; a text is a feature name=text, true is 1, what begins with _ is left out."""
    out: Features = {}
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(key, str) and key.startswith("_"):
            continue
        path = f"{name}^{key}" if name else str(key)
        if isinstance(value, dict | list):
            out |= _flat(value, path)
        elif isinstance(value, str):
            out[f"{path}={value}"] = 1.0
        elif value is not None:
            out[path] = float(value)
    return out
