"""How far logs are learnt: one row for each, and one for the digest of its rows. Callers hold a transaction (`run`)."""

from reticent_serve.holders.database import Run


def begin(run: Run, uid: str, log: str) -> None:
    run("INSERT INTO bookmark (bandit, log, learnt) VALUES (?, ?, 0) ON CONFLICT DO NOTHING", uid, log)


def learnt(run: Run, uid: str, log: str, locking: str = "") -> int | None:
    """How many rows of that log are learnt; None if it was never begun."""
    found = run("SELECT learnt FROM bookmark WHERE bandit = ? AND log = ?" + locking, uid, log)
    return int(found[0][0]) if found else None


def put(run: Run, uid: str, log: str, rows: int) -> None:
    run("UPDATE bookmark SET learnt = ? WHERE bandit = ? AND log = ?", rows, uid, log)


def belongs(run: Run, uid: str, digest: str, log: str) -> None:
    """These rows were given under that name."""
    begin(run, uid, f"{digest}:{log}")


def owner(run: Run, uid: str, digest: str) -> str | None:
    """The name under which these rows were given first; None if they never were."""
    found = run("SELECT log FROM bookmark WHERE bandit = ? AND log LIKE ?", uid, f"{digest}:%")
    return str(found[0][0]).partition(":")[2] if found else None


def all_learnt(run: Run, uid: str) -> int:
    """Rows of all logs."""
    return int(run("SELECT coalesce(sum(learnt), 0) FROM bookmark WHERE bandit = ?", uid)[0][0])
