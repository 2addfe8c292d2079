"""The tables, once for both databases: what each version of the store has added. `?` stands for an argument, BLOB for
bytes.

Raw columns, which depend on people's data, are sealed (tacit.store.seal) and named so here; they have no NOT NULL and
no CHECK, since PostgreSQL prints the rows that break one in its log. Rows of a table have one size, whatever is in
them.

A version only adds: tables, and columns that may be empty. So workers of the version before go on writing while a
database is migrated and after it (every statement names its columns), and what nobody needs any more is dropped a
version later. No version touches a leaf: noise is drawn once."""

FIRST = (
    # one row for each incarnation of a bandit; retired: 1, another one has taken its place; 2, it has ended; 3, an id
    # proved that this database was taken back in time
    """CREATE TABLE bandit (
        uid TEXT PRIMARY KEY, name TEXT, incarnation BIGINT, version BIGINT, plan TEXT, epoch BIGINT, retired BIGINT,
        step BIGINT, choices BIGINT, boundary BIGINT, unnamed BIGINT, sums_key BIGINT,
        prior BLOB, prior_std DOUBLE PRECISION,
        UNIQUE (name, incarnation))""",
    # RAW: an answer depends on features
    """CREATE TABLE choice (
        bandit TEXT, request BLOB, number BIGINT, sealed BLOB, PRIMARY KEY (bandit, request))""",
    "CREATE INDEX choice_number ON choice (bandit, number)",
    # RAW: the chosen arm's features, until the reward comes
    """CREATE TABLE waiting (
        bandit TEXT, ticket BLOB, number BIGINT, made_at DOUBLE PRECISION, sealed BLOB,
        PRIMARY KEY (bandit, ticket))""",
    "CREATE INDEX waiting_number ON waiting (bandit, number)",
    # RAW: whole numbers, so that neither their order nor their shard matters
    """CREATE TABLE open_sum (
        bandit TEXT, step BIGINT, shard BIGINT, closed BIGINT, sums BLOB, PRIMARY KEY (bandit, step, shard))""",
    """CREATE TABLE due (
        bandit TEXT, step BIGINT, at DOUBLE PRECISION, PRIMARY KEY (bandit, step))""",
    # append-only; sums RAW, noisy RELEASED
    """CREATE TABLE leaf (
        bandit TEXT, step BIGINT, sums BLOB, noisy BLOB, visible_at DOUBLE PRECISION, PRIMARY KEY (bandit, step))""",
    # RAW: rounds by the keyed hash of a person
    """CREATE TABLE person (
        name TEXT, digest BLOB, rounds BIGINT, PRIMARY KEY (name, digest))""",
    # what happened; never a value
    "CREATE TABLE event (bandit TEXT, at DOUBLE PRECISION, what TEXT)",
)
SECOND = (
    # the versions that this database has had; a database of the first version has no such table
    "CREATE TABLE store_version (version BIGINT PRIMARY KEY, at DOUBLE PRECISION)",
    # what all workers of a bandit do alike: the latest that was opened decides
    "ALTER TABLE bandit ADD COLUMN settings TEXT",
    # every bandit that was ever opened on people of a population, and what it costs them; append-only
    """CREATE TABLE member (
        population TEXT, line TEXT, incarnation BIGINT, record TEXT, PRIMARY KEY (population, line, incarnation))""",
    # RAW: as waiting, and a reward that came before, until it is known that the choice was shown
    """CREATE TABLE deferred (
        bandit TEXT, ticket BLOB, number BIGINT, made_at DOUBLE PRECISION, sealed BLOB,
        PRIMARY KEY (bandit, ticket))""",
    "CREATE INDEX deferred_number ON deferred (bandit, number)",
    # RAW: whose choice it is, for who has the epoch's key and the person's id; looks random to others, also for nobody
    "ALTER TABLE choice ADD COLUMN mark BLOB",
)
THIRD = (
    # how many rows of each log are learnt, by the log's keyed hash: in the transaction that learns them
    """CREATE TABLE bookmark (
        bandit TEXT, log TEXT, learnt BIGINT, PRIMARY KEY (bandit, log))""",
)
FOURTH = (
    # where contexts are declared public: what those of a step's choices sum to, without noise
    """CREATE TABLE context_sum (
        bandit TEXT, step BIGINT, sums BLOB, PRIMARY KEY (bandit, step))""",
)
LEAVES = (
    # a leaf from its draw until the witness has it on disk: sums RAW, noisy sealed; then it moves to the table `leaf`
    """CREATE TABLE drawn (
        bandit TEXT, step BIGINT, sums BLOB, noisy BLOB, visible_at DOUBLE PRECISION, PRIMARY KEY (bandit, step))""",
    # how many earlier incarnations are counted twice, since they went on from a database that was taken back in time
    "ALTER TABLE bandit ADD COLUMN twice BIGINT",
)
FINGERPRINTS = (
    # which keys this database is sealed with; owner: the incarnation, or the bandit's name
    "CREATE TABLE key_fingerprint (owner TEXT, label TEXT PRIMARY KEY, fingerprint BLOB)",
)
WITHIN_BUDGET = (
    # 1: an incarnation in which nobody who is named teaches, since a restore may have lost counts of their rounds
    "ALTER TABLE bandit ADD COLUMN silent BIGINT",
)
FIFTH = (*LEAVES, *FINGERPRINTS, *WITHIN_BUDGET)
VERSIONS = (FIRST, SECOND, THIRD, FOURTH, FIFTH)
VERSION = len(VERSIONS)
