"""What the code does, to the last bit: `python -m tests.goldens FILE [PART ...]` writes a line for each bandit and
link in simulation (links), for each setting of JointGLM in simulation (settings), and for scripted runs on both
databases, with their choices and releases and the certificate as text (stored). All three by default.

A change of structure leaves the file as it is: write one before it and one after, on one machine (other processors
round differently), and compare. A bandit that does not take a link has that line as well, with why."""

import contextlib
import hashlib
import hmac
import io
import json
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from numpy.random import default_rng

from reticent import Budget, Holdout, JointGLM, Person, cli, environments, registry, simulate
from reticent.core import assignment
from reticent.experiments.spec import Spec
from reticent.features import Category, Number, Schema
from reticent.flat import named
from reticent.model import links
from reticent.privacy.noise import Secure
from serve_tests.store.conftest import of_postgres, postgres_of_its_own
from serve_tests.store.places import Clock, Place

WORLD = "--env ball --dim 3 --arms 8 --radius 2 --horizon 3000 --epsilon 4 --delta 0.01 --runs 3 --seed 5 --json"
BUDGET = Budget(2.0, 1e-3)
FIELDS = Schema(
    context={"age": Number(0, 1, bins=2), "home": Category("a", "b")},
    arms="disjoint",
    actions=("walk", "sleep", "read"),
)
SHARED = Schema(context={"age": Number(0, 1)}, action={"kind": Category(*"abc")}, arms="shared")
HOLDOUT = {"holdout": Holdout(policy="uniform", share=0.2), "window": 5, "default": 0.5}
SETTINGS = {  # of JointGLM, by what they are tried in
    "ball": {
        "plain": {},
        "logistic": {"link": "logistic"},
        "scores": {"model": "scores"},
        "rate": {"base_rate": 0.3},
        "forget": {"forget": 600.0},
        "steps": {"first": 25, "growth": 1.2, "discount": 0.9},
        "prior": {"prior": (np.full(3, 0.1), 50.0)},
        "warm": {"rows": (np.eye(3), np.array([1.0, 0.0, 1.0]))},
        "hold": {"window": 5, "default": 0.0},
        "holdout": HOLDOUT,
        "persons": {"budget": Budget(2.0, 1e-3, Person(2))},
    },
    "messages": {
        "fields": {},
        "rate of fields": {"base_rate": 0.1},
        "fields that forget": {"forget": 900.0},
        "fields held": {"window": 7, "default": 0.0},
        "holdout of fields": HOLDOUT,
        "curvature of blocks": {"model": "curvature"},
    },
}
VECTORS, PEOPLE, ACTIONS = {"features": 3}, {"features": FIELDS}, {"features": SHARED}
LIMIT, SILENT = {"budget": Budget(2.0, 1e-3, Person(3))}, {"default": 0.0}
STORED = {  # scripts
    "vectors": VECTORS,
    "amounts": VECTORS | {"link": "identity", "range": (-1.0, 1.0)} | SILENT,
    "scores": VECTORS | {"model": "scores"},
    "rate": VECTORS | {"base_rate": 0.1} | SILENT,
    "forget": VECTORS | {"forget": 300.0},
    "fields": PEOPLE | SILENT,
    "shared arms": ACTIONS,
    "persons": PEOPLE | LIMIT | SILENT,
    "weeks": PEOPLE | {"budget": Budget(2.0, 1e-3, Person(3, per=60.0))} | SILENT,
    "holdout": PEOPLE | {"holdout": HOLDOUT["holdout"]} | SILENT,
}
ROUNDS = 150


def digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


# in simulation


def told(bandit: str, link: str) -> str:
    """Regret and reward of three runs as the command line prints them, without times; or its error."""
    out, errors = io.StringIO(), io.StringIO()
    sys.argv = ["reticent", "simulate", bandit, "--link", link, *WORLD.split()]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
        cli.main()
    if not out.getvalue():
        return errors.getvalue().split("\n")[0]
    (row,) = json.loads(out.getvalue())["rows"]
    found = {name: value for name, value in row.items() if name.startswith(("regret", "reward", "uniform"))}
    return f"{digest(sorted(found.items()))} {row['regret_mean']!r}"


