"""The tables, once for both databases. `?` stands for an argument, BLOB for bytes.

Raw columns, which depend on people's data, are sealed (tacit.store.seal) and named so here; they have no NOT NULL and
no CHECK, since PostgreSQL prints the rows that break one in its log. Rows of a table have one size, whatever is in
them."""

VERSION = 1

TABLES = (
    # one row for each incarnation of a bandit; retired: another one has taken its place
    """CREATE TABLE IF NOT EXISTS bandit (
        uid TEXT PRIMARY KEY, name TEXT, incarnation BIGINT, version BIGINT, plan TEXT, epoch BIGINT, retired BIGINT,
        step BIGINT, choices BIGINT, boundary BIGINT, unnamed BIGINT, sums_key BIGINT,
        prior BLOB, prior_std DOUBLE PRECISION,
        UNIQUE (name, incarnation))""",
    # RAW: an answer depends on features
    """CREATE TABLE IF NOT EXISTS choice (
        bandit TEXT, request BLOB, number BIGINT, sealed BLOB, PRIMARY KEY (bandit, request))""",
    "CREATE INDEX IF NOT EXISTS choice_number ON choice (bandit, number)",
    # RAW: the chosen arm's features, until the reward comes
    """CREATE TABLE IF NOT EXISTS waiting (
        bandit TEXT, ticket BLOB, number BIGINT, made_at DOUBLE PRECISION, sealed BLOB,
        PRIMARY KEY (bandit, ticket))""",
    "CREATE INDEX IF NOT EXISTS waiting_number ON waiting (bandit, number)",
    # RAW: the same, and a reward that came before, until it is known that the choice was shown
    """CREATE TABLE IF NOT EXISTS deferred (
        bandit TEXT, ticket BLOB, number BIGINT, made_at DOUBLE PRECISION, sealed BLOB,
        PRIMARY KEY (bandit, ticket))""",
    "CREATE INDEX IF NOT EXISTS deferred_number ON deferred (bandit, number)",
    # RAW: whole numbers, so that neither their order nor their shard matters
    """CREATE TABLE IF NOT EXISTS open_sum (
        bandit TEXT, step BIGINT, shard BIGINT, closed BIGINT, sums BLOB, PRIMARY KEY (bandit, step, shard))""",
    """CREATE TABLE IF NOT EXISTS due (
        bandit TEXT, step BIGINT, at DOUBLE PRECISION, PRIMARY KEY (bandit, step))""",
    # append-only; sums RAW, noisy RELEASED
    """CREATE TABLE IF NOT EXISTS leaf (
        bandit TEXT, step BIGINT, sums BLOB, noisy BLOB, visible_at DOUBLE PRECISION, PRIMARY KEY (bandit, step))""",
    # RAW: rounds by the keyed hash of a person
    """CREATE TABLE IF NOT EXISTS person (
        name TEXT, digest BLOB, rounds BIGINT, PRIMARY KEY (name, digest))""",
    # what happened; never a value
    "CREATE TABLE IF NOT EXISTS event (bandit TEXT, at DOUBLE PRECISION, what TEXT)",
)
