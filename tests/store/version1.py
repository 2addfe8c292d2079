"""The store's first version, frozen: a database and keys that its code made (version1.json), and the statements its
workers wrote by. Nothing here follows the code."""

import json
import secrets
from pathlib import Path

from tacit.holders.incarnation import database_at
from tacit.holders.seal import Keys, Seal
from tacit.holders.sqlite import SQLite

MADE = json.loads((Path(__file__).parent / "version1.json").read_text())
LEAVES = "SELECT bandit, step, sums, noisy, visible_at FROM leaf ORDER BY bandit, step"


def restore(place):
    """That database in this place, with its keys and its witness; what it was made with."""
    database = database_at(place.where)
    made = MADE["sqlite" if isinstance(database, SQLite) else "postgres"]
    with database.transaction() as run:
        for statement in MADE["schema"]:
            run(statement.replace(" BLOB", f" {database.blob}"))
        for table, found in made["tables"].items():
            columns = found["columns"]
            marks = ", ".join("?" * len(columns))
            for row in found["rows"]:
                values = [bytes.fromhex(v["bytes"]) if isinstance(v, dict) else v for v in row]
                run(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", *values)
    keys = Keys(place.keys)
    for name, text in made["keys"].items():
        (keys.folder / name).write_bytes(bytes.fromhex(text))
    system, timeline = database.identity()
    (keys.folder / "bandit.witness").write_text(json.dumps(made["witness"] | {"system": system, "timeline": timeline}))
    database.close()
    return made


def rows_of(place, statement, *arguments):
    database = database_at(place.where)
    with database.transaction() as run:
        found = run(statement, *arguments)
    database.close()
    return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in found]


class Worker:
    """One of the first version: choices without their rewards, by the statements that it had."""

    def __init__(self, place):
        self.database = database_at(place.where)
        with self.database.transaction() as run:
            ((self.uid, self.epoch),) = run(
                "SELECT uid, epoch FROM bandit WHERE name = ? ORDER BY incarnation DESC LIMIT 1", "bandit"
            )
        self.keys = Keys(place.keys)
        self.seal = Seal(self.keys, self.uid)

    def choose(self):
        uid, request, ticket = self.uid, secrets.token_bytes(16), secrets.token_bytes(16)
        with self.database.transaction() as run:
            statement = "SELECT step, choices, boundary, unnamed, sums_key FROM bandit WHERE uid = ? AND retired = 0"
            (head,) = run(statement + self.database.locking, uid)
            number = head[1] + 1
            epoch = number // self.epoch
            self.keys.make(self.seal.label("epoch", epoch))
            sealed = self.seal.seal("epoch", epoch, f"{uid} choice {request.hex()}", bytes(289))
            run(
                "INSERT INTO choice (bandit, request, number, sealed) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
                " RETURNING number",
                uid,
                request,
                number,
                sealed,
            )
            sealed = self.seal.seal("epoch", epoch, f"{uid} waiting {ticket.hex()}", bytes(24))
            run("INSERT INTO waiting VALUES (?, ?, ?, ?, ?)", uid, ticket, number, 1000.0, sealed)
            run(
                "UPDATE bandit SET step = ?, choices = ?, boundary = ?, unnamed = ?, sums_key = ? WHERE uid = ?",
                head[0],
                number,
                max(head[2], number + 1),  # it leaves the end of a step to others
                head[3] + 1,
                head[4],
                uid,
            )
            run("INSERT INTO event (bandit, at, what) VALUES (?, ?, ?)", uid, 1000.0, "an old worker was here")
        return number

    def close(self):
        self.database.close()
