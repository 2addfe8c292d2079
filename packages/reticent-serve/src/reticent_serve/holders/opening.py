"""The place of a bandit in a store: its rows, its keys and its witness; opened, or made if there is none."""

import dataclasses
import functools
import inspect
import json
import re
import secrets
import urllib.parse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from reticent.core import actions
from reticent.core.actions import Declared
from reticent.core.onepass import OnePass
from reticent.core.snapshot import encoded
from reticent.errors import BadState, RolledBack, WrongKeys
from reticent.experiment import Algorithm, Experiment
from reticent.features.schema import Schema
from reticent.flat import flat
from reticent.joint import JointGLM
from reticent.kernels.rounds import next_boundary
from reticent.mechanisms.grid import Grid
from reticent_serve.holders import closed, fingerprints, leaf_rows, rows, schema, witness
from reticent_serve.holders.database import Database, Run
from reticent_serve.holders.postgres import Postgres
from reticent_serve.holders.requests import Tickets
from reticent_serve.holders.rows import BanditRow, OpenStep
from reticent_serve.holders.seal import Keys, Seal, label_of, place
from reticent_serve.holders.sqlite import SQLite
from reticent_serve.holders.witness import Shown, Witness

MADE = "the noise is made for them"
EPOCHS = 8  # of choices, within as many as may wait: each has a key
OWN = (
    "bandit",
    "features",
    "dim",
    "epsilon",
    "delta",
    "rounds",
    "week",
    "link",
    "radius",
    "range",
    "horizon",
    "forget",
    "model",
    "holdout",
)
# What may be another at any start, since no noise is made for it, or is always the same in a store. Tuning is that of
# estimates, which are computed from what was released: that of a new version applies to earlier releases, too.
FREE = ("budget", "per_day", "tuning", "window", "default")


@dataclasses.dataclass(frozen=True)
class BanditStore:
    """Where a bandit is: its database, its row there, its keys and its witness."""

    database: Database
    bandit: BanditRow
    seal: Seal
    witness: Witness
    persons: bytes  # the key of people's hashes
    requests: bytes  # the key of requests' hashes
    tickets: Tickets
    groups: bytes = dataclasses.field(default=b"", repr=False)  # the key of an experiment's groups, where there is one

    @functools.cached_property
    def uid(self) -> str:
        return self.bandit.uid


def connect(where: str | Path) -> Database:
    """A file, or "postgresql://...", with its tables."""
    database = database_at(where)
    try:
        schema.ready(database)
    except BaseException:
        database.close()
        raise
    return database


def existing(where: str | Path) -> Database:
    """The same of one that is there; else BadState, and nothing is made."""
    database = database_at(where)
    try:
        if database.there:
            with database.transaction() as run:
                if schema.made(database, run):
                    return database
        raise BadState(f"Expected a database with bandits in {place_of(where)}, got none.")
    except BaseException:
        database.close()
        raise


def database_at(where: str | Path) -> Database:
    """As it is."""
    if isinstance(where, str) and where.startswith(("postgresql://", "postgres://")):
        return Postgres(where)
    return SQLite(Path(where))


def keys_of(where: str | Path, database: Database, keys: str | Path | None) -> Keys:
    """The folder that was given, or FILE.keys beside an SQLite file."""
    if keys is None and database.several_hosts:
        raise ValueError("Expected keys= (a folder that all workers share and backups leave out), got none.")
    return Keys(Path(f"{where}.keys") if keys is None else Path(keys))


def place_of(where: str | Path) -> str:
    """A database in words that hold no password."""
    if "://" not in str(where):
        return str(Path(where).absolute())
    parts = urllib.parse.urlsplit(str(where))
    options = urllib.parse.parse_qs(parts.query)
    host = parts.hostname or options.get("host", ["this machine"])[0]
    schema = options.get("options", [""])[0].partition("search_path=")[2]
    try:
        port = parts.port or 5432
    except ValueError:  # it names a part of a password that has a slash
        raise ValueError("Expected postgresql://... with a number as port and %2F for a / in it, got none.") from None
    return f"postgresql://{host}:{port}{parts.path}" + (f" ({schema})" if schema else "")


