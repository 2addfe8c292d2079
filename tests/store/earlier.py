"""Databases and keys as 0.6.0 and 0.7.0 left them, frozen (earlier.json): nothing here follows the code.

One database of each has seven bandits (BANDITS), whose open step is under way. Of choices that wait, some are of steps
that are released; some are deferred, one of these with a reward (`known`: ids of all). `after`: the sums that the same
release made of the open step when rewards of these choices came. Two small ones beside: "closed" has a step that is
closed and not released, "drawn" a leaf of 0.7.0 that is sealed still. Sums are in two shards."""

import base64
import json
from pathlib import Path

from tacit import Earnings
from tacit.holders.incarnation import database_at
from tacit.holders.seal import Keys
from tests.store.places import Clock, glm, linear

MADE = json.loads((Path(__file__).parent / "earlier.json").read_text())
RELEASES = tuple(MADE)
LEAVES = "SELECT bandit, step, sums, noisy, visible_at FROM leaf ORDER BY bandit, step"
BANDITS = {
    "bandit": lambda: linear(max_rounds_per_person=5, require_person=False, pending=40, first=3),
    "curved": lambda: glm(first=3, earnings=Earnings(0.3, 5.0, 2), pending=40),
    "week": lambda: glm(first=4, week=8, max_rounds_per_person=1, require_person=False, pending=40),
    "full": lambda: linear(first=2, pending=40),  # all choices of the open step are made and answered
    "public": lambda: glm(first=3, contexts="public", pending=40),
    "ended": lambda: linear(first=2, pending=40),
    "again": lambda: linear(first=2, pending=40),  # recovered once
}
POPULATION = {"public": {"population": "public"}}  # since its relation is another
REWARD = 0.75  # of choices in `after`


def restore(place, release, which=None):
    """That database in this place, with its keys and witnesses; what is known of it."""
    made = MADE[release] if which is None else MADE[release][which]
    database, keys = database_at(place.where), Keys(place.keys)
    with database.transaction() as run:
        for statement in made["schema"]:
            run(statement.replace(" BLOB", f" {database.blob}"))
        for table, found in made["tables"].items():
            marks = ", ".join("?" * len(found["columns"]))
            for row in found["rows"]:
                values = [base64.b64decode(v["bytes"]) if isinstance(v, dict) else v for v in row]
                run(f"INSERT INTO {table} ({', '.join(found['columns'])}) VALUES ({marks})", *values)
    system, timeline = database.identity()
    for name, text in made["keys"].items():
        content = base64.b64decode(text)
        if name.endswith(".witness"):
            content = json.dumps(json.loads(content) | {"system": system, "timeline": timeline}).encode()
        (keys.folder / name).write_bytes(content)
    database.close()
    return made.get("known")


def folders(place):
    """For `migrate`."""
    return dict.fromkeys(BANDITS, place.keys)


def opened(place, name, **options):
    """By the present release, at the time at which the database was left."""
    clock = Clock()
    clock.now = MADE["0.7.0"]["now"]
    given = POPULATION.get(name, {}) | {"name": name, "clock": clock, "hold": 60.0}
    return place.open(BANDITS[name](), **(given | options))


def rows_of(place, statement, *arguments):
    database = database_at(place.where)
    with database.transaction() as run:
        found = run(statement, *arguments)
    database.close()
    return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in found]
