"""What the public contexts of a step sum to: a row for each step in which somebody chose."""

from tacit.holders.database import Run


def get(run: Run, uid: str, step: int) -> bytes | None:
    """None if nobody has chosen in that step."""
    found = run("SELECT sums FROM context_sum WHERE bandit = ? AND step = ?", uid, step)
    return bytes(found[0][0]) if found else None


def put(run: Run, uid: str, step: int, sums: bytes) -> None:
    run(
        "INSERT INTO context_sum (bandit, step, sums) VALUES (?, ?, ?) ON CONFLICT (bandit, step) DO UPDATE"
        " SET sums = excluded.sums",
        uid,
        step,
        sums,
    )