def destroy_keys(keys: Keys, present: BanditRow, *, ended: bool) -> None:
    """Those of all bandits before it, but for the keys of their ids; if it has ended, all."""
    for uid in (*(one.uid for one in present.predecessors), *[present.uid] * ended):
        for label in keys.labels(f"{uid}."):
            if ended or label != f"{uid}.tickets":
                keys.destroy(label)
    if ended:
        keys.destroy(f"{present.name}.persons")


def known(database: Database, name: str) -> bool:
    """Whether it has a bandit of that name; nothing is made."""
    if not database.there:
        return False
    with database.transaction() as run:
        return schema.made(database, run) and rows.last(run, name) is not None


def is_new(database: Database, keys: Keys, name: str, where: str | Path) -> bool:
    """Whether a bandit of that name is to be made; RolledBack if there is one already, in another database. The witness
    is read first: another worker may make it meanwhile."""
    witnessed = Witness(keys.folder, name).read() is not None
    if known(database, name):
        return False
    if witnessed:
        raise RolledBack(
            f"Expected the database of the bandit {name} whose witness is in {keys.folder}, got {place_of(where)}, "
            "which has none of that name. Nothing was written. Correct `database` or `keys`; `reticent move CONFIG "
            "--to` takes a bandit to another database; a new bandit needs another name or another folder of keys."
        )
    return True


def last(run: Run, name: str) -> BanditRow:
    """The bandit of that name; BadState if there is none."""
    found = rows.last(run, name)
    if found is None:
        raise BadState(f"Expected a bandit of the name {name} in this database, got none.")
    return found


def check(algorithm: Algorithm, name: str) -> OnePass:
    """An algorithm that a database can hold, planned; ValueError for others."""
    if not isinstance(algorithm, JointGLM | Experiment):
        raise ValueError(f"Expected an algorithm whose state is sums (JointGLM), got {type(algorithm).__name__}.")
    found = algorithm.one_pass(exact=True)
    if not isinstance(found.plan.mechanism, Grid):
        raise ValueError("Expected a finite budget, got another: a database is for people's data.")
    if not isinstance(name, str) or not re.fullmatch("[a-z0-9][a-z0-9_-]{0,62}", name):
        raise ValueError("Expected a name of at most 63 small letters, digits, - and _.")
    plan(found)  # ValueError for settings that could not be told from others
    return found


def opened(database: Database, keys: Keys, name: str, algorithm: OnePass, pending: int) -> BanditStore:
    """The bandit of that name, which is made if there is none. BadState if it has other settings or its keys are gone.

    Its row is there before its witness, and is at work after it: killed in between, it is opened the next time."""
    with database.transaction() as run:
        found = rows.last(run, name)
        if found is None:
            new = new_row(algorithm, name, pending, None, 0.0)
            make_keys(keys, new)
            if not make(run, keys, new, algorithm, closed.BEGUN):
                for label in _first_labels(new):
                    keys.destroy(label)
            found = last(run, name)
        head = rows.standing(run, found.uid)
    check_plan(algorithm, found)
    if head.state != closed.BEGUN:
        closed.refuse(head.state, head.place)
    if head.ended:
        check_record(keys, found)  # else the keys of another one would be destroyed
    else:
        check_witness(database, keys, found, begun=head.state == closed.BEGUN)
    if head.state == closed.BEGUN:
        with database.transaction() as run:
            fingerprints.check(run, keys, found.uid, _first_labels(found), make=False)
        Witness(keys.folder, name).begin(found.uid, database.identity())
        with database.transaction() as run:
            rows.open_begun(run, found.uid)
    with database.transaction() as run:
        ended = rows.head(run, found.uid).ended
    return store_of(database, keys, found, ended=ended)


