"""The tables, once for both databases. `?` stands for an argument, BLOB for bytes.

Raw columns, which depend on people's data, are sealed (reticent_serve.holders.seal) and named so here; they have no NOT
NULL and no CHECK, since PostgreSQL prints the rows that break one in its log. Rows of a table have one size, whatever
is in them."""

import secrets

from reticent.errors import BadState
from reticent_serve.holders.database import Database, Run

VERSION = 8  # of the tables, and of what is in sealed rows

BANDIT = (
    # state, place: whether it may be opened here (reticent_serve.holders.closed). choices: numbers that were given out.
    # prior, predecessors: what others released that it starts from, and what that is charged with. settings: what all
    # workers do alike
    """CREATE TABLE bandit (
        uid TEXT PRIMARY KEY, name TEXT UNIQUE, plan TEXT, epoch BIGINT, prior BLOB, prior_std DOUBLE PRECISION,
        predecessors TEXT, state TEXT, place TEXT, step BIGINT, choices BIGINT, boundary BIGINT, sums_key BIGINT,
        settings TEXT)""",
)
CHOICES = (
    # RAW: an answer depends on features. mark: whose choice it is, for who has the epoch's key and the person's id;
    # looks random to others, also for nobody
    """CREATE TABLE choice (
        bandit TEXT, request BLOB, number BIGINT, sealed BLOB, mark BLOB, PRIMARY KEY (bandit, request))""",
    "CREATE INDEX choice_number ON choice (bandit, number)",
)
ENTRIES = (
    # RAW: what is kept of a choice until it enters
    """CREATE TABLE waiting (
        bandit TEXT, number BIGINT, ticket BLOB, made_at DOUBLE PRECISION, sealed BLOB,
        PRIMARY KEY (bandit, number))""",
    # RAW: what was written of a choice before its deadline.
    """CREATE TABLE written (
        bandit TEXT, number BIGINT, ticket BLOB, sealed BLOB, PRIMARY KEY (bandit, number))""",
    # the step that choices enter, for each bandit. settled: the number that entered last. sums RAW. closed_at: when the
    # deadline of the last of its choices had passed
    """CREATE TABLE open_step (
        bandit TEXT PRIMARY KEY, step BIGINT, settled BIGINT, closed_at DOUBLE PRECISION, sums BLOB)""",
)
RELEASES = (
    # append-only; sums RAW, noisy RELEASED
    """CREATE TABLE leaf (
        bandit TEXT, step BIGINT, sums BLOB, noisy BLOB, visible_at DOUBLE PRECISION, PRIMARY KEY (bandit, step))""",
    # a leaf from its draw until the witness has it on disk: sums RAW, noisy sealed; then it moves to the table `leaf`
    """CREATE TABLE drawn (
        bandit TEXT, step BIGINT, sums BLOB, noisy BLOB, visible_at DOUBLE PRECISION, PRIMARY KEY (bandit, step))""",
)
OTHERS = (
    # RAW: rounds by the keyed hash of a person
    """CREATE TABLE person (
        name TEXT, digest BLOB, rounds BIGINT, PRIMARY KEY (name, digest))""",
    # what happened; never a value
    "CREATE TABLE event (bandit TEXT, at DOUBLE PRECISION, what TEXT)",
    # the format of this database, and what it is known by
    "CREATE TABLE store_version (version BIGINT PRIMARY KEY, identity TEXT)",
    # how many rows of each log are learnt, by the log's keyed hash: in the transaction that learns them
    """CREATE TABLE bookmark (
        bandit TEXT, log TEXT, learnt BIGINT, PRIMARY KEY (bandit, log))""",
    # which keys this database is sealed with; owner: the bandit's uid, or its name
    "CREATE TABLE key_fingerprint (owner TEXT, label TEXT PRIMARY KEY, fingerprint BLOB)",
)
TABLES = (*BANDIT, *CHOICES, *ENTRIES, *RELEASES, *OTHERS)


def made(database: Database, run: Run) -> bool:
    """Whether the tables are there; BadState if they have another format."""
    if run(database.finding, "store_version"):
        found = int(run("SELECT max(version) FROM store_version")[0][0])
    elif run(database.finding, "bandit"):
        found = 0
    else:
        return False
    if found != VERSION:
        raise BadState(f"Expected a database of format {VERSION}, got format {found}, which another release writes.")
    return True


def ready(database: Database) -> None:
    """Makes the tables of an empty database, with an identity of its own."""
    with database.transaction() as run:
        run(database.alone)
        if not made(database, run):
            for statement in TABLES:
                run(statement.replace(" BLOB", f" {database.blob}"))
            run("INSERT INTO store_version (version, identity) VALUES (?, ?)", VERSION, secrets.token_hex(16))