def by_links():
    for bandit in sorted(getattr(registry, "BANDITS", None) or registry.bandits()):
        for link in links.NAMES:
            yield f"{bandit} {link} {told(bandit, link)}"


def by_settings():
    worlds = {"ball": environments.ball(dim=3, arms=8, radius=2.0), "messages": environments.messages()}
    for world, settings in SETTINGS.items():
        for name, given in settings.items():
            (run,) = simulate(
                [Spec(JointGLM, **{"budget": BUDGET} | given)], worlds[world], horizon=3000, runs=1, seed=5
            ).runs
            yield f"{world}, {name}: {digest(run.regret, run.reward_mean, run.curve)} {run.regret!r}"


# on databases


class Noise:
    """The same whole numbers in every run, whoever draws them."""

    def __init__(self) -> None:
        self.rng = default_rng(1)

    def __call__(self, count: int, size: int, cells: float) -> np.ndarray:
        return np.rint(self.rng.normal(0.0, cells, (count, size))).astype(np.int64)


class Fixed:
    """A key of groups that is the same in every run."""

    @staticmethod
    def digest(_: bytes, *said: object) -> bytes:
        return hmac.digest(b"key", *said)


def request(settings: dict, rng: np.random.Generator, i: int) -> tuple[object, dict]:
    person = {"person": f"p{int(rng.integers(40))}"} if settings.get("budget", BUDGET).unit is not None else {}
    if settings["features"] == 3:
        arms = rng.normal(size=(4, 3))
        return arms / np.linalg.norm(arms, axis=1)[:, None], {}
    fields = {"age": float(rng.random()), "home": "ab"[int(rng.integers(2))]}
    if settings["features"] is SHARED:
        return {"age": fields["age"]}, {
            "actions": {name: {"kind": str(rng.choice([*"abc"]))} for name in ("walk", "sleep")}
        }
    return fields, person


def script(settings: dict, place: Place) -> tuple[str, str]:
    """150 choices of which some are answered at once, some late and some never: a digest, and the certificate."""
    algorithm = named(**{"budget": BUDGET, "first": 10, "window": "10 seconds"} | settings)
    noise, rng, clock, policy, seen = Noise(), default_rng(3), Clock(), default_rng(2), []
    if "holdout" in settings:
        policy.bytes(32)  # as a bandit in memory draws the key of its groups
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(Secure, "integers", lambda _, *asked: noise(*asked)))
        stack.enter_context(mock.patch.object(assignment, "hmac", Fixed))
        stored = stack.enter_context(place.open(algorithm, clock=clock, policy=policy))
        late = []
        for i in range(ROUNDS):
            clock.now += 1.0
            arms, more = request(settings, rng, i)
            choice = stored.choose(arms, **more)
            seen.append((choice.index, choice.name, choice.version, choice.propensity))
            reward = float(rng.integers(2))
            if i % 3 == 0:
                seen.append(stored.observe(choice, reward))
            elif i % 3 == 1:
                late.append((choice, reward))
            if len(late) > 6:
                with contextlib.suppress(Exception):
                    seen.append(stored.observe(*late.pop(0)))
            stored.tend()
            estimator = stored._served.estimator
            seen.append(None if estimator._released is None else np.asarray(estimator._released).tobytes())
        seen.append([np.asarray(part).tobytes() for part in estimator.estimate.arrays])
        return f"{digest(seen)} {stored.version} releases", str(stored.privacy)


def on_databases():
    with postgres_of_its_own() as server, tempfile.TemporaryDirectory() as folder:
        for name, settings in STORED.items():
            home = Path(folder) / name.replace(" ", "-")
            home.mkdir()
            for place in (
                Place(str(home / "bandit.db"), home / "keys"),
                of_postgres(server.get_uri(), home / "of-postgres"),
            ):
                found, certificate = script(settings, place)
                yield f"{name} on {'postgres' if 'postgresql:' in place.where else 'sqlite'}: {found}"
            yield f"certificate of {name}:\n{certificate}\n"


PARTS = {"links": by_links, "settings": by_settings, "stored": on_databases}


def main() -> None:
    with Path(sys.argv[1]).open("w") as file:
        for part in sys.argv[2:] or PARTS:
            for line in PARTS[part]():
                file.write(f"{line}\n")
                file.flush()


if __name__ == "__main__":
    main()