def check_record(keys: Keys, found: BanditRow) -> Shown | None:
    """What the witness in the folder of keys has on record, if there is one; RolledBack if it is of another bandit."""
    last = Witness(keys.folder, found.name).read()
    if last is not None:
        witness.check_uid(last, found.uid)
    return last


def check_witness(database: Database, keys: Keys, found: BanditRow, *, begun: bool = False) -> None:
    """RolledBack where the witness can tell without keys: those of a database that is older may be destroyed. WrongKeys
    if the folder has neither."""
    last = check_record(keys, found)
    if last is None:
        if not begun:
            raise without(keys) if keys.find(f"{found.uid}.tickets") is None else witness.missing()
        return
    with database.transaction() as run:
        leaves = leaf_rows.found(run, found.uid, 0)
    unsealed = [leaf for leaf in leaves if not leaf.sealed]
    if last.steps > len(leaves) or witness.differ(last, witness.digests(found.uid, unsealed)):
        raise witness.older()
    witness.check_place(last, database.identity())


def without(keys: Keys) -> WrongKeys:
    return WrongKeys(
        f"Expected the keys that this database was sealed with, got {keys.folder} without them. If they are lost: "
        f"{closed.RESTORE}"
    )


def check_plan(algorithm: OnePass, found: BanditRow) -> None:
    """BadState unless that bandit was made with the algorithm's settings."""
    given, fixed = map(_fixed, (plan(algorithm), found.plan))
    others = [name for name in fixed.keys() | given.keys() if name != "plan" and given.get(name) != fixed.get(name)]
    if others or given["plan"] != fixed["plan"]:
        chosen = [name for name in others if name in OWN]  # what others follow from, as `first` does from the budget
        said = ["features" if name == "dim" else name for name in sorted(chosen or others, key=_order)]
        names = ", ".join(dict.fromkeys(said)) or "plan"
        why = "what was learnt belongs to the numbers that its schema makes" if "features" in others else MADE
        raise BadState(
            f"Expected the settings that {found.name} was made with, got another {names}: {why}. Choose another name "
            "for a new bandit."
        )


def made_with(row: BanditRow) -> tuple[Declared, ...]:
    """The actions that a bandit was made with."""
    found = json.loads(row.plan).get("features")
    return actions.of(None if found is None else Schema.from_dict(found["schema"]))


def _fixed(text: str) -> dict[str, Any]:
    """What is fixed for ever of a plan. It has room for as many actions, whichever they are: that is for
    `SharedSettings` to say."""
    out: dict[str, Any] = json.loads(text)
    if out.get("features") is not None:
        found_schema = Schema.from_dict(out["features"]["schema"])
        schema, room = found_schema.lenient.to_dict(), found_schema.room  # what is refused may be another at any start
        out["features"] = {k: v for k, v in schema.items() if k not in ("actions", "retired")} | {"max_actions": room}
    return out


def _order(setting: str) -> tuple[int, str]:
    """What others follow from comes first."""
    return OWN.index(setting) if setting in OWN else len(OWN), setting


def store_of(database: Database, keys: Keys, found: BanditRow, *, ended: bool) -> BanditStore:
    """ended: it was retired, and its keys are destroyed. WrongKeys if the folder is not the database's."""
    needed = [f"{found.name}.persons", *_fixed_labels(found)]
    persons, requests, tickets, *groups = [b"", b"", b""] if ended else map(keys.find, needed)
    if persons is None or requests is None or tickets is None or None in groups:
        raise without(keys)
    if not ended:
        check_keys(database, keys, found)
    seal, shown = Seal(keys, found.uid), Witness(keys.folder, found.name)
    former = [key for one in found.predecessors if (key := keys.find(f"{one.uid}.tickets")) is not None]
    return BanditStore(
        database, found, seal, shown, persons, requests, Tickets(tickets, former), *(key or b"" for key in groups)
    )


def _fixed_labels(row: BanditRow) -> list[str]:
    """Of the keys that a bandit has from its beginning on: of requests, of ids, and of an experiment's groups."""
    experiment = json.loads(row.plan).get("holdout") is not None
    return [f"{row.uid}.{what}" for what in ("requests", "tickets", *["groups"] * experiment)]


def check_keys(database: Database, keys: Keys, found: BanditRow) -> None:
    """WrongKeys unless the folder has the keys that this bandit is sealed with now."""
    with database.transaction() as run:
        head = rows.head(run, found.uid)
        fixed = [*_fixed_labels(found), f"{found.uid}.sums.{head.sums_key}"]
        fingerprints.check(run, keys, found.name, [f"{found.name}.persons"], make=False)
        fingerprints.check(run, keys, found.uid, fixed, make=False)
        check_epochs(run, keys, found, found.coming(head.choices))


def check_epochs(run: Run, keys: Keys, found: BanditRow, epochs: Iterable[int], *, make: bool = True) -> None:
    """The keys of these epochs: WrongKeys if the folder has others, or none where none is to be made."""
    labels = [label_of(found.uid, "epoch", number) for number in sorted(epochs)]
    if labels:
        fingerprints.check(run, keys, found.uid, labels, make=make)


def new_row(algorithm: OnePass, name: str, pending: int, prior: bytes | None, prior_std: float) -> BanditRow:
    """A bandit that is not made yet. Its epochs stay as long as they are now, whatever `pending` will be."""
    epoch = max(1, pending // EPOCHS)
    return BanditRow(secrets.token_hex(16), name, plan(algorithm), epoch, prior, prior_std)


def make_keys(keys: Keys, new: BanditRow) -> None:
    for label in (f"{new.name}.persons", *_first_labels(new)):
        keys.make(label)


def make(run: Run, keys: Keys, new: BanditRow, algorithm: OnePass, state: str) -> bool:
    """Its rows; False if another worker has made one of that name."""
    if not rows.make(run, new, next_boundary(0, *algorithm.plan.schedule), state):
        return False
    fingerprints.check(run, keys, new.name, [f"{new.name}.persons"])
    fingerprints.check(run, keys, new.uid, _first_labels(new))
    rows.make_step(run, new.uid, empty(Seal(keys, new.uid), new.uid, 0, 0, 0, algorithm))
    return True


def _first_labels(new: BanditRow) -> list[str]:
    return [*_fixed_labels(new), f"{new.uid}.sums.0"]


def empty(seal: Seal, uid: str, key: int, step: int, settled: int, algorithm: OnePass) -> OpenStep:
    """A step that opens: its sums are sealed like any other, so that they look the same."""
    nothing = np.zeros(algorithm.plan.mechanism.size, np.int64).tobytes()
    return OpenStep(step, settled, 0.0, seal.seal("sums", key, place(uid, step, "open"), nothing))


def _named(model: Any) -> Any:
    """What tells a function from others, each time a program begins."""
    if not callable(model):
        return model
    name = f"{model.__module__}.{model.__qualname__}" if inspect.isroutine(model) else type(model).__name__
    if "<lambda>" in name or not inspect.isroutine(model):
        raise ValueError(f"Expected model as a name or a function with a name of its own, got {name}.")
    return name


def plan(algorithm: OnePass) -> str:
    """Settings and the numbers that noise is drawn with, as text."""
    found = algorithm.plan
    settings = flat(found.settings) | {"forget": found.forget, "week": found.limits.week}
    settings["model"] = _named(settings["model"])
    given = {name: encoded(value) for name, value in settings.items() if name not in FREE}
    budget, unit = found.budget, found.budget.unit
    given |= {"epsilon": budget.epsilon, "delta": budget.delta, "rounds": None if unit is None else unit.rounds}
    given |= {"dim": found.dim, "features": None if found.features is None else given["features"]}
    return json.dumps({"bandit": found.name} | given | {"plan": list(map(float, found.numbers))}, sort_keys=True)
